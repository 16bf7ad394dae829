"""What differs from a program's clock is measured again only where its log shows that it lost its processor, within a budget;
all else fails at once."""

import types
import unittest
from unittest import mock

import harness

KEPT, LOST = types.SimpleNamespace(preempted=False), types.SimpleNamespace(preempted=True)


class AgainstClock(harness.Workspace):
    def setUp(self):
        super().setUp()
        self.measured = 0
        self.repeated = self.here / "repeated"
        self.enterContext(mock.patch.object(harness, "REPEATED", self.repeated))

    def measure(self):
        self.measured += 1
        (self.here / "new").mkdir()

    def compare(self, call, right_at):
        return lambda: self.assert_time(self.measured, right_at, right_at, [KEPT, call])

    def test_a_lost_processor(self):
        self.against_clock(self.measure, self.compare(LOST, 3))
        self.assertEqual(self.measured, 3)
        self.assertEqual(len(self.repeated.read_text().splitlines()), 2)

    def test_a_difference_without_one(self):
        with self.assertRaises(AssertionError):
            self.against_clock(self.measure, self.compare(KEPT, 3))
        self.assertEqual(self.measured, 1)

    def test_a_row_that_is_missing(self):
        with self.assertRaises(KeyError):
            self.against_clock(self.measure, lambda: {}["row"])
        self.assertEqual(self.measured, 1)

    def test_a_machine_that_goes_on_to_take_the_processor(self):
        with self.assertRaises(unittest.SkipTest):
            self.against_clock(self.measure, self.compare(LOST, harness.MEASUREMENTS + 1))
        self.assertEqual(self.measured, harness.MEASUREMENTS)
        self.assertIn("not compared", self.repeated.read_text().splitlines()[-1])

    def test_the_budget(self):
        self.repeated.write_text("another test's\n" * harness.BUDGET)
        with self.assertRaises(unittest.SkipTest):
            self.against_clock(self.measure, self.compare(LOST, 2))
        self.assertEqual(self.measured, 1)


if __name__ == "__main__":
    unittest.main()
