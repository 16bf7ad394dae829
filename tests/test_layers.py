"""What layers.py refuses, on a made-up tree of folders."""

import pathlib
import tempfile
import unittest

import layers


class MadeUpTree(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="layers.")
        self.addCleanup(directory.cleanup)
        self.root, before = pathlib.Path(directory.name), layers.ROOT
        layers.ROOT = self.root
        self.addCleanup(setattr, layers, "ROOT", before)

    def write(self, name, lines, *headers):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = [f'#include "{header}"' for header in headers]
        path.write_text("\n".join(text + ["//"] * (lines - len(text))) + "\n")


class SmallUnits(MadeUpTree):
    """A unit of fewer than fifty lines stands alone only where another folder includes it."""

    def setUp(self):
        super().setUp()
        self.write("lib/waits/path/walk.cpp", 60, "waits/path/jump.hpp")

    def refused(self):
        return [line.split(":")[0] for line in layers.small_units(*layers.read_units())]

    def test_one_that_only_its_own_folder_includes(self):
        self.write("lib/waits/path/jump.hpp", 20)
        self.write("lib/waits/path/jump.cpp", 29, "waits/path/jump.hpp")
        self.assertEqual(self.refused(), ["lib/waits/path/jump"])

    def test_one_that_nobody_includes(self):
        self.write("lib/waits/path/jump.cpp", 49)
        self.assertEqual(self.refused(), ["lib/waits/path/jump"])

    def test_header_and_source_count_together(self):
        self.write("lib/waits/path/jump.hpp", 20)
        self.write("lib/waits/path/jump.cpp", 30, "waits/path/jump.hpp")
        self.assertEqual(self.refused(), [])

    def test_one_that_another_folder_includes(self):
        self.write("lib/waits/path/jump.hpp", 20)
        self.write("lib/waits/replay/replay.cpp", 60, "waits/path/jump.hpp")
        self.assertEqual(self.refused(), [])

    def test_one_for_each_processor(self):
        for processor in ("aarch64", "x86_64"):
            self.write(f"lib/machine/{processor}/entries.hpp", 20)
        self.assertEqual(self.refused(), [])

    def test_exceptions_are_small_and_there(self):
        for name in layers.ALONE:
            self.write(f"{name}.cpp", 20)
        self.assertEqual(self.refused(), [])
        layers.ROOT = pathlib.Path(layers.__file__).resolve().parent.parent
        includes, lines = layers.read_units()
        for name in map(pathlib.Path, layers.ALONE):
            self.assertIn(name, includes)
            self.assertLess(lines[name], layers.LEAST_UNIT)


class Types(MadeUpTree):
    """Two headers may not define one type of a namespace."""

    def define(self, name, namespace, kind="class"):
        self.write(name, 1)
        (self.root / name).write_text(f"namespace {namespace} {{\n{kind} Returns {{\n}};\n}}  // namespace {namespace}\n")

    def test_twice_in_one_namespace(self):
        self.define("lib/waits/matching/returns.hpp", "culprit::waits")
        self.define("lib/waits/variation/recurrence.hpp", "culprit::waits", "struct")
        self.assertEqual(len(layers.types_of_one_name()), 1)

    def test_in_two_namespaces(self):
        self.define("lib/waits/matching/returns.hpp", "culprit::waits")
        self.define("lib/merge/returns.hpp", "culprit::merge")
        self.assertEqual(layers.types_of_one_name(), [])


if __name__ == "__main__":
    unittest.main()
