"""Every format that viewer-cli exports is opened by a program that reads it, and holds the figures that viewer-cli shows.

flamegraph.pl draws collapsed stacks; speedscope's importer (from npm) reads collapsed stacks, its own format and
pprof's; protoc decodes pprof's, and pprof itself (of Debian's golang) reads it where it is installed. Hatchet is in no
Debian package: the steps of its readers are followed here.

Usage: test_exports.py MAKE_EXAMPLE_DB VIEWER_CLI PROFILE_PROTO SCRATCH
"""

import csv
import glob
import gzip
import json
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

MAKE, VIEWER, PROTO, SCRATCH = (pathlib.Path(argument) for argument in sys.argv[1:5])
HERE = pathlib.Path(__file__).resolve().parent
DATABASE = SCRATCH / "example.db"
FLAMEGRAPH = pathlib.Path("/usr/share/perl5/Devel/NYTProf/flamegraph.pl")
SPEEDSCOPE = "speedscope@1.25.0"
GO_PPROF = sorted(glob.glob("/usr/lib/go-*/pkg/tool/*/pprof"))
RANKS = 8


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def export(form, name, *options):
    file = SCRATCH / name
    run(VIEWER, DATABASE, "export", form, "-o", file, *options)
    return file


def total(metric, *options):
    """What `view` shows for the whole run."""
    view = json.loads(run(VIEWER, DATABASE, "view", "--depth", "0", "--metrics", metric, *options, "--format", "json"))
    return view["roots"][0]["values"][view["metrics"][0]]


def by_location(metric):
    """What `threads` shows for the whole run: {(rank, thread): value}."""
    values = json.loads(run(VIEWER, DATABASE, "threads", "c0", "--metric", metric, "--format", "json"))["values"]
    return {(value["rank"], value["thread"]): value["value"] for value in values}


def walk(nodes):
    for node in nodes:
        yield node
        yield from walk(node["children"])


class Stacks(unittest.TestCase):
    """Collapsed stacks and speedscope's files."""

    def test_collapsed_stacks_are_drawn_by_flamegraph_with_all_their_time(self):
        self.assertTrue(FLAMEGRAPH.exists(), "install libdevel-nytprof-perl (./dev test does)")
        file = export("collapsed", "run.collapsed.txt")
        for line in file.read_text().splitlines():
            # What speedscope (integers only) and flamegraph.pl (no second count before the last) accept.
            self.assertRegex(line, r"^rank_\d+(_thread_\d+)?(;[^;\t]+)+ \d+$")
            self.assertNotRegex(line, r" \d+ \d+$")
        drawn = run("perl", FLAMEGRAPH, file)
        whole = re.search(r"<title>all \(([\d,]+) samples, 100%\)</title>", drawn)
        self.assertIsNotNone(whole, drawn[:2000])
        self.assertEqual(int(whole[1].replace(",", "")), round(total("REALTIME") * 1e6))
        for rank in range(RANKS):
            self.assertIn(f"<title>rank_{rank} (", drawn)

    def speedscope(self, *files):
        packed = SCRATCH / "speedscope"
        if not (packed / "package").exists():
            self.assertTrue(shutil.which("node") and shutil.which("npm"), "install nodejs and npm (./dev test does)")
            packed.mkdir(parents=True, exist_ok=True)
            fetch = ["npm", "pack", SPEEDSCOPE, "--loglevel=error", "--fetch-retries=1", "--fetch-timeout=20000"]
            try:
                fetched = subprocess.run(fetch, cwd=packed, capture_output=True, text=True, timeout=300)
            except subprocess.TimeoutExpired:
                self.skipTest("npm's registry cannot be reached: no package after two minutes")
            if fetched.returncode != 0:
                reported = [line for line in fetched.stderr.splitlines() if "reason" in line] or [f"npm ended with {fetched.returncode}"]
                self.skipTest("npm's registry cannot be reached: " + reported[0])
            shutil.unpack_archive(next(packed.glob("*.tgz")), packed)
        read = json.loads(run("node", HERE / "speedscope_import.js", packed / "package" / "dist" / "release", *files))
        return {pathlib.Path(result["file"]): result["profiles"] for result in read}

    def test_speedscope_imports_one_profile_per_thread_with_its_time(self):
        file = export("speedscope", "run.speedscope.json")
        idle = export("speedscope", "idle.speedscope.json", "--metric", "idleness")
        stacks = export("collapsed", "run.collapsed.txt")
        profile = export("pprof", "run.pb.gz")
        imported = self.speedscope(file, idle, stacks, profile)
        for path, metric in ((file, "REALTIME"), (idle, "idleness")):
            expected = {key: value for key, value in by_location(metric).items() if value > 0}
            self.assertEqual(len(imported[path]), len(expected), metric)
            for each in imported[path]:
                rank, thread = re.match(r"rank (\d+)(?: thread (\d+))?$", each["name"]).groups()
                self.assertEqual(each["unit"], "nanoseconds")
                self.assertAlmostEqual(each["total"] / 1e9, expected[int(rank), int(thread or 0)], places=6)
                self.assertEqual(sum(own for own, _ in each["frames"].values()), each["total"])
        self.assertEqual(imported[stacks][0]["total"], round(total("REALTIME") * 1e6))
        self.assertAlmostEqual(imported[profile][0]["total"] / 1e9, total("REALTIME"), places=6)


class Pprof(unittest.TestCase):
    def decoded(self, file):
        """What protoc makes of it, as {field: [value or dict]}."""
        self.assertIsNotNone(shutil.which("protoc"), "install protobuf-compiler (./dev test does)")
        done = subprocess.run(
            ["protoc", "--decode=perftools.profiles.Profile", f"-I{PROTO.parent}", PROTO],
            input=gzip.decompress(file.read_bytes()), capture_output=True, timeout=300, check=True,
        )
        message, stack = {}, []
        for line in done.stdout.decode().splitlines():
            line = line.strip()
            if line.endswith("{"):
                stack.append(message)
                message = {}
                stack[-1].setdefault(line[:-2], []).append(message)
            elif line == "}":
                message = stack.pop()
            else:
                key, value = line.split(": ", 1)
                message.setdefault(key, []).append(value)
        return message

    def test_protoc_decodes_what_pprof_requires(self):
        profile = self.decoded(export("pprof", "run.pb.gz"))
        texts = [json.loads(text) for text in profile["string_table"]]
        self.assertEqual(texts[0], "")
        self.assertEqual(len(texts), len(set(texts)))

        def text(index):
            return texts[int(index[0])] if index else ""

        types = [(text(kind.get("type")), text(kind.get("unit"))) for kind in profile["sample_type"]]
        self.assertEqual(types[0], ("samples", "count"))
        self.assertIn(("REALTIME", "nanoseconds"), types)
        self.assertEqual(text(profile["default_sample_type"]), "REALTIME")
        self.assertEqual(text(profile["period_type"][0]["unit"]), "nanoseconds")
        ids = {}
        for kind in ("mapping", "location", "function"):
            ids[kind] = [int(each["id"][0]) for each in profile[kind]]
            self.assertNotIn(0, ids[kind])
            self.assertEqual(len(ids[kind]), len(set(ids[kind])), kind)
        self.assertEqual("/home/user/solver/build/solver", text(profile["mapping"][0]["filename"]))
        self.assertEqual(profile["mapping"][0]["has_functions"], ["true"])
        for location in profile["location"]:
            self.assertTrue("mapping_id" not in location or int(location["mapping_id"][0]) in ids["mapping"])
            for line in location["line"]:
                self.assertIn(int(line["function_id"][0]), ids["function"])
        sums = [0] * len(types)
        ranks = {}
        for sample in profile["sample"]:
            self.assertEqual(len(sample["value"]), len(types))
            self.assertLessEqual(set(map(int, sample["location_id"])), set(ids["location"]))
            values = [int(value) for value in sample["value"]]
            sums = [a + b for a, b in zip(sums, values)]
            labels = {text(label["key"]): text(label["str"]) for label in sample["label"]}
            self.assertEqual(len(labels), len(sample["label"]))
            key = int(labels["rank"]), int(labels["thread"])
            ranks[key] = ranks.get(key, 0) + values[types.index(("REALTIME", "nanoseconds"))]
        for (name, unit), value in zip(types, sums):
            self.assertAlmostEqual(value / (1e9 if unit == "nanoseconds" else 1), total(name), places=6, msg=name)
        for key, value in by_location("REALTIME").items():
            self.assertAlmostEqual(ranks[key] / 1e9, value, places=6)

    def test_the_leaf_comes_first_and_inlined_code_before_what_it_is_inlined_into(self):
        profile = self.decoded(export("pprof", "run.pb.gz"))
        texts = [json.loads(text) for text in profile["string_table"]]
        names = {each["id"][0]: texts[int(each["name"][0])] for each in profile["function"]}
        lines = {each["id"][0]: [names[line["function_id"][0]] for line in each["line"]] for each in profile["location"]}
        stacks = {tuple(name for place in sample["location_id"] for name in lines[place]) for sample in profile["sample"]}
        view = json.loads(run(VIEWER, DATABASE, "view", "--format", "json"))

        def procedures(nodes, above):
            for node in nodes:
                kind = node["frame"]["kind"]
                here = ((node["frame"]["name"],) if kind in ("procedure", "inlined", "partial") else ()) + above
                if kind == "statement" and node["values"]["REALTIME:sum (I)"] > 0:
                    yield here
                yield from procedures(node["children"], here)

        shown = set(procedures(view["roots"], ()))
        self.assertTrue(any("inlined" == node["frame"]["kind"] for node in walk(view["roots"])))
        self.assertGreater(len(shown), 5)
        self.assertLessEqual(shown, stacks)

    def test_pprof_reads_it(self):
        if not GO_PPROF:
            self.skipTest("pprof is not installed (Debian has it in golang-go); protoc and speedscope have read it")
        file = export("pprof", "run.pb.gz")
        top = run(GO_PPROF[-1], "-top", "-unit=s", file)
        shown = float(re.search(r"Total samples = ([\d.]+)s", top)[1])
        self.assertAlmostEqual(shown / total("REALTIME"), 1, places=2)
        focus = run(GO_PPROF[-1], "-top", "-unit=s", "-sample_index=REALTIME", "-tagfocus", "rank=^0$", file)
        rank0 = sum(value for (rank, _), value in by_location("REALTIME").items() if rank == 0)
        nodes = float(re.search(r"accounting for ([\d.]+)s", focus)[1])
        self.assertLessEqual(nodes, rank0 * 1.001)
        self.assertGreater(nodes, rank0 * 0.8)  # small nodes are not shown


class Hatchet(unittest.TestCase):
    """The steps of Hatchet's readers, as far as they need no pandas."""

    def test_literal_nodes_have_the_same_metrics_and_own_times_add_up(self):
        roots = json.loads(export("hatchet", "run.hatchet.json").read_text())
        nodes = list(walk(roots))
        metrics = list(roots[-1]["metrics"])  # the reader takes their kinds from the last root
        self.assertIn("time", metrics)
        self.assertIn("time (inc)", metrics)
        self.assertNotIn("_hatchet_nid", metrics)
        for node in nodes:
            self.assertEqual(list(node["metrics"]), metrics)
            self.assertEqual({key: type(value) for key, value in node["frame"].items()},
                             {"name": str, "type": str, "file": str, "line": int, "module": str})
            self.assertTrue(node["frame"]["name"])
        for event, name in (("REALTIME", "time"), ("idleness", "idleness"), ("samples", "samples")):
            own = sum(node["metrics"][name] for node in nodes)
            self.assertAlmostEqual(own, total(event), places=5)
            self.assertAlmostEqual(sum(root["metrics"][name + " (inc)"] for root in roots), total(event), places=5)
        for node in nodes:
            below = sum(child["metrics"]["time (inc)"] for child in node["children"])
            self.assertAlmostEqual(node["metrics"]["time (inc)"], node["metrics"]["time"] + below, places=5)

    def test_caliper_rows_are_those_of_the_ranks(self):
        read = json.loads(export("caliper", "run.json").read_text())
        columns, described = read["columns"], read["column_metadata"]
        self.assertEqual(len(columns), len(described))
        self.assertEqual(columns.index("path"), 0)
        self.assertFalse(described[0]["is_value"])
        self.assertTrue(all(column["is_value"] for column in described[1:]))
        for number, node in enumerate(read["nodes"]):
            self.assertEqual(node["column"], "path")
            self.assertTrue(node["label"])
            if number > 0:
                self.assertLess(node["parent"], number)
        rank, time, inclusive = (
            columns.index(name) for name in ("mpi.rank", "sum#time.duration", "inclusive#sum#time.duration")
        )
        expected = [0.0] * RANKS
        for (number, _), value in by_location("REALTIME").items():
            expected[number] += value
        own = [0.0] * RANKS
        for row in read["data"]:
            self.assertEqual(len(row), len(columns))
            self.assertIsNotNone(row[0])
            self.assertLess(row[0], len(read["nodes"]))
            own[row[rank]] += row[time]
            if row[0] == 0:
                self.assertAlmostEqual(row[inclusive], expected[row[rank]], places=5)
        for value, wanted in zip(own, expected):
            self.assertAlmostEqual(value, wanted, places=5)
        self.assertEqual({row[rank] for row in read["data"]}, set(range(RANKS)))
        self.assertEqual(read["culprit.processes"], [f"rank {number}" for number in range(RANKS)])
        # Metrics are inclusive where their name says so, by the reader's rule, and else exclusive.
        self.assertIn("idleness (inc)", columns)


class Tables(unittest.TestCase):
    def test_csv_and_json_hold_the_same_rows(self):
        with export("csv", "run.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        nodes = list(walk(json.loads(export("json", "view.json").read_text())["roots"]))
        self.assertEqual([row["id"] for row in rows], [node["id"] for node in nodes])
        for row, node in zip(rows, nodes):
            for metric, value in node["values"].items():
                self.assertEqual(row[metric], "") if value is None else self.assertEqual(float(row[metric]), value)
        self.assertAlmostEqual(float(rows[0]["REALTIME:sum (I)"]), total("REALTIME"), places=6)


if __name__ == "__main__":
    SCRATCH.mkdir(parents=True, exist_ok=True)
    run(MAKE, DATABASE)
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
