"""Calls that the kernel breaks off for a signal behave under the sampler as they do without it: what they return, how long
they last, and that the program's own signals still break them off."""

import errno
import unittest

import harness

BARE = "timed bare nanosleep: "


class BlockingCalls(harness.Workspace):
    def calls(self, *launcher):
        lines = harness.run([*launcher, harness.PROGRAMS / "blocking_calls"], cwd=self.here).stdout.splitlines()
        self.assertGreater(len(lines), 100)
        self.assertTrue(lines[-1].startswith(BARE), lines[-1])
        return lines[:-1], lines[-1]

    def check(self, *events):
        measure = [harness.HPCRUN, "-o", self.here / "run", "-e", *events]
        expected, bare = self.calls()
        self.assertEqual(bare, BARE + "0 good")
        calls, bare = self.calls(*measure)
        self.assertEqual(calls, expected)
        return bare

    def test_wall_clock(self):
        # The bare system call shows that signals did come: it cannot be protected.
        self.assertIn(f"{BARE}-{errno.EINTR} ", self.check("REALTIME@f1000"))

    def test_wall_clock_at_a_high_rate(self):
        self.assertIn(f"{BARE}-{errno.EINTR} ", self.check("REALTIME@f5000"))


if __name__ == "__main__":
    unittest.main()
