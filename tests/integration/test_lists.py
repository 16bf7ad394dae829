"""Lists of waits, causes and hotspots: their text has a row for each call path, with its ranks; json and csv have a row for each
rank. Both tell the same of a real run."""

import collections
import csv
import io
import pathlib
import re
import tarfile
import unittest

import harness

STORED = pathlib.Path(__file__).parent / "stored"
RANKS = 4
UNITS = {"s": 1, "ms": 1e-3, "µs": 1e-6}
ROW = re.compile(r" *(?P<amount>\d[\d .]*) (?P<unit>s|ms|µs)  (?: *(?P<share>[\d.]+|<0\.1) %|      )  (?P<rest>.*)")
COMPLETIONS = ("barrier-completion", "nxn-completion")
WIDE, NARROW = dict(harness.ENVIRONMENT, COLUMNS="2000"), dict(harness.ENVIRONMENT, COLUMNS="100")


def ranks_in(text):
    """The ranks that `rank 3`, `ranks 0-2, 5` or `ranks 0-6:2`, at the beginning of a text, name."""
    ranks = set()
    for part in re.match(r"ranks? ([\d:, -]*\d)", text)[1].split(", "):
        first, last, step = re.fullmatch(r"(\d+)(?:-(\d+))?(?::(\d+))?", part).groups()
        ranks.update(range(int(first), int(last or first) + 1, int(step or 1)))
    return ranks


def shown(path):
    """What the text shows of a call path."""
    def label(frame):
        name = frame["name"].partition("(")[0]
        place = f"{frame['file'].rpartition('/')[2]}:{frame['line']}"
        return {"loop": f"loop at {place}", "region": f"region {name}"}.get(frame["kind"], name)

    return [
        label(frame)
        for frame in path
        if frame["kind"] in ("procedure", "inlined", "loop", "region")
    ]


def seconds(row):
    return float(row["amount"].replace(" ", "")) * UNITS[row["unit"]]


class Lists(harness.Workspace):
    def rows(self, *words):
        """Rows of a text: the match of the first line, and the call paths below."""
        rows = []
        for line in harness.run([harness.VIEWER, self.database, *words], env=WIDE).stdout.splitlines():
            if (found := ROW.fullmatch(line)) is not None:
                rows.append((found, []))
            elif line.startswith("    "):
                rows[-1][1].append(line.strip())
        return rows

    def check_waits(self):
        groups = collections.defaultdict(lambda: [collections.Counter(), set(), 0])
        whole = 0
        for row in harness.viewer_json(self.database, "waits"):
            group = groups[row["pattern"], row["exact"], tuple(shown(row["path"]))]
            group[0][row["rank"]] += row["seconds"]
            if row["cause"] is not None:
                group[1].add(row["cause"]["rank"])
            if row["direct_s"] is not None:
                self.assertAlmostEqual(row["direct_s"] + row["indirect_s"], row["seconds"], delta=2e-9)
                whole += row["seconds"]
                group[2] += row["indirect_s"]
            else:
                self.assertTrue(not row["exact"] or row["pattern"] in COMPLETIONS or "part of" in self.name_of(row["pattern"]))
        listed = self.rows("waits")
        self.assertTrue(listed)
        for row, paths in listed:
            pattern = re.match(r"[a-z-]+", row["rest"])[0]
            exact = "(approximated)" not in row["rest"]
            path = paths[0].split(" › ")
            found = [group for key, group in groups.items() if key[:2] == (pattern, exact) and list(key[2])[-len(path) :] == path]
            self.assertEqual(len(found), 1, (row[0], paths))
            by_rank, causes, indirect = found[0]
            who, _, whom = re.sub(r"^\S+( \([^)]*\))*  ", "", row["rest"]).partition(", for ")
            self.assertEqual(ranks_in(who), set(by_rank), row[0])
            known = set() if pattern in COMPLETIONS else causes
            self.assertEqual(ranks_in(whom.removeprefix("a lock of ")) if whom else set(), known, row[0])
            total = sum(by_rank.values())
            self.assertAlmostEqual(seconds(row), total, delta=0.01 * total + 1e-3)
            if pattern not in COMPLETIONS:
                self.assertAlmostEqual(float(row["share"].replace("<", "")), 100 * total / whole, delta=0.2)
            if (reported := re.search(r"; (\d+) % indirect", row["rest"])) is not None:
                self.assertAlmostEqual(int(reported[1]), 100 * indirect / total, delta=1)
        left = re.search(r"and ([\d ]+) rows? more", harness.run([harness.VIEWER, self.database, "waits"]).stdout)
        self.assertEqual(len(listed) + (int(left[1].replace(" ", "")) if left else 0), len(groups))
        single = self.rows("waits", "--by-rank")
        for row, _ in single:
            self.assertEqual(len(ranks_in(re.sub(r"^\S+( \([^)]*\))*  ", "", row["rest"]))), 1, row[0])
        self.assertGreater(len(single), len(listed))

    def name_of(self, pattern):
        """As the text calls it."""
        parts = ("late-sender-wrong-order", "late-complete", "early-fence")
        return f"{pattern} (part of another)" if pattern in parts else pattern

    def check_others(self):
        for command, amount in (("causes", lambda row: row["short_term_s"] + row["long_term_s"]), ("hotspots", lambda row: row["cost_s"])):
            found = harness.viewer_json(self.database, command)
            reported = sum(amount(row) for row in found if row["path"])
            for words in ([command], [command, "--by-rank"]):
                rows = self.rows(*words)
                self.assertTrue(rows)
                listed = sum(seconds(row) for row, _ in rows)
                self.assertLessEqual(listed, 1.01 * reported + 1e-3)
                self.assertGreaterEqual(listed, 0.8 * reported)
            self.assertLessEqual(len(self.rows(command)), len({(*shown(row["path"]), *shown(row.get("waiter_path") or [])) for row in found}))

    def check_all(self, mpi, exchange):
        program = harness.PROGRAMS / f"sor_marked.{mpi}"
        self.database = self.merge(self.measure(mpi, RANKS, program, exchange, 60, 25, 30, options=("-q", "--trace")))
        self.check_waits()
        self.check_others()
        for command in ("waits", "causes", "hotspots", "critical-path"):
            for words in ([command], [command, "--by-rank"])[: 1 if command == "critical-path" else 2]:
                for line in harness.run([harness.VIEWER, self.database, *words], env=NARROW).stdout.splitlines():
                    self.assertLessEqual(len(line), 100, line)
            table = harness.run([harness.VIEWER, self.database, command, "--format", "csv"]).stdout
            found = harness.viewer_json(self.database, command)
            if isinstance(found, list):
                self.assertEqual(len(list(csv.reader(io.StringIO(table)))) - 1, len(found))

    def test_openmpi(self):
        self.check_all("openmpi", "post")

    def test_mpich(self):
        self.check_all("mpich", "fence")


class Thresholds(harness.Workspace):
    """Which procedures `hotspots` lists, of a stored measurement with time lines."""

    def setUp(self):
        super().setUp()
        with tarfile.open(STORED / "0.1.0.tar.xz") as archive:
            archive.extractall(self.here)

    def merged(self, name, *options, launch=()):
        database = self.here / f"{name}.db"
        harness.run([*launch, harness.PROF_MPI, "-q", self.here / "run", "-o", database, *options], expect=None)
        return database

    def test_the_threshold_decides_what_is_listed(self):
        usual = self.merged("usual")
        self.assertEqual(usual.read_bytes(), self.merged("same", "--hotspot-threshold", "0.01").read_bytes())
        listed, costs = {}, {}
        for share in (0, 0.01, 0.5, 1):
            database = self.merged(f"of-{share}", "--hotspot-threshold", share)
            rows = harness.viewer_json(database, "hotspots")
            listed[share] = {(row["rank"], *harness.names(row["path"])) for row in rows}
            costs[share] = sum(row["cost_s"] for row in rows)
            noted = f"hotspots are procedures with {100 * share:g} % of the time or more (prof-mpi --hotspot-threshold)"
            self.assertEqual(noted in harness.viewer_json(database, "info")["notes"], share != 0.01)
        self.assertGreater(listed[0], listed[0.01])
        self.assertGreater(listed[0.01], listed[0.5])
        self.assertEqual((len(listed[0.5]), listed[1]), (1, set()))  # what the program is late in
        self.assertGreaterEqual(costs[0.01], costs[0.5])
        self.assertGreater(costs[0.5], 1)

    def test_the_same_for_any_number_of_ranks(self):
        options = ("--hotspot-threshold", "0.3")
        one, *others = (
            self.merged("one", *options, "-j", 1),
            self.merged("three", *options, "-j", 3),
            self.merged("two", *options, launch=(*harness.LAUNCHERS["openmpi"], "-n", 2)),
        )
        for other in others:
            self.assertEqual(one.read_bytes(), other.read_bytes(), other.name)

    def test_thresholds_that_are_none(self):
        for share in ("-0.1", "1.01", "1%", "x", "nan"):
            done = harness.run([harness.PROF_MPI, self.here / "run", "--hotspot-threshold", share], expect=2)
            self.assert_one_line(done.stderr, "--hotspot-threshold", share, "a number from 0 to 1")


if __name__ == "__main__":
    unittest.main()
