"""The Python package: it says what viewer-cli says, refuses what is damaged, and fits into pandas, numpy and Hatchet.

Usage: test_package.py MAKE_EXAMPLE_DB MAKE_BROWSED_DB VIEWER_CLI PACKAGE SCRATCH
"""

import importlib.util
import os
import pathlib
import pickle
import random
import shutil
import struct
import subprocess
import sys
import unittest
import unittest.mock

MAKE_EXAMPLE, MAKE_BROWSED, VIEWER, PACKAGE, SCRATCH = (pathlib.Path(argument).absolute() for argument in sys.argv[1:6])
sys.path.insert(0, str(PACKAGE))

import culprit  # noqa: E402
import culprit.checksum  # noqa: E402
import culprit.hatchet  # noqa: E402
import culprit.summaries  # noqa: E402
import against_viewer  # noqa: E402
import damage  # noqa: E402

EXAMPLE, BROWSED = SCRATCH / "example.db", SCRATCH / "browsed.db"
FLIPS, SPOILT = 250, 120  # damaged files of each kind


def present(name):
    return importlib.util.find_spec(name) is not None


class Agrees(unittest.TestCase):
    def compare(self, database):
        found = against_viewer.Comparison(self, VIEWER, database)
        found.time_map = lambda: None  # made up, and not of the waits beside it
        found.everything()

    def test_example(self):
        self.compare(EXAMPLE)

    def test_browsed(self):
        self.compare(BROWSED)


class Trees(unittest.TestCase):
    def setUp(self):
        self.db = culprit.open(BROWSED)

    def test_exclusive_values_add_up(self):
        root = self.db.calling_context.roots[0]
        own = [0.0] * len(self.db.threads)
        for node in root.walk():
            if node.kind == "procedure":
                own = [a + b for a, b in zip(own, node.per_thread("REALTIME (E)"))]
        outside = [child for child in root if child.kind != "procedure"]
        self.assertTrue(outside)
        for mine, whole in zip(own, root.per_thread("REALTIME (I)")):
            self.assertLessEqual(mine, whole + 1e-9)

    def test_filter_by_share_keeps_parents_first(self):
        part = self.db.calling_context.filter(min_share=0.1)
        rows = part.table()
        self.assertEqual(len(rows), len(part))
        seen = {""}
        for row in rows:
            self.assertIn(row["parent"], seen)
            seen.add(row["id"])
            self.assertGreaterEqual(row["REALTIME:sum (I)"], 0.1 * self.db.calling_context.roots[0]["REALTIME:sum (I)"])

    def test_filter_is_what_the_command_line_shows(self):
        viewer = against_viewer.Viewer(VIEWER, BROWSED)
        for options, asked in (
            (("--focus", "MPI_"), {"focus": "MPI_"}),
            (("--min", "5"), {"min_share": 0.05}),
            (("--depth", "4"), {"depth": 4}),
            (("--focus", "spmv", "--depth", "6", "--min", "1"), {"focus": "spmv", "depth": 6, "min_share": 0.01}),
        ):
            for name in ("calling-context", "flat"):
                theirs = viewer.csv("view", name, *options)
                ours = self.db.view(name).filter(**asked).table()
                self.assertEqual(ours["id"], [row["id"] for row in theirs], (name, options))

    def test_nodes_by_id(self):
        for view in (self.db.calling_context, self.db.flat, self.db.callers.filter(depth=2)):
            for node in view.walk():
                again = self.db.node(node.id)
                self.assertEqual((again.id, again.frame), (node.id, node.frame))
                self.assertEqual([each.id for each in again.path][-1], node.id)
        for wrong in (37, "c80", "f-1", "p", "p1..2", "x3", "", "c1 ", "p99999999999999999999"):
            self.assertRaises(culprit.UnknownName, self.db.node, wrong)

    def test_names_of_metrics(self):
        node = self.db.node("c37")
        same = [node[name] for name in ("REALTIME", "realtime:SUM", " REALTIME : sum ( i ) ", "REALTIME (I)")]
        self.assertEqual(len(set(same)), 1)
        for wrong in ("REALTIME (X)", "nothing", "", "REALTIME:median (I)"):
            self.assertRaises(culprit.UnknownName, node.__getitem__, wrong)
        self.assertRaises(culprit.UnknownName, node.per_thread, "imbalance")
        self.assertRaises(culprit.UnknownName, node.value, "REALTIME", "nobody")
        self.assertRaisesRegex(culprit.UnknownName, "children", node.__getitem__, 0)
        self.assertEqual(self.db.flat.table("CPU:sum (I)").rows, self.db.flat.table(["CPU:sum (I)"]).rows)

    def test_ranks(self):
        self.assertEqual(list(self.db.view("flat", ranks=[1, 2]).figures.locations), [2, 3, 4, 5])
        self.assertEqual(list(self.db.view("flat", ranks="0-4:2").figures.locations), [0, 1, 4, 5, 8])
        self.assertEqual(list(self.db.view("flat", ranks=(rank for rank in (1, 2))).figures.locations), [2, 3, 4, 5])
        with self.assertRaisesRegex(culprit.UnknownName, r"8, 9, 10, 11, 12, … \(there are 8 ranks\)"):
            self.db.view("flat", ranks="7-900000")
        for wrong in ("", "3-1", "a", "1-", "-1", "1-4:0"):
            self.assertRaises(ValueError, self.db.view, "flat", ranks=wrong)

    def test_deep_trees_need_no_recursion(self):
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(len(__import__("inspect").stack()) + 40)
        try:
            self.db.calling_context.table()
            self.db.calling_context.filter(min_share=0.01).text()
            self.db.to_hatchet()
        finally:
            sys.setrecursionlimit(limit)


class Tables(unittest.TestCase):
    def setUp(self):
        self.db = culprit.open(BROWSED)

    def test_rows_columns_and_slices(self):
        waits = self.db.waits
        self.assertEqual(waits[0]["seconds"], waits["seconds"][0])
        self.assertEqual(len(waits[:3]), 3)
        self.assertEqual(list(waits[:2]), [waits[0], waits[1]])
        self.assertRaises(KeyError, lambda: waits["no column"])
        self.assertEqual(set(waits.where(rank=0)["rank"]), {0})
        sorted_ones = waits.sort("direct_s")
        self.assertEqual([value for value in sorted_ones["direct_s"] if value is not None], sorted(
            (value for value in waits["direct_s"] if value is not None), reverse=True))  # fmt: skip
        self.assertEqual(waits.to_csv().splitlines()[0], ",".join(waits.columns))

    def test_names_are_no_markup(self):
        table = culprit.Table(("name",), [("<script>alert(1)</script>",)])
        self.assertNotIn("<script>", table._repr_html_())
        self.assertIn("more of", repr(culprit.Table(("x",), [(i,) for i in range(100)])))
        self.assertIn("no rows", repr(culprit.Table(("x",), [])))

    def test_no_wider_than_the_terminal(self):
        table = culprit.Table(("one", "two", "three"), [("a" * 10, "b" * 10, "c" * 10)])
        for columns, fit in (("80", 3), ("34", 3), ("33", 2), ("22", 2), ("21", 1), ("2", 1)):
            with unittest.mock.patch.dict(os.environ, COLUMNS=columns):
                lines = repr(table).splitlines()
            self.assertEqual(lines[1], "  ".join(letter * 10 for letter in "abc"[:fit]), columns)
            self.assertEqual(lines[2:], [] if fit == 3 else ["further columns: " + ", ".join(table.columns[fit:])])

    def test_names_of_what_is_not_there(self):
        for level in (-1, 1):
            self.assertRaisesRegex(culprit.UnknownName, "there are 1", self.db.segments, level)
        self.assertRaisesRegex(culprit.UnknownName, "waiting_s", self.db.time_map.array, "path")

    @unittest.skipUnless(present("pandas"), "pandas is not installed")
    def test_pandas(self):
        frame = self.db.waits.to_pandas()
        self.assertEqual(list(frame.columns), list(self.db.waits.columns))
        self.assertAlmostEqual(frame["seconds"].sum(), sum(self.db.waits["seconds"]))
        self.assertEqual(frame.attrs["units"]["seconds"], "s")
        self.assertEqual(len(frame.groupby("path")), len(set(self.db.waits["path"])))

    @unittest.skipUnless(present("numpy"), "numpy is not installed")
    def test_numpy(self):
        import numpy

        values = self.db.node("c0").per_thread()
        self.assertIsInstance(values, numpy.ndarray)
        self.assertEqual(values.shape, (len(self.db.threads),))
        self.assertEqual(self.db.time_map.array("waiting_s").shape, (8, 40))

    def test_without_anything_but_python(self):
        """-S and -I: no site packages, so no numpy, pandas, xxhash or hatchet."""
        script = (
            "import sys; sys.path.insert(0, sys.argv[1]); import culprit; db = culprit.open(sys.argv[2])\n"
            "assert 'numpy' not in sys.modules and type(db.node('c0').per_thread()).__name__ == 'array'\n"
            "print(list(db.node('c0').per_thread()), len(db.time_map.array()), len(repr(db.waits)))\n"
        )
        done = subprocess.run([sys.executable, "-I", "-S", "-c", script, PACKAGE, BROWSED], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith(str([float(value) for value in self.db.node("c0").per_thread()])))


class Hatchet(unittest.TestCase):
    """What Hatchet's LiteralReader, Frame and Node (github.com/LLNL/hatchet) demand; its steps are followed here."""

    def read(self, nodes):
        """[(frame, metrics, parent)] as the reader meets them."""
        rows, left = [], [(node, None) for node in nodes]
        while left:
            node, parent = left.pop()
            self.assertTrue(node["frame"])  # a Frame without attributes is an error
            self.assertTrue(node["frame"].get("name") or node.get("name"))
            # Frames are sorted and hashed by their sorted attributes.
            frame = tuple(sorted(node["frame"].items()))
            hash(frame)
            rows.append((frame, node["metrics"], parent))
            left.extend((child, len(rows) - 1) for child in node.get("children", ()))
        sorted(frame for frame, _, _ in rows)
        return rows

    def test_rules(self):
        for path in (EXAMPLE, BROWSED):
            db = culprit.open(path)
            rows = self.read(db.to_hatchet())
            columns = list(rows[0][1])
            for frame, metrics, _ in rows:
                self.assertEqual(list(metrics), columns)
                self.assertEqual([type(value) for _, value in frame], [type(value) for _, value in rows[0][0]])
                self.assertTrue(all(isinstance(value, float) for value in metrics.values()))
                self.assertNotIn("_hatchet_nid", metrics)
            # `(inc)` makes a metric inclusive; what the tree looks for is `time`.
            self.assertIn("time", columns)
            inclusive = [name for name in columns if "(inc)" in name]
            self.assertEqual(inclusive, [name + " (inc)" for name in columns if "(inc)" not in name])
            for name in columns:
                if "(inc)" in name:
                    own = sum(metrics[name[: -len(" (inc)")]] for _, metrics, _ in rows)
                    self.assertAlmostEqual(own, rows[0][1][name], 6)
            self.assertEqual(rows[0][1]["time (inc)"], db.node("c0")["REALTIME:sum (I)"])

    def test_depth(self):
        self.assertEqual(culprit.hatchet.depth([{"children": [{"children": []}, {"children": [{"children": []}]}]}]), 3)

    @unittest.skipUnless(present("hatchet"), "hatchet is not installed")
    def test_package(self):
        frame = culprit.open(BROWSED).hatchet()
        self.assertAlmostEqual(frame.dataframe["time"].sum(), culprit.open(BROWSED).node("c0")["REALTIME:sum (I)"])


class Numbers(unittest.TestCase):
    def test_checksum(self):
        known = {0: 0x2D06800538D394C2, 1: 0xC44BDFF4074EECDB}  # of zeros: xxHash's own figures
        for size, value in known.items():
            self.assertEqual(culprit.checksum.xxh3_64(bytes(size)), value)
        # Every part of this file has one, of many lengths, made by libxxhash.
        data = bytearray(BROWSED.read_bytes())
        sealed = bytearray(data)
        before, culprit.checksum.checksum = damage.checksum, culprit.checksum.xxh3_64
        damage.checksum = culprit.checksum.xxh3_64
        try:
            damage.seal(sealed, damage.part_places(data))
        finally:
            damage.checksum = culprit.checksum.checksum = before
        self.assertEqual(sealed, data)

    @unittest.skipUnless(present("xxhash"), "xxhash is not installed")
    def test_checksum_of_every_length(self):
        import xxhash

        source = random.Random(1).randbytes(20000)
        for size in (*range(1300), 2048, 2049, 16383, 16384, 16385):
            self.assertEqual(culprit.checksum.xxh3_64(source[:size]), xxhash.xxh3_64_intdigest(source[:size]), size)

    def test_statistics(self):
        of = culprit.summaries.accumulated([3, 0, 5])
        self.assertEqual(of, (2, 8, 34, 3, 5))
        find = culprit.summaries.statistic
        self.assertEqual([find(name, of, 3, False) for name in ("sum", "mean", "min", "max", "count")], [8, 8 / 3, 3, 5, 2])
        self.assertEqual(find("min", of, 3, True), 0)
        self.assertAlmostEqual(find("stddev", of, 3, False), (38 / 9) ** 0.5, 15)
        self.assertAlmostEqual(find("cv", of, 3, False), (38 / 9) ** 0.5 / (8 / 3), 15)
        self.assertEqual(find("mean", of, 0, False), 0)


class Damaged(unittest.TestCase):
    """Whatever the bytes: a FormatError that says where, or the same figures. Nothing else, and not for long."""

    def setUp(self):
        self.data = EXAMPLE.read_bytes()
        self.good = damage.look_at_everything(culprit.open(EXAMPLE))
        self.path = str(SCRATCH / "damaged.db")

    def refused(self, data):
        """Whether they are refused; None where nothing shows that they were changed."""
        damage.overwrite(self.path, data)
        return self.refused_file(len(data))

    def refused_file(self, size):
        try:
            found = damage.look_at_everything(culprit.open(self.path))
        except culprit.FormatError as error:
            self.assertEqual(error.path, self.path)
            self.assertTrue(error.offset is None or 0 <= error.offset <= size, error)
            self.assertRegex(str(error), r"damaged\.db( at byte \d+)?: .+ \(.+\)$")
            return True
        return None if found == self.good else False

    def test_cut_at_every_byte(self):
        self.assertTrue(self.refused(self.data + b"\0"))
        for size in reversed(range(len(self.data))):
            os.truncate(self.path, size)
            self.assertTrue(self.refused_file(size), size)

    def test_every_bit_of_the_header_and_some_of_the_rest(self):
        chosen = [(at, bit) for at in range(64) for bit in range(8)]
        chance = random.Random(7)
        chosen += [(chance.randrange(64, len(self.data)), chance.randrange(8)) for _ in range(FLIPS)]
        for at, bit in chosen:
            changed = bytearray(self.data)
            changed[at] ^= 1 << bit
            self.assertIsNot(self.refused(changed), False, (at, bit))

    def test_bytes_that_somebody_made_up(self):
        """The checksums hold: then figures may be others, but nothing else happens."""
        layout, chance = damage.part_places(self.data), random.Random(11)
        found = []
        for _ in range(SPOILT):
            changed = bytearray(self.data)
            damage.spoil(changed, layout, chance)
            damage.seal(changed, layout)
            found.append(self.refused(changed))
        self.assertGreater(found.count(True), SPOILT // 4)

    def test_another_version(self):
        changed = bytearray(self.data)
        struct.pack_into("<I", changed, 8, 3)
        pathlib.Path(self.path).write_bytes(changed)
        with self.assertRaisesRegex(culprit.FormatError, "database format 3, this package reads 2"):
            culprit.open(self.path)

    def test_what_is_no_file(self):
        with self.assertRaisesRegex(culprit.FormatError, "directory.*prof-mpi"):
            culprit.open(SCRATCH)
        fifo = SCRATCH / "fifo"
        fifo.unlink(missing_ok=True)
        os.mkfifo(fifo)
        self.assertRaises(culprit.FormatError, culprit.open, fifo)
        self.assertRaises(culprit.FormatError, culprit.open, "/dev/null")
        self.assertRaises(FileNotFoundError, culprit.open, SCRATCH / "nothing.db")
        error = pickle.loads(pickle.dumps(culprit.FormatError("a\x1b[31m.db", 3, "is damaged")))
        self.assertEqual(str(error), "a\\u001b[31m.db at byte 3: is damaged (merge again with prof-mpi)")

    def test_closing(self):
        with culprit.open(EXAMPLE) as db:
            waits = db.waits
        db.close()
        self.assertGreater(len(waits["seconds"]), 0)
        self.assertRaisesRegex(ValueError, "closed", lambda: db.causes)


class Installed(unittest.TestCase):
    @unittest.skipUnless(present("pip") and present("setuptools") and present("wheel"), "pip, setuptools or wheel is not installed")
    def test_pip_needs_no_network(self):
        copy, target = SCRATCH / "sources", SCRATCH / "target"
        for directory in (copy, target):
            shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
        options = ["-q", "--no-index", "--no-build-isolation", "--no-deps", "--target", str(target), str(copy)]
        done = subprocess.run([sys.executable, "-m", "pip", "install", *options], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        script = "import culprit, importlib.metadata, sys; print(culprit.open(sys.argv[1]).ranks, importlib.metadata.version('culprit'))"
        environment = dict(os.environ, PYTHONPATH=str(target))
        done = subprocess.run([sys.executable, "-c", script, EXAMPLE], capture_output=True, text=True, env=environment)
        self.assertEqual(done.stdout, f"8 {culprit.__version__}\n", done.stderr)
        self.assertTrue((target / "culprit" / "py.typed").exists())


if __name__ == "__main__":
    SCRATCH.mkdir(parents=True, exist_ok=True)
    subprocess.run([MAKE_EXAMPLE, EXAMPLE], check=True)
    subprocess.run([MAKE_BROWSED, BROWSED], check=True)
    unittest.main(argv=sys.argv[:1] + sys.argv[6:])
