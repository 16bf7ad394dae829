"""A program between whose segments pages are free, as many linkers leave them, is unwound like any other: the loader then
tells of each segment alone, and neither the call-frame information nor the build-id lies beside the code."""

import unittest

import harness

OLD_C_LIBRARY = {"CULPRIT_NO_DL_FIND_OBJECT": "1"}


class SegmentsApart(harness.Workspace):
    def check(self, program, **variables):
        directory = self.here / "run"
        command = [harness.HPCRUN, "-o", directory, harness.PROGRAMS / program, 0.5]
        harness.run(command, env=dict(harness.ENVIRONMENT, **variables))
        info = harness.viewer_json(self.merge(directory), "info")
        (module,) = [module for module in info["modules"] if module["path"].endswith(f"/{program}")]
        self.assertGreater(module["samples"], 0)
        self.assertTrue(module["unwind_information"])
        self.assertEqual((info["partial"], info["bridged"]), (0, 0))
        self.assertRegex(module["build_id"], "^[0-9a-f]{8,}$")

    def test_position_independent(self):
        self.check("spin_apart")

    def test_at_fixed_addresses(self):
        self.check("spin_apart_fixed")

    def test_without_find_object(self):
        self.check("spin_apart", **OLD_C_LIBRARY)


if __name__ == "__main__":
    unittest.main()
