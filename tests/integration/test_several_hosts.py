"""Runs on several hosts, made up, whose clocks are apart and drift: the tools' comparisons bring them to one time, and where
there are none, messages tell that causes come before their effects."""

import collections
import shutil
import unittest

import harness
import trace_bytes
import traces
from against_logs import truth

AHEAD, DRIFT = 50_000_000_000, 100_000  # ns, longer than the run, and ns a second: of the second host's clock
REPETITIONS, DELAY = 3, 20  # ms
APART = 5_000_000_000  # ns: each host's clock is ahead of the next one's that the baton goes to
CHAIN, MENDED = 18, 15  # ranks; those to which pushing forward gets
RECEIVES = ("receive", "receive_matched")


class SeveralHosts(harness.Workspace):
    def waited(self, database):
        """Seconds in which each rank waited for a late sender; and receives that preceded their sends."""
        sums = collections.Counter()
        for row in harness.viewer_json(database, "waits"):
            if row["exact"] and row["pattern"] == "late-sender":
                sums[row["rank"]] += row["seconds"]
        return sums, harness.viewer_json(database, "report")["quality"]["clock_violations"]

    def logged(self, logs):
        sums = collections.Counter()
        for wait in truth.Truth(truth.read(logs)).waits:
            if wait.pattern == "late-sender":
                sums[wait.call.rank] += wait.seconds
        return sums

    def received(self, measured):
        """How many messages the first host received from the second."""
        operations = [one for thread in traces.read(measured)[0].threads for call in thread for one in call["operations"]]
        return sum(one["kind"] in RECEIVES and one["completes"] and one["peer"] == 1 for one in operations)

    def check_clocks(self, mpi):
        logs = self.here / "logs"
        logs.mkdir()
        program = harness.PROGRAMS / f"truth_point_to_point.{mpi}"
        environment = dict(harness.ENVIRONMENT, CULPRIT_WRONG_CLOCKS=f"2,{AHEAD},{DRIFT}")
        measured = self.measure(mpi, 2, program, logs, REPETITIONS, DELAY, options=("--trace",), env=environment)
        found, mended = self.waited(self.merge(measured))
        logged = self.logged(logs)
        # The program's stamps and ours differ by what interrupted them, but not by what the clocks do.
        self.assertGreater(logged[1], REPETITIONS * DELAY / 1000)
        for rank in (0, 1):
            self.assertAlmostEqual(found[rank], logged[rank], delta=logged[1] / 2, msg=f"rank {rank}")

        apart = self.here / "apart"
        shutil.copytree(measured, apart)
        self.assertEqual([trace_bytes.forget_comparisons(file) for file in sorted(apart.rglob("*.trace"))], [2, 2])
        found, recorded = self.waited(self.merge(apart))
        # All that the first host got from the second came before it was sent.
        received = self.received(measured)
        self.assertGreaterEqual(received, 2)
        self.assertGreaterEqual(recorded, received)
        self.assertLess(mended, received)
        # The first of them is moved behind its send, and waits for it; what follows has moved with it, and does not.
        self.assertGreater(found[0], 0.9 * AHEAD / 1e9)
        self.assertLess(found[0], 1.5 * AHEAD / 1e9)

    def test_clocks_openmpi(self):
        self.check_clocks("openmpi")

    def test_clocks_mpich(self):
        self.check_clocks("mpich")

    def test_what_is_left_openmpi(self):
        environment = dict(harness.ENVIRONMENT, CULPRIT_WRONG_CLOCKS=f"{CHAIN},{APART},0")
        program = harness.PROGRAMS / "baton.openmpi"
        measured = self.measure("openmpi", CHAIN, program, options=("--trace",), env=environment)
        for file in sorted(measured.rglob("*.trace")):
            trace_bytes.forget_comparisons(file)
        reported = harness.run([harness.PROF_MPI, measured]).stderr
        recorded, left = CHAIN - 1, CHAIN - 1 - MENDED
        self.assertIn(f"{recorded} messages were received before they were sent", reported)
        self.assertIn(f"shifted later, {left} still are", reported)
        database = measured.with_name(measured.name + ".db")
        quality = harness.viewer_json(database, "report")["quality"]
        self.assertEqual((quality["clock_violations"], quality["clock_violations_left"]), (recorded, left))
        for command in ("report", "waits"):
            text = " ".join(harness.run([harness.VIEWER, database, command]).stdout.split())
            self.assertIn(f"{recorded} messages were received before being sent", text)
            self.assertIn(f"{left} still are in the wrong order", text)


if __name__ == "__main__":
    unittest.main()
