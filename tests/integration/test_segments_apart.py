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
        database = self.merge(directory)
        info = harness.viewer_json(database, "info")
        (module,) = [module for module in info["modules"] if module["path"].endswith(f"/{program}")]
        # Its code is found, and paths go on through it. Of its own samples there may be none: the sines take nearly all.
        (main,) = [node for node in self.nodes(database) if node["frame"]["name"] == "main"]
        self.assertEqual(main["frame"]["module"], module["path"])
        within_main = main["values"]["samples:sum (I)"]
        self.assertGreater(within_main, 0.5 * info["samples"])
        self.assertTrue(module["unwind_information"])
        self.assertEqual(info["partial"], 0)
        # Before main only: `_init` has no call-frame information, and a busy machine prolongs what it calls.
        self.assertLessEqual(info["bridged"], info["samples"] - within_main)
        self.assertRegex(module["build_id"], "^[0-9a-f]{8,}$")

    def nodes(self, database):
        view = harness.viewer_json(database, "view", "calling-context", "--metrics", "samples:sum (I)")
        return harness.walk(view["roots"])

    def test_position_independent(self):
        self.check("spin_apart")

    def test_at_fixed_addresses(self):
        self.check("spin_apart_fixed")

    def test_without_find_object(self):
        self.check("spin_apart", **OLD_C_LIBRARY)


if __name__ == "__main__":
    unittest.main()
