"""The verdict of programs of each kind, in real runs under both MPIs; what they do is in apps/verdicts.c. Where the machine was
taken from a program, the verdict says that instead: then the kernel has to have said so, too."""

import os
import unittest

import harness

SECONDS = 4
LONG = 8  # where nothing is lost but in MPI_Init and MPI_Finalize: these take half a second in all on a slow machine
TOLD_BY_TRACES = {"drifting", "intermittent"}  # a profile cannot; the others are measured without a trace, and where THOROUGH with one, too
LACKED = 0.04  # of a rank's time: less makes no machine a suspect
PROFILED = {  # kind of program: verdicts without a trace
    "healthy": {"healthy"}, "lasting": {"uneven-lasting"}, "serial": {"serial"}, "messages": {"messages"}, "io": {"io"},
    "large": {"messages"}, "asleep": {"healthy"},
    # A profile cannot tell them apart.
    "drifting": {"uneven-intermittent"}, "intermittent": {"uneven-intermittent"},
}  # fmt: skip
TRACED = {"healthy": {"healthy"}, "lasting": {"uneven-lasting"}, "drifting": {"uneven-drifting"},
          "intermittent": {"uneven-intermittent"}, "messages": {"messages"}}  # fmt: skip


class Verdicts(harness.Workspace):
    def verdict(self, mpi, ranks, *arguments, options=()):
        directory = self.measure(mpi, ranks, harness.PROGRAMS / f"verdicts.{mpi}", *arguments, options=options)
        self.database = self.merge(directory)
        text = harness.run([harness.VIEWER, self.database, "report"]).stdout
        verdict = harness.viewer_json(self.database, "report")["verdict"]
        self.assertEqual(" ".join(text.split("\n\n")[0].split()), verdict["text"])
        return verdict

    def check(self, mpi, kind, wanted, options=()):
        with self.subTest(kind, mpi=mpi):
            around = self.here
            self.here = around / kind
            self.here.mkdir()
            options = [*options, "--files"] if kind == "io" else options
            found = self.verdict(mpi, 2, kind, LONG if wanted == {"healthy"} else SECONDS, self.here, options=options)
            if found["kind"] == "starved" and kind != "io":  # who lacks a processor does not write for longer
                self.check_starved(found)
            else:
                self.assertIn(found["kind"], wanted, found)
            if kind == "io":
                self.check_written()
            if kind == "large" and found["kind"] == "messages":
                self.assertRegex(found["text"], "MPI calls work")
            if kind == "asleep" and found["kind"] == "healthy":
                self.assertRegex(found["text"], "[0-9]+ % of the time is work, [789][0-9] % sleep, ")
            self.here = around

    def check_written(self):
        """What rank 0 says that writing took, in the metric `io`, and the code that does it. Between its calls and the clock's
        there is little."""
        written = float((self.here / "written_s").read_text())
        for rank, wanted in (("0", written), ("1", 0)):
            root = harness.viewer_json(self.database, "view", "calling-context", "--metrics", "io:sum (I)", "--ranks", rank, "--depth", "1")
            found = root["roots"][0]["values"]["io:sum (I)"] if root["roots"] else 0
            self.assertAlmostEqual(found, wanted, delta=0.1 * written, msg=f"rank {rank}")
        text = harness.run([harness.VIEWER, self.database, "report"]).stdout
        self.assertRegex(" ".join(text.split()), "is input and output .* of that in (fsync|pwrite(64)?) at verdicts.c:[0-9]+ in checkpoint, on /.*/checkpoint")
        everywhere = harness.viewer_json(self.database, "view", "calling-context", "--metrics", "io:sum (I)")
        named = [node["values"]["io:sum (I)"] for node in harness.walk(everywhere["roots"])
                 if node["frame"]["name"] == f"file {self.here.resolve()}/checkpoint"]
        self.assertAlmostEqual(sum(named), written, delta=0.1 * written)

    def check_starved(self, found):
        """One rank or more was ready to run without a processor."""
        lacked = [one["runnable_s"] / (one["ran_s"] + one["runnable_s"]) for one in harness.viewer_json(self.database, "info")["schedules"]]
        self.assertGreater(max(lacked), LACKED, found)

    def test_profiles(self):
        for number, (kind, wanted) in enumerate(PROFILED.items()):
            if harness.THOROUGH or kind not in TOLD_BY_TRACES:
                self.check(("openmpi", "mpich")[number % 2], kind, wanted)

    def test_traces(self):
        for number, (kind, wanted) in enumerate(TRACED.items()):
            if harness.THOROUGH or kind in TOLD_BY_TRACES:
                self.check(("mpich", "openmpi")[number % 2], kind, wanted, options=["--trace"])

    def test_starved(self):
        ranks = 4 * len(os.sched_getaffinity(0))
        # MPI_Init, in which all of them spin, may take seconds itself.
        found = self.verdict("mpich", ranks, "healthy", SECONDS)
        self.assertEqual(found["kind"], "starved", found)
        self.assertIn(f"ranks 0-{ranks - 1}", found["text"])

    def test_too_short(self):
        directory = self.here / "run"
        harness.run([harness.HPCRUN, "-e", "REALTIME@f10", "-o", directory, harness.PROGRAMS / "spin", "0.3"])
        report = harness.viewer_json(self.merge(directory), "report")
        self.assertEqual(report["verdict"]["kind"], "too-short", report["verdict"])


if __name__ == "__main__":
    unittest.main()
