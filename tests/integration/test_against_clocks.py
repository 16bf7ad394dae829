"""Tests that compare with clocks measure again where they differ, each time from nothing; a test that always differs fails,
and what ends wrong fails at once."""

import contextlib
import io
import unittest

import harness


class Differing(harness.AgainstClocks):
    """Not for itself: AgainstClocks is seen to work on it."""

    attempts = 0

    def begin(self):
        Differing.attempts += 1
        (self.here / "new").mkdir()

    def differs_at_first(self):
        self.begin()
        with self.subTest("a part"):
            self.assertEqual(Differing.attempts, harness.ATTEMPTS)

    def misses_at_first(self):
        self.begin()
        self.assertEqual({harness.ATTEMPTS: "a row"}[Differing.attempts], "a row")

    def differs_always(self):
        self.begin()
        for part in range(2):
            with self.subTest(part):
                self.fail()

    def ends_wrong(self):
        self.begin()
        harness.run(["false"])


class AgainstClocks(unittest.TestCase):
    def run_one(self, name):
        Differing.attempts, result = 0, unittest.TestResult()
        with contextlib.redirect_stderr(io.StringIO()) as told:
            Differing(name).run(result)
        return result, told.getvalue().count(f"{name} again")

    def test_a_difference_that_does_not_come_again(self):
        for name in ("differs_at_first", "misses_at_first"):
            result, told = self.run_one(name)
            self.assertTrue(result.wasSuccessful(), result)
            self.assertEqual((Differing.attempts, told), (harness.ATTEMPTS, harness.ATTEMPTS - 1))

    def test_a_difference_that_comes_each_time(self):
        result, told = self.run_one("differs_always")
        self.assertEqual(len(result.failures), 2)  # all parts of the last attempt
        self.assertEqual((Differing.attempts, told), (harness.ATTEMPTS, harness.ATTEMPTS - 1))

    def test_a_wrong_exit(self):
        result, told = self.run_one("ends_wrong")
        self.assertEqual((len(result.errors), Differing.attempts, told), (1, 1, 0))


if __name__ == "__main__":
    unittest.main()
