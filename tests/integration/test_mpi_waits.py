"""Every sort of waiting MPI call is marked while it waits and shows one frame of its own, in C and Fortran under both
MPIs: idleness by call against the times that the program measured itself."""

import collections
import re
import unittest

import harness


def idle_by_call(nodes, known, sums):
    """Adds the idleness of the outermost frame of each call in `known`, by name."""
    for node in nodes:
        name = node["frame"]["name"]
        if name in known:
            sums[name] = sums.get(name, 0) + node["values"].get("idleness:sum (I)", 0)
        else:
            idle_by_call(node["children"], known, sums)
    return sums


LARGE = ("Ssend",)  # moves so much that it takes long, on a busy machine, after the wait of 60 ms is over


class Waits(harness.Workspace):
    def check(self, program):
        mpi = program.rsplit(".", 1)[1]
        command = [harness.HPCRUN, "-o", self.here / "run", harness.PROGRAMS / program, self.here / "file"]
        logged = {}
        for line in harness.launch(mpi, 2, command).stdout.splitlines():
            calls, seconds = line.split()
            logged[calls] = logged.get(calls, 0) + float(seconds)
        database = self.merge(self.here / "run")
        view = harness.viewer_json(database, "view", "calling-context", "--ranks", 1, "--metrics", "idleness:sum")
        self.check_frames(view["roots"])
        self.check_idleness(view["roots"], logged)

    def check_frames(self, roots):
        """One frame per call, under its C name."""
        for node in harness.walk(roots):
            name = node["frame"]["name"]
            # Conversions of handles (PMPI_Request_f2c) are the bindings' own affair, and MPICH reads its clock by PMPI_Wtime.
            self.assertNotRegex(name.lower(), r"^p?mpi_\w+_$|^pmpi_(?!\w+_[cf]2[cf]|wtime)|_f08_$|culprit")
            if name.startswith("MPI_"):
                self.assertNotIn(name, [below["frame"]["name"] for below in harness.walk(node["children"])])

    def check_idleness(self, roots, logged):
        """`logged`: seconds inside each call, or in any of several joined by |."""
        idle = idle_by_call(roots, {f"MPI_{call}" for calls in logged for call in calls.split("|")}, {})
        self.assertGreaterEqual(len(logged), 9)
        all_logged = all_idle = 0
        for calls, seconds in logged.items():
            found = sum(idle.get(f"MPI_{call}", 0) for call in calls.split("|"))
            # Some libraries do not wait in some calls; 60 ms are about 12 samples. A loop that polls is also outside
            # the call, by half where the call is short.
            polls = calls in ("Test", "Iprobe")
            if seconds >= 0.05:
                waited = min(seconds, 0.06) if calls in LARGE else seconds
                self.assertGreater(found, waited / (4 if polls else 2), calls)
            # The programs synchronize by further barriers.
            if calls != "Barrier" and calls not in LARGE and not polls:
                all_logged += seconds
                all_idle += found
        # Where the first touch of a page is slow, calls that make windows and files work for a while.
        self.assertAlmostEqual(all_idle, all_logged, delta=0.25 * all_logged)


for mpi in harness.LAUNCHERS:
    for name in ("every_wait", "every_wait_mpif", "every_wait_mpi", "every_wait_f08"):
        setattr(Waits, f"test_{name}_{mpi}", lambda self, program=f"{name}.{mpi}": self.check(program))

class Polls(harness.Workspace):
    """Loops of polls in vain, with some work of the program's own after each."""

    def measured(self, mpi, microseconds, *options):
        command = [harness.HPCRUN, "-o", self.here / "run", *options, harness.PROGRAMS / f"polls.{mpi}", microseconds, 1]
        lines = [line.split() for line in harness.launch(mpi, 2, command).stdout.splitlines() if line.startswith("MPI_")]
        self.logged = {call: (int(vain), float(seconds)) for call, vain, seconds in lines}
        self.assertEqual(set(self.logged), {"MPI_Iprobe", "MPI_Test"})
        return self.merge(self.here / "run")

    def check_counts(self, database):
        reported = harness.viewer_json(database, "communication")
        for table, name in (("mpi", lambda row: row["call"]), ("paths", lambda row: row["path"][-1]["name"])):
            found = {name(row): row["polls_in_vain"] for row in reported[table]}
            for call, (vain, seconds) in self.logged.items():
                self.assertEqual(found[call], vain, (table, call))
            self.assertEqual({found[call] for call in found if call not in self.logged}, {0})
        text = " ".join(harness.run([harness.VIEWER, database, "communication"]).stdout.split())
        self.assertIn("more polls found nothing", text)
        self.assertRegex(" ".join(harness.run([harness.VIEWER, database]).stdout.split()),
                         r"polls by MPI_\w+ at polls.c:\d+ in asks_by_\w+, [\d ,.million]+ found nothing: they take \d+ % of the time")  # fmt: skip

    def check(self, mpi):
        self.check_counts(self.measured(mpi, 0))

    def test_openmpi(self):
        self.check("openmpi")

    def test_mpich(self):
        self.check("mpich")

    def test_in_time_lines(self):
        """There a loop is one wait, which samples divide: how much that is, is said."""
        database = self.measured("openmpi", 0.3, "--trace")
        self.check_counts(database)
        for call in ("MPI_Iprobe", "MPI_Test"):
            waited = sum(row["seconds"] for row in harness.viewer_json(database, "communication")["mpi"] if row["call"] == call)
            self.assertGreater(waited, 0.9 * self.logged[call][1])
        view = harness.viewer_json(database, "view", "calling-context", "--metrics", "REALTIME:sum")
        loops = collections.Counter()  # a call may stand at several lines
        for node in harness.walk(view["roots"]):
            loops[node["frame"]["name"]] += node["values"]["REALTIME:sum (I)"]
        between = loops["asks_by_probe"] + loops["asks_by_test"] - loops["MPI_Iprobe"] - loops["MPI_Test"]
        for command in ("report", "waits"):
            text = " ".join(harness.run([harness.VIEWER, database, command]).stdout.split())
            said = re.search(r"Loops of polls wait for ([\d.]+) s by time lines.* code between the polls, ([\d.]+) (m?s)", text)
            self.assertIsNotNone(said, text)
            seconds = float(said.group(2)) / (1000 if said.group(3) == "ms" else 1)
            self.assertAlmostEqual(seconds, between, delta=0.1 * between)


if __name__ == "__main__":
    unittest.main()
