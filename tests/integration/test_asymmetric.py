"""Truth: ranks that do not run the same calls. The code that makes the others wait is the first suspect, on its rank,
named so that one can tell it; code that all ranks run, or that has an equal counterpart elsewhere, is none."""

import json
import unittest

import harness

RANKS = 4
ITERATIONS = 40
# Suspects are made of what was measured under either MPI alike: one of each suffices, and the other in full.
MPI = {"sites": "mpich", "alternatives": "openmpi", "serial": "openmpi", "below_one": "openmpi", "helper": "openmpi"}


class Asymmetric(harness.Workspace):
    def suspects(self, mpi, scenario):
        program = harness.PROGRAMS / f"asymmetric.{mpi}"
        directory = self.measure(mpi, RANKS, program, self.here / "log", scenario, ITERATIONS)
        self.logs = [json.loads((self.here / f"log.{rank}").read_text()) for rank in range(RANKS)]
        self.database = self.merge(directory)
        return harness.viewer_json(self.database, "suspects")

    def check_first(self, mpi, scenario, function, rank, innocent=()):
        """Measured again where the machine delayed innocent code by as much as the first suspect explains."""
        measured = []
        return self.against_clock(lambda: measured.append(self.suspects(mpi, scenario)),
                                  lambda: self.compare_first(measured[-1], function, rank, innocent))

    def compare_first(self, suspects, function, rank, innocent):
        self.assertGreater(len(suspects), 0)
        first = suspects[0]
        for each in set(innocent) & set(harness.names(first["suspect"])):
            if self.delayed(each) >= 0.5 * first["explains_s"]:
                raise harness.LostProcessor(f"{each} was delayed by {self.delayed(each):.3f} s")
        self.assertIn(function, harness.names(first["suspect"]))
        self.assertEqual(first["ranks"], [rank])
        self.assertRegex(first["name"], rf"^{function} \(in pause_for at asymmetric\.c:\d+\)$")
        self.check_innocent(suspects, innocent)
        return suspects

    def delayed(self, function):
        """What ranks wait at most since one of those that run a function, or what others run in its place, took longer, by the
        log: the machine's doing."""
        alike = {"first_way", "other_way"} if function in ("first_way", "other_way") else {function}
        seconds = [sum(log.get(each, 0) for each in alike) for log in self.logs if alike & set(log)]
        return RANKS * (max(seconds) - sum(seconds) / len(seconds))

    def check_innocent(self, suspects, innocent):
        """What the machine itself delayed there may show, but hardly more."""
        most = suspects[0]["explains_s"]
        for suspect in suspects:
            for function in set(innocent) & set(harness.names(suspect["suspect"])):
                self.assertLess(suspect["explains_s"], 0.2 * most + self.delayed(function), suspect["name"])

    def check_report(self, suspects):
        """The report names the first suspect, and no two of them alike."""
        report = harness.run([harness.VIEWER, self.database, "report"]).stdout
        self.assertIn(suspects[0]["name"].split(" ")[0], report)
        names = [suspect["name"] for suspect in suspects]
        self.assertEqual(len(names), len(set(names)), names)
        in_report = harness.viewer_json(self.database, "report")["suspects"]
        self.assertEqual([each["confidence"] for each in in_report], [each["confidence"] for each in suspects])

    def sites(self, mpi):
        suspects = self.check_first(mpi, "sites", "second", 0, innocent=["common"])
        self.check_report(suspects)

    def alternatives(self, mpi):
        self.check_report(self.check_first(mpi, "alternatives", "extra", 0, ["first_way", "other_way", "common"]))

    def serial(self, mpi):
        self.check_report(self.check_first(mpi, "serial", "serial_section", 0, ["common"]))

    def below_one(self, mpi):
        suspects = self.suspects(mpi, "below_one")
        found = {suspect["name"].split(" ")[0]: suspect["ranks"] for suspect in suspects}
        self.assertEqual(found.get("part_a"), [0], found)
        self.assertEqual(found.get("part_b"), [1], found)
        self.assertEqual({suspect["name"].split(" ")[0] for suspect in suspects[:2]}, {"part_a", "part_b"})
        self.check_report(suspects)

    def helper(self, mpi):
        suspects = self.check_first(mpi, "helper", "smooth", 1, innocent=["flux", "residual"])
        self.check_report(suspects)


for scenario in MPI:
    for mpi in harness.mpis(MPI[scenario]):
        setattr(Asymmetric, f"test_{scenario}_{mpi}",
                lambda self, scenario=scenario, mpi=mpi: getattr(self, scenario)(mpi))


if __name__ == "__main__":
    unittest.main()
