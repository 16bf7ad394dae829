"""Code without call-frame information: call paths go through it, and `info` tells which module has none."""

import harness


class BareCode(harness.Workspace):
    def test_paths_go_through_and_the_module_is_named(self):
        directory = self.here / "run"
        harness.run([harness.HPCRUN, "-o", directory, harness.PROGRAMS / "through_bare", 2])
        database = self.merge(directory)
        info = harness.viewer_json(database, "info")
        modules = {module["path"].rsplit("/", 1)[-1]: module for module in info["modules"]}
        bare = modules["libbare.so"]
        self.assertFalse(bare["unwind_information"])
        self.assertTrue(modules["through_bare"]["unwind_information"])
        self.assertEqual(info["partial"], 0)
        self.assertEqual(bare["partial"], 0)
        # Whatever the machine's load, nearly all samples that there are lie in or below that library.
        self.assertGreater(info["samples"], 20)
        self.assertGreater(bare["bridged"], info["samples"] * 9 // 10)
        self.assertLessEqual(bare["bridged"], info["bridged"])
        view = harness.viewer_json(database, "view", "calling-context", "--metrics", "REALTIME:sum (I)")
        paths = set(self.paths(view["roots"], ()))
        self.assertTrue(any(("calls_bare_code" in path and "called_back" in path) for path in paths), paths)
        text = harness.run([harness.VIEWER, database, "info"]).stdout
        self.assertIn("no unwind information", text)
        tree = harness.run([harness.VIEWER, database, "view", "calling-context"]).stdout
        self.assertIn("~ bare_work", tree)
        self.assertNotIn("~ called_back", tree)
        self.assertIn("~ callers were inferred", tree)

    def paths(self, nodes, before):
        """The procedures of each path of a view, as one text."""
        for node in nodes:
            path = before
            if node["frame"]["kind"] == "procedure":
                path = (*before, node["frame"]["name"])
                yield " > ".join(path)
            yield from self.paths(node["children"], path)


if __name__ == "__main__":
    harness.unittest.main()
