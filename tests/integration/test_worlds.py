"""Processes that come together after MPI_Init: spawned, connected, joined. They work as if not measured, each world is a run of
its own, and what its processes wait for is found. MPICH as Debian builds it can do none of this: there the program fails
as it would unmeasured."""

import unittest

import harness

WORLDS = harness.PROGRAMS / "worlds.openmpi"
LATE = 0.2  # seconds, as the program has it


class Worlds(harness.Workspace):
    def run_worlds(self, directory, options, *how):
        command = [harness.HPCRUN, "-o", directory, *options, WORLDS, *how]
        return harness.launch("openmpi", 2, command, cwd=self.here)

    def waits(self, directory, *calls):
        """Seconds by pattern, of waits in these calls."""
        sums = {}
        for row in harness.viewer_json(self.merge(directory), "waits"):
            if harness.names(row["path"])[-1] in calls:
                sums[row["pattern"]] = sums.get(row["pattern"], 0) + row["seconds"]
        return sums

    def idleness(self, database):
        """Seconds by MPI function."""
        view = harness.viewer_json(database, "view", "calling-context", "--metrics", "idleness:sum (I)")
        sums = {}
        for node in harness.walk(view["roots"]):
            if node["frame"]["name"].startswith("MPI_"):
                seconds = node["values"].get("idleness:sum (I)", 0)
                sums[node["frame"]["name"]] = sums.get(node["frame"]["name"], 0) + seconds
        return sums

    def check_spawn(self, *options):
        """Spawned processes are measured where they are started with hpcrun-lite, like all others."""
        first, second = self.here / "first", self.here / "second"
        done = self.run_worlds(first, options, "spawn", harness.HPCRUN, "-o", second, *options, WORLDS, "child")
        self.assertEqual(done.stdout, "received 7, sum 21, window 21\n")
        for directory in (first, second):
            info = harness.viewer_json(self.merge(directory), "info")
            self.assertEqual((info["ranks"], info["cut_short"]), (2, 0))
        idle = self.idleness(self.here / "first.db")
        # Their parents wait for them, one for the message, both for the rest; on a busy machine they come later themselves.
        self.assertGreater(idle["MPI_Recv"] + idle.get("MPI_Intercomm_merge", 0), 0.5 * LATE)
        self.assertGreater(idle["MPI_Allreduce"], 1.2 * LATE)
        self.assertGreater(idle["MPI_Win_fence"], 1.2 * LATE)

    def test_spawned(self):
        self.check_spawn()

    def test_spawned_and_traced(self):
        self.check_spawn("--trace")
        parts = harness.viewer_json(self.here / "first.db", "report")["idleness"]
        self.assertGreaterEqual(parts["elsewhere_s"], 0.9 * self.idleness(self.here / "first.db").get("MPI_Recv", 0))

    def test_spawned_and_not_measured(self):
        """Then the measured ones do nothing that would need the others' part in it."""
        done = self.run_worlds(self.here / "run", (), "spawn", WORLDS, "child")
        self.assertEqual(done.stdout, "received 7, sum 21, window 21\n")
        self.assertEqual(harness.viewer_json(self.merge(self.here / "run"), "info")["ranks"], 2)

    def check_meeting(self, how, call):
        done = self.run_worlds(self.here / "run", ["--trace"], how)
        self.assertEqual(done.stdout, "received 7, sum 14, window 14\n")
        found = self.waits(self.here / "run", call, "MPI_Recv", "MPI_Allreduce", "MPI_Win_fence")
        for pattern in ("wait-at-create", "late-sender", "wait-at-nxn", "wait-at-fence"):
            self.assertGreater(found.get(pattern, 0), 0.5 * LATE, (pattern, found))

    def test_connected(self):
        self.check_meeting("connect", "MPI_Comm_accept")

    def test_joined(self):
        self.check_meeting("join", "MPI_Comm_join")

    def test_mpich(self):
        """Its error is the program's own. When a rank aborts, the launcher may end before it passed on what was said: so
        that goes to a file."""
        program = harness.PROGRAMS / "worlds.mpich"
        plain = harness.launch("mpich", 2, [program, "connect"], expect=None)
        if plain.returncode == 0:
            self.skipTest("this MPICH can connect processes")
        said = self.here / "said"
        command = ["sh", "-c", 'exec "$@" 2>>"$0"', said, harness.HPCRUN, "-o", self.here / "run", program, "connect"]
        measured = harness.launch("mpich", 2, command, expect=None)
        self.assertEqual(measured.returncode, plain.returncode)
        self.assertIn("Open_port", said.read_text())


if __name__ == "__main__":
    unittest.main()
