"""The verdict of programs of each kind, in real runs under both MPIs; what they do is in apps/verdicts.c. Where the machine was
taken from a program, the verdict says that instead: then it is measured again."""

import os
import unittest

import harness

SECONDS = 4  # MPI_Init takes half a second in all on a slow machine
PROFILED = {  # kind of program: verdicts without a trace
    "healthy": {"healthy"}, "lasting": {"uneven-lasting"}, "serial": {"serial"}, "messages": {"messages"}, "io": {"io"},
    # A profile cannot tell them apart.
    "drifting": {"uneven-intermittent"}, "intermittent": {"uneven-intermittent"},
}  # fmt: skip
TRACED = {"healthy": {"healthy"}, "lasting": {"uneven-lasting"}, "drifting": {"uneven-drifting"},
          "intermittent": {"uneven-intermittent"}, "messages": {"messages"}}  # fmt: skip


class Verdicts(harness.Workspace):
    def verdict(self, mpi, ranks, *arguments, options=()):
        directory = self.measure(mpi, ranks, harness.PROGRAMS / f"verdicts.{mpi}", *arguments, options=options)
        database = self.merge(directory)
        text = harness.run([harness.VIEWER, database, "report"]).stdout
        verdict = harness.viewer_json(database, "report")["verdict"]
        self.assertEqual(" ".join(text.split("\n\n")[0].split()), verdict["text"])
        return verdict

    def check(self, mpi, kind, wanted, options=()):
        found = []

        def measure():
            found.append(self.verdict(mpi, 2, kind, SECONDS, self.here, options=options))

        def compare():
            if found[-1]["kind"] == "starved":
                raise harness.LostProcessor(found[-1]["text"])
            self.assertIn(found[-1]["kind"], wanted, found[-1])

        with self.subTest(kind, mpi=mpi):
            around = self.here
            self.here = around / kind
            self.here.mkdir()
            try:
                self.against_clock(measure, compare)
            finally:
                self.here = around

    def test_profiles(self):
        for number, (kind, wanted) in enumerate(PROFILED.items()):
            self.check(("openmpi", "mpich")[number % 2], kind, wanted)

    def test_traces(self):
        for number, (kind, wanted) in enumerate(TRACED.items()):
            self.check(("mpich", "openmpi")[number % 2], kind, wanted, options=["--trace"])

    def test_starved(self):
        ranks = 4 * len(os.sched_getaffinity(0))
        found = self.verdict("mpich", ranks, "healthy", 1)
        self.assertEqual(found["kind"], "starved", found)
        self.assertIn(f"ranks 0-{ranks - 1}", found["text"])

    def test_too_short(self):
        directory = self.here / "run"
        harness.run([harness.HPCRUN, "-e", "REALTIME@f10", "-o", directory, harness.PROGRAMS / "spin", "0.3"])
        report = harness.viewer_json(self.merge(directory), "report")
        self.assertEqual(report["verdict"]["kind"], "too-short", report["verdict"])


if __name__ == "__main__":
    unittest.main()
