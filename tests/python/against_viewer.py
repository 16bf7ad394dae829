"""Whether the package says of a database what viewer-cli says of it: every number of each table, to the last digit."""

import csv
import io
import json
import math
import os
import subprocess

import culprit

STATISTICS = ("sum", "mean", "min", "max", "stddev", "cv", "count")
THOROUGH = "CULPRIT_THOROUGH" in os.environ
VIEWS = ("calling-context", "callers", "flat")
NODES = 6  # of a view, whose values per thread are compared one by one
LOCATION = ("rank", "thread", "role", "process")


class Viewer:
    def __init__(self, program, database):
        self.program, self.database = str(program), str(database)

    def run(self, *words):
        done = subprocess.run([self.program, self.database, *map(str, words)], capture_output=True, timeout=300)
        if done.returncode != 0:
            raise AssertionError(f"{words}: exit {done.returncode}: {done.stderr.decode()}")
        return done.stdout.decode()

    def json(self, *words):
        return json.loads(self.run(*words, "--format", "json"))

    def csv(self, *words):
        return list(csv.DictReader(io.StringIO(self.run(*words, "--format", "csv"))))


def same_number(ours, theirs):
    if theirs is None or theirs == "":
        return ours is None or (isinstance(ours, float) and math.isnan(ours))
    return ours == float(theirs)


def plain(cell):
    """A cell of ours as viewer-cli's JSON has it."""
    if isinstance(cell, culprit.CallPath):
        return [frame._asdict() for frame in cell]
    if isinstance(cell, culprit.Location):
        return {"rank": cell.rank, "thread": cell.thread, "role": cell.role, "process": cell.process}
    if isinstance(cell, list):
        return [plain(each) for each in cell]
    return cell


def plain_rows(table, columns):
    """Only some columns; a row's location lies flat among them, as in JSON."""
    return [{column: plain(row[column]) for column in columns} for row in table]


def pick(rows, columns):
    return [{column: row[column] for column in columns} for row in rows]


class Comparison:
    def __init__(self, test, viewer, path):
        self.test, self.viewer = test, Viewer(viewer, path)
        self.db = culprit.open(path)
        self.traced = self.db.trace.traced_ranks > 0

    def everything(self):
        self.info()
        for view in VIEWS:
            self.view(view)
        self.ranks()
        self.threads()
        self.findings()
        self.hatchet()

    def equal(self, ours, theirs, what):
        self.test.assertEqual(ours, theirs, what)

    def info(self):
        theirs = self.viewer.json("info")
        for key, value in theirs.items():
            if key != "schedules":
                self.equal(self.db.info[key], value, key)
        self.equal(plain_rows(self.db.schedules, theirs["schedules"][0] if theirs["schedules"] else ()), theirs["schedules"], "schedules")

    def statistics(self):
        """Of each metric its sum, and of the other statistics two that are not the next metric's (CULPRIT_THOROUGH: all)."""
        others, names = STATISTICS[1:], []
        for number, metric in enumerate(self.db.metrics["name"]):
            some = others if THOROUGH else [others[(2 * number + i) % len(others)] for i in (0, 1)]
            names += [f"{metric}:{statistic} ({scope})" for statistic in ("sum", *some) for scope in "IE"]
        return names

    def turn(self, view, metrics):
        """Of columns those whose turn it is in this view: each in one of the views (CULPRIT_THOROUGH: in all)."""
        if THOROUGH or len(metrics) < 2 * len(VIEWS):
            return metrics
        return [name for number, name in enumerate(metrics) if number // 2 % len(VIEWS) == VIEWS.index(view)]

    def view(self, name, *options, view=None, metrics=None):
        view = view or self.db.view(name)
        metrics = metrics or self.turn(name, self.statistics())
        depth = ("--depth", "3") if name == "callers" else ()
        theirs = self.viewer.csv("view", name, *depth, "--metrics", ",".join(metrics), *options)
        part = view.filter(depth=3) if name == "callers" else view
        ours = part.table(metrics)
        self.equal(len(ours), len(theirs), name)
        for row, their in zip(ours, theirs):
            for key, value in their.items():
                same = same_number(row[key], value) if key in metrics or key == "observers" else str(row[key]) == value
                self.test.assertTrue(same, f"{name} {row['id']} {key}: {row[key]} and {value}")
        return ours

    def ranks(self):
        measured = sorted({rank for rank in self.db.threads["rank"] if rank is not None})
        if len(measured) < 2:
            return
        chosen = measured[: max(1, len(measured) // 2)]
        some = [name for name in self.statistics() if not name.startswith("imbalance")]
        listed = ",".join(map(str, chosen))
        for name in VIEWS:
            metrics = [metric for metric in some if ":sum" in metric or ":stddev" in metric or ":min" in metric]
            # What exists only as a summary is not there for some ranks.
            summaries = [each.name for each in self.db.meta.metrics if each.summary_only]
            metrics = self.turn(name, [metric for metric in metrics if metric.split(":")[0] not in summaries])
            view = self.db.view(name, ranks=listed)
            self.add_up(view, self.view(name, "--ranks", listed, view=view, metrics=metrics), metrics)

    def add_up(self, view, rows, metrics):
        """The values per thread of all nodes are, in sum, what viewer-cli has."""
        for name in metrics:
            column = view.column(name)
            for row in rows if column.statistic == "sum" else ():
                values = view._per_thread(view._find(row["id"]), column.metric, column.inclusive)
                whole = sum(values) / column.divisor
                self.test.assertTrue(math.isclose(whole, row[name], rel_tol=1e-12), f"{row['id']} {name}: {whole} and {row[name]}")

    def threads(self):
        """A few nodes, each with another metric: which value is whose. add_up() compares all nodes."""
        wanted = [f"{name} ({scope})" for name in ("REALTIME", "idleness", "CPU") if name in self.db.metrics["name"] for scope in "IE"]
        wanted = wanted or [self.db.meta.metrics[0].name]
        for view in (self.db.calling_context, self.db.flat, self.db.callers.filter(depth=1)):
            nodes = [*view.walk()]
            for number, node in enumerate(nodes[:: len(nodes) // NODES + 1]):
                metric = wanted[number % len(wanted)]
                theirs = self.viewer.json("threads", node.id, "--metric", metric)["values"]
                self.equal(list(node.per_thread(metric)), [each["value"] for each in theirs], f"{node.id} {metric}")
        self.equal(plain_rows(self.db.threads, LOCATION), pick(theirs, LOCATION), "threads")

    def findings(self):
        theirs = self.viewer.json("waits")
        columns = ("pattern", *LOCATION, "seconds", "count", "path", "cause", "cause_path", "exact", "direct_s", "indirect_s")
        self.equal(plain_rows(self.db.waits, columns), pick(theirs, columns), "waits")
        columns = ("id", "path", "idleness_s", "share", "role")
        self.equal(plain_rows(self.db.blame, columns), pick(self.viewer.json("blame"), columns), "blame")
        columns = ("balanced", "suspect", "named_id", "role", "ranks", "locations", "excess_s", "explains_s", "save_balanced_s",
                   "save_removed_s")  # fmt: skip
        self.equal(plain_rows(self.db.suspects, columns), pick(self.viewer.json("suspects"), columns), "suspects")
        report = self.viewer.json("report")
        columns = ("kind", "ranks", "explains_s", "lost_s", "processors", "by_others")
        self.equal(plain_rows(self.db.machine, columns), pick(report["machine"], columns), "machine")
        columns = ("role", "path", "after_path", "threads", "count", "mean_s", "deviation_s", "idle_s", "unexplained_s")
        self.equal(plain_rows(self.db.varying_gaps, columns), pick(report["varying_gaps"], columns), "varying gaps")
        self.communication()
        if self.traced:
            self.time_lines()

    def communication(self):
        if not len(self.db.calls) and not self.traced:  # viewer-cli says why there is nothing
            return
        theirs = self.viewer.json("communication")
        columns = (
            "path", "calls", "bytes", "seconds", "mean_s", "max_s", "threads", "busiest", "busiest_s", "messages", "smallest_bytes",
            "largest_bytes", "sent_bytes", "received_bytes",
        )  # fmt: skip
        self.equal(plain_rows(self.db.calls, columns), pick(theirs["paths"], columns), "paths")
        self.equal(list(self.db.partners), theirs["partners"], "partners")
        for row in theirs["mpi"]:
            self.equal(sum(self.db.calls.where(call=row["call"])["calls"]), row["calls"], row["call"])

    def time_lines(self):
        theirs = self.viewer.json("causes")
        columns = (*LOCATION, "path", "short_term_s", "long_term_s", "between_calls", "waiter_path")
        known = [row for row in theirs if row["rank"] is not None or row["process"] is not None]
        self.equal(plain_rows(self.db.causes, columns), pick(known, columns), "causes")
        rest = [row for row in theirs if row["process"] is None]
        self.equal([self.db.trace.unexplained_s], [row["short_term_s"] for row in rest], "unexplained")
        columns = (*LOCATION, "path", "cost_s", "waiter", "waiter_path")
        self.equal(plain_rows(self.db.hotspots, columns), pick(self.viewer.json("hotspots"), columns), "hotspots")
        self.critical_path()
        theirs = self.viewer.json("efficiency")
        for key in ("parallel", "load_balance", "communication", "serialization", "transfer"):
            if self.db.trace.run_s and not self.db.trace.stopped:  # the viewer's are those of samples, else
                self.equal(getattr(self.db.trace, key), theirs[key], key)
        self.segments()
        self.time_map()

    def critical_path(self):
        theirs = self.viewer.json("critical-path")
        self.equal(self.db.trace.critical_path_s, theirs["length_s"], "length")
        ours = [(plain(row["path"]), row["path_seconds"], row["imbalance_s"], row["between_calls"], row["rank"], row["seconds"])
                for row in self.db.critical_path]  # fmt: skip
        rows = [(path["path"], path["seconds"], path["imbalance_s"], path["between_calls"], rank["rank"], rank["seconds"])
                for path in theirs["paths"] for rank in path["ranks"]]  # fmt: skip
        self.equal(ours, rows, "critical path")

    def segments(self):
        if not self.db.levels or self.db.levels[0].chosen:
            return
        level, theirs = self.db.levels[0], self.viewer.json("variation")
        self.equal([row.rank for row in level.rows], theirs["ranks"], "ranks")
        self.equal([[ns / 1e9 for ns in row.times] for row in level.rows], theirs["sos_s"], "SOS-times")
        begins = [begin for row in theirs["begin_s"] for begin in row]
        self.equal([begin for begin in level.segments["begin_s"] if begin is not None], begins, "begins")
        columns = ("rank", "thread", "iteration", "sos_s", "median_s")
        self.equal(plain_rows(level.outliers, columns), pick(theirs["outliers"], columns), "outliers")
        self.equal(plain(level.path) if level.path else [], theirs["path"], "path")
        for metric in theirs.get("metrics", ()):
            values = self.viewer.json("variation", "--metric", metric["metric"])["values"]
            self.equal(level.segments[metric["metric"]], [value for row in values for value in row], metric["metric"])

    def time_map(self):
        """All bins of a rank add up to its waits, whole ones, of its first time line."""
        bins = {}
        for row in self.db.time_map.waits:
            key = row["rank"], row["pattern"]
            bins[key] = bins.get(key, 0.0) + row["seconds"]
        listed = {}
        for row in self.db.waits.where(exact=True, thread=0):
            key = row["rank"], row["pattern"]
            listed[key] = listed.get(key, 0.0) + row["seconds"]
        for key in bins:
            self.test.assertAlmostEqual(bins[key], listed.get(key, 0.0), 6, f"{key} of {self.viewer.database}")

    def hatchet(self):
        theirs = json.loads(self.viewer.run("export", "hatchet", "-o", "-"))
        self.equal(self.db.to_hatchet(), theirs, "hatchet")
