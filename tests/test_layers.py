"""What layers.py refuses, on a made-up tree of folders."""

import pathlib
import tempfile
import unittest

import layers


class SmallUnits(unittest.TestCase):
    """A unit of fewer than fifty lines stands alone only where another folder includes it."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="layers.")
        self.addCleanup(directory.cleanup)
        self.root, before = pathlib.Path(directory.name), layers.ROOT
        layers.ROOT = self.root
        self.addCleanup(setattr, layers, "ROOT", before)
        self.write("lib/waits/path/walk.cpp", 60, "waits/path/jump.hpp")

    def write(self, name, lines, *headers):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = [f'#include "{header}"' for header in headers]
        path.write_text("\n".join(text + ["//"] * (lines - len(text))) + "\n")

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


if __name__ == "__main__":
    unittest.main()
