"""What programs read: every command's json has exactly the keys, types, units and order that it promises, and its csv as
many rows, for runs with and without time lines, with threads, in Fortran, with one-sided communication, without MPI."""

import csv
import io
import json
import math
import pathlib
import re
import sys
import unittest

import exported_figures
import harness

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from wait_patterns import PATTERNS  # noqa: E402

KINDS = {"root", "thread-root", "partial", "module", "file", "procedure", "inlined", "loop", "call", "statement", "region"}


class Wrong(AssertionError):
    pass


def number(value, where):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise Wrong(f"{where}: {value!r} is no number")


def whole(value, where):
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Wrong(f"{where}: {value!r} is no count")


def share(value, where):
    number(value, where)
    if not -1e-9 <= value <= 1 + 1e-9:
        raise Wrong(f"{where}: {value!r} is no share")


def text(value, where):
    if not isinstance(value, str):
        raise Wrong(f"{where}: {value!r} is no text")


def flag(value, where):
    if not isinstance(value, bool):
        raise Wrong(f"{where}: {value!r} is neither true nor false")


def matching(pattern):
    def check(value, where):
        text(value, where)
        if not re.fullmatch(pattern, value):
            raise Wrong(f"{where}: {value!r} is not like {pattern}")

    return check


def one_of(*words):
    return matching("|".join(map(re.escape, words)))


def or_null(shape):
    return lambda value, where: None if value is None else check(value, shape, where)


def null(value, where):
    if value is not None:
        raise Wrong(f"{where}: {value!r}, expected null")


def values_of(shape):
    """An object of any keys."""

    def check_all(value, where):
        if not isinstance(value, dict):
            raise Wrong(f"{where}: {value!r} is no object")
        for key, each in value.items():
            check(each, shape, f"{where}.{key}")

    return check_all


def check(value, shape, where="$"):
    """A shape is a function, a list of one shape (an array of any length), or an object of exactly these keys."""
    if callable(shape):
        shape(value, where)
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise Wrong(f"{where}: {value!r} is no array")
        for index, each in enumerate(value):
            check(each, shape[0], f"{where}[{index}]")
    else:
        if not isinstance(value, dict):
            raise Wrong(f"{where}: {value!r} is no object")
        if set(value) != set(shape):
            raise Wrong(f"{where}: without {sorted(set(shape) - set(value))}, with {sorted(set(value) - set(shape))}")
        for key, each in shape.items():
            check(value[key], each, f"{where}.{key}")


FRAME = {"name": text, "file": text, "line": whole, "module": text, "kind": one_of(*KINDS)}
LOCATION = {"rank": or_null(whole), "thread": whole, "role": text, "process": matching(r"[^:]+:\d+")}


def path(value, where):
    """A call path begins at the root of the run."""
    check(value, [FRAME], where)
    if not value or value[0]["kind"] != "root":
        raise Wrong(f"{where}: does not begin at the root")


def path_or_none(value, where):
    if value != []:
        path(value, where)


def node(value, where):
    check(
        value,
        {"id": matching(r"\S+"), "frame": FRAME, "values": values_of(or_null(number)), "observers": or_null(whole),
         "threads": whole, "children": [node]},
        where,
    )


VIEW = {"view": one_of("calling-context", "callers", "flat"), "metrics": [text], "units": values_of(text), "role": or_null(text),
        "roots": [node]}
BLAME = [{"id": matching(r"c\d+"), "path": path, "idleness_s": number, "share": share, "role": text, "waiters": [LOCATION]}]
SUSPECTS = [{
    "balanced": path, "suspect": path, "balanced_id": matching(r"c\d+"), "suspect_id": matching(r"c\d+"), "named_id": matching(r"c\d+"),
    "name": text, "role": text, "confidence": one_of("sure", "likely", "hint"), "surer_with": text,
    "ranks": [whole], "locations": [LOCATION], "excess_s": number, "explains_s": number, "save_balanced_s": number,
    "save_removed_s": number, "more_work": or_null(number), "usual_cpu_share": or_null(number), "excess_cpu_share": or_null(number),
    "excess_io_share": or_null(number), "parts": [{"name": text, "id": matching(r"c\d+"), "excess_s": number}],
}]
WHERE = [{"name": text, "idleness_s": number, "share": share}]
QUALITY = {
    "ranks": whole, "threads": whole, "samples": whole, "partial": whole, "partial_s": number, "bridged": whole, "unresolved": whole,
    "dropped": whole, "full": whole, "world_size": whole, "clock_violations": whole, "clock_violations_left": whole, "clock_error_s": or_null(number), "cut_short": whole, "unreadable": whole, "sampling_s": number,
    "sampling_us": number, "tracing_s": number, "slowed_threads": whole, "slowest_period_s": number, "epochs_lost": whole,
    "unclassified_wait_s": number, "excess_wait_s": number, "traced_ranks": whole, "traces_stopped": whole,
    "unmatched_ranks": [whole],
    "unmatched": dict.fromkeys(
        ("sends", "receives", "probes", "collectives", "fences", "epochs", "locks", "completions", "with_unrecorded_processes"), whole
    ),
}
ROLE = {"role": text, "threads": whole}
EFFICIENCY = {name: or_null(number) for name in ("parallel", "load_balance", "communication", "serialization", "transfer")}
THREADS = {**{name: number for name in ("efficiency", "serial", "load_balance", "contention", "overhead", "hybrid")}, "count": whole}
# Of iterations; null where one took no time.
SHARES = {"time_s": number, **{name: or_null(number) for name in ("parallel", "load_balance", "communication")}}
UNATTRIBUTED = dict.fromkeys(("rank", "thread", "role", "process"), null)


def cause(value, where):
    whose = LOCATION if value.get("path") else UNATTRIBUTED
    check(value, {**whose, "path": path_or_none, "short_term_s": number, "long_term_s": number, "undetermined_s": number,
                  "between_calls": flag, "confidence": or_null(one_of("hint", "likely", "sure")),
                  "surer_with": or_null(text), "waiters": [LOCATION], "waiter_path": or_null(path),
                  "critical_section": flag}, where)


CAUSING = [{"id": matching(r"c\d+"), "path": path, "role": text, "caused_s": number, "loop": or_null(path), "serial": flag,
            "awaits": or_null(path)}]

SHAPES = {
    "report": {
        "verdict": {"kind": one_of("healthy", "starved", "startup", "uneven-lasting", "uneven-drifting", "uneven-intermittent",
                                   "serial", "messages", "io", "threads-idle", "too-short"),
                    "text": text, "confidence": one_of("hint", "likely", "sure"),
                    "losses": dict.fromkeys(("startup_s", "io_s", "serial_s", "uneven_lasting_s", "uneven_drifting_s",
                                             "uneven_intermittent_s", "messages_s", "threads_idle_s", "thread_overhead_s"), number)},
        "idleness": dict.fromkeys(("late_s", "elsewhere_s", "transfer_s", "library_s", "no_processor_s", "no_processor_at_most_s", "threads_s", "undivided_s"), number),
        "idle_share": share, "idle_s": number, "total_s": number, "where": WHERE,
        "roles": [{**ROLE, "idle_share": share, "idle_s": number, "total_s": number, "serves": flag, "where": WHERE}],
        "machine": [{"kind": one_of("oversubscribed", "bound-together", "quota", "slow"), "hosts": [text], "ranks": [whole],
                     "explains_s": number, "lost_s": number, "processors": whole, "by_others": flag}],
        "thread_causes": {**dict.fromkeys(("idle_s", "served_s", "caused_s", "unborne_s", "lock_waited_s", "lock_caused_s", "lock_unborne_s", "overhead_s"),
                                          number), "idleness": CAUSING, "locks": CAUSING, "overhead": CAUSING},
        "varying_gaps": [{"role": text, "path": path, "after_path": or_null(path), "threads": whole, "count": whole,
                          "mean_s": number, "deviation_s": number, "idle_s": number, "unexplained_s": number}],
        "blame": BLAME, "suspects": SUSPECTS, "quality": QUALITY,
        "replayed_savings": [{"suspect_ids": [matching(r"c\d+")], "save_balanced_s": number}],
    },
    "hot-path": {"metric": text, "unit": text,
                 "path": [{"id": matching(r"c\d+"), "frame": FRAME, "value": number, "share": share}]},
    "threads": {"node": path, "metric": text, "unit": text, "values": [{**LOCATION, "value": number}]},
    "blame": BLAME,
    "suspects": SUSPECTS,
    "waits": [{"pattern": one_of(*PATTERNS), **LOCATION, "seconds": number, "count": whole, "path": path,
               "cause": or_null(LOCATION), "cause_path": or_null(path), "exact": flag,
               "direct_s": or_null(number), "indirect_s": or_null(number)}],
    "causes": [cause],
    "critical-path": {"length_s": number, "paths": [{"path": path, "seconds": number, "imbalance_s": number,
                                                     "between_calls": flag, "ranks": [{"rank": or_null(whole), "thread": whole, "seconds": number}]}]},
    "hotspots": [{**LOCATION, "path": path, "cost_s": number, "waiter": LOCATION, "waiter_path": path}],
    "variation": {
        "segment": one_of("procedure", "iteration"), "path": path_or_none, "invocations": one_of("marked", "inferred"),
        "median_s": number, "ranks": [whole], "sos_s": [[number]], "lined_up": flag, "begin_s": [[number]],
        "outliers": [{"rank": whole, "thread": or_null(whole), "iteration": whole, "sos_s": number, "median_s": number, "path": path_or_none}],
    },
    "communication": {
        "calls": whole, "bytes": whole, "exact": flag, "whole_s": number,
        "mpi": [{"call": text, "calls": whole, "bytes": whole, "seconds": number, "mean_s": number, "max_s": or_null(number),
                 "ranks": [whole], "messages": whole, "sent_bytes": whole, "received_bytes": whole, "polls_in_vain": whole}],
        "paths": [{"path": path, "calls": whole, "bytes": whole, "seconds": number, "mean_s": number, "max_s": or_null(number),
                   "threads": whole, "busiest": LOCATION, "busiest_s": number, "messages": whole, "smallest_bytes": whole,
                   "largest_bytes": whole, "sent_bytes": whole, "received_bytes": whole, "polls_in_vain": whole}],
        "partners": [{"communicator": whole, "name": or_null(text), "members": whole, "from": whole, "to": whole, "ranks": whole,
                      "messages": whole, "bytes": whole}],
    },
    "efficiency": {**EFFICIENCY, "regions": [{"name": text, "path": path, "time_s": number, **EFFICIENCY}],
                   "threads": or_null(THREADS),
                   "iterations": or_null({**SHARES, "count": whole, "each": [{**SHARES, "iteration": whole}]})},
    "diff": {"metric": text, "unit": text, "notes": [text],
             "nodes": [{"path": path, "a": number, "b": number, "change": number, "ratio": or_null(number),
                        "scaling_loss": or_null(number)}]},
    "info": {
        "command": [text], **QUALITY, "events": [text],
        "modules": [{"path": text, "build_id": text, "samples": whole, "unwind_information": flag, "bridged": whole,
                     "partial": whole, "notes": [text]}],
        "start": matching(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "duration_s": number, "program": text, "directory": text,
        "hosts": [text], "mpi": text, "run_id": text, "world_size": whole, "period_s": number, "contexts": whole,
        "metrics": [{"name": text, "unit": text, "description": text}], "roles": [ROLE],
        "balance": {"test": text, "alpha": number, "tau": number, "epsilon": number}, "notes": [text],
        "schedules": [{**LOCATION, "ran_s": number, "runnable_s": number, "voluntary_switches": whole,
                       "involuntary_switches": whole, "processors": [whole], "online": whole, "allowed": whole,
                       "quota": or_null(number), "throttled_s": number}],
    },
}
# What the rows are sorted by, the largest first.
ORDER = {
    "blame": lambda row: row["idleness_s"],
    "suspects": lambda row: row["explains_s"],
    "waits": lambda row: row["seconds"],
    "causes": lambda row: round(1e9 * (row["short_term_s"] + row["long_term_s"])),  # ns: a sum of seconds is rounded
    "hotspots": lambda row: row["cost_s"],
    "communication": lambda row: row["seconds"],
    "critical-path": lambda row: row["seconds"],
    "diff": lambda row: abs(row["change"]),
}
LISTED = {"critical-path": "paths", "diff": "nodes", "communication": "paths"}
ON_TRACE = ("causes", "critical-path", "hotspots", "variation")
NO_TABLE = ("report", "info")


def efficiency_rows(result):
    """The figures by level, with the place and the name of each."""
    regions, threads, iterations = result["regions"], result["threads"] or {}, result["iterations"] or {"each": []}
    levels = [("run", result), ("threads", threads), *(("region", each) for each in regions),
              ("iterations", iterations), *(("iteration", each) for each in iterations["each"])]
    return [(level, figure, value) for level, figures in levels for figure, value in figures.items()
            if not isinstance(value, (dict, list, str)) and figure not in ("threads", "iterations", "iteration")]


def rows_of(command, result):
    """The rows that the csv has, too."""
    if command == "efficiency":
        return efficiency_rows(result)
    if command == "critical-path":
        return [(each, rank) for each in result["paths"] for rank in each["ranks"]]
    if command == "variation":
        return [sos for row in result["sos_s"] for sos in row]
    if isinstance(result, dict):
        return result[{"hot-path": "path", "threads": "values", "diff": "nodes", "communication": "paths"}[command]]
    return result


class Answers:
    """What all that answer to the commands have in common."""

    def all_commands(self, database, traced, ranks):
        """Every command on one database; what each of them answered."""
        answers, tables = {}, {}
        for command, shape in SHAPES.items():
            words = {"threads": ["c0"], "diff": [database]}.get(command, [])
            if (not traced and command in ON_TRACE) or (command == "communication" and ranks == 0):
                done = harness.run([harness.VIEWER, database, command, "--format", "json"], expect=1)
                self.assertEqual(done.stdout, "")
                self.assert_one_line(done.stderr, f"viewer-cli: {command}: ", "--trace" if ranks > 0 else "no MPI ranks")
                continue
            answers[command] = result = harness.viewer_json(database, command, *words)
            check(result, shape, command)
            if command in ORDER:
                rows = result if isinstance(result, list) else result[LISTED[command]]
                sizes = [ORDER[command](row) for row in rows]
                self.assertEqual(sizes, sorted(sizes, reverse=True), command)
            if command not in NO_TABLE:
                table = harness.run([harness.VIEWER, database, command, *words, "--format", "csv"]).stdout
                lines = tables[command] = list(csv.reader(io.StringIO(table)))
                self.assertEqual({len(line) for line in lines}, {len(lines[0])}, command)
                self.assertEqual(len(lines) - 1, len(rows_of(command, result)), command)
                if command == "efficiency":
                    found = [(level, figure, float(value) if value else None) for level, _, _, figure, value in lines[1:]]
                    self.assertEqual(found, rows_of(command, result))
            for columns in ("1", "80"):
                shown = harness.run([harness.VIEWER, database, command, *words],
                                    env=dict(harness.ENVIRONMENT, COLUMNS=columns, TERM="xterm-256color")).stdout
                self.assertNotIn("\033", shown, command)
                self.assertTrue(shown.strip(), command)
            plain = harness.run([harness.VIEWER, database, command, *words], env=dict(harness.ENVIRONMENT, LC_ALL="C")).stdout
            self.assertTrue(plain.isascii(), command)
        self.check_paths(tables)
        for kind in ("calling-context", "callers", "flat"):
            self.check_view(harness.viewer_json(database, "view", kind), kind)
        self.check_sums(answers, ranks)
        self.check_without_start_up(database, answers["blame"])
        return answers

    def check_paths(self, tables):
        """The csv of a comparison writes paths as others do, but for call sites, which it does not distinguish."""
        compared = {line[0] for line in tables["diff"][1:]}
        for line in tables.get("communication", [])[1:]:
            path_of_call = "/".join(part for part in line[0].split("/") if part != "call" and not part.startswith("call at "))
            self.assertIn(path_of_call, compared)

    def check_view(self, result, kind):
        check(result, VIEW, kind)
        self.assertEqual(result["view"], kind)
        self.assertEqual(list(result["units"]), result["metrics"])
        self.assertEqual(result["units"]["REALTIME:sum (I)"], "s")
        seen = set()
        for each in harness.walk(result["roots"]):
            self.assertEqual(list(each["values"]), result["metrics"])
            self.assertNotIn(each["id"], seen)
            seen.add(each["id"])
            times = [child["values"]["REALTIME:sum (I)"] for child in each["children"]]
            self.assertEqual(times, sorted(times, reverse=True))
            self.assertLessEqual(each["observers"] or 0, each["threads"])

    def check_without_start_up(self, database, blame):
        """Seconds stay, and shares of the rest add up to it."""
        without = harness.viewer_json(database, "blame", "--without-startup")
        check(without, BLAME, "blame --without-startup")
        self.assertEqual([row | {"share": 0} for row in without], [row | {"share": 0} for row in blame])
        report = harness.viewer_json(database, "report", "--without-startup")
        # Sums over roles, formed in another order.
        rounded = [[row | {"share": round(row["share"], 9)} for row in rows] for rows in (report["blame"], without)]
        self.assertEqual(*rounded)
        self.assertAlmostEqual(sum(row["share"] for row in without), 1 if report["idle_s"] > 0 else 0, places=6)

    def check_sums(self, answers, ranks):
        """What several commands tell is the same."""
        report, info = answers["report"], answers["info"]
        self.assertEqual(info["ranks"], ranks)
        self.assertEqual(info["threads"], sum(role["threads"] for role in info["roles"]))
        self.assertAlmostEqual(report["total_s"], sum(value["value"] for value in answers["threads"]["values"]), places=6)
        self.assertAlmostEqual(report["total_s"], answers["hot-path"]["path"][0]["value"], places=6)
        self.assertAlmostEqual(report["idle_s"], sum(role["idle_s"] for role in report["roles"]), places=6)
        listed = [value["rank"] for value in answers["threads"]["values"] if value["rank"] is not None]
        self.assertEqual(listed, sorted(listed))
        self.assertEqual(set(listed), set(range(ranks)))
        for row in answers["diff"]["nodes"]:
            self.assertEqual((row["a"], row["change"]), (row["b"], 0))
            self.assertEqual(row["ratio"], 1 if row["a"] != 0 else None)
        if "critical-path" in answers:
            length = answers["critical-path"]["length_s"]
            self.assertAlmostEqual(sum(each["seconds"] for each in answers["critical-path"]["paths"]), length, places=5)
            for each in answers["critical-path"]["paths"]:
                self.assertAlmostEqual(sum(rank["seconds"] for rank in each["ranks"]), each["seconds"], places=6)
        if "causes" in answers:
            self.assertEqual(sum(1 for row in answers["causes"] if row["path"] == []), 1)
        if "variation" in answers:
            self.assertEqual(len(answers["variation"]["ranks"]), len(answers["variation"]["sos_s"]))


class Shapes(harness.Workspace, Answers):
    def test_a_profile_of_ranks(self):
        database = self.merge(self.measure("mpich", 2, harness.PROGRAMS / "stencil.mpich", 12))
        answers = self.all_commands(database, traced=False, ranks=2)
        efficiency = answers["efficiency"]
        self.assertIsNone(efficiency["serialization"])
        self.assertIsNone(efficiency["transfer"])
        self.assertGreater(efficiency["parallel"], 0)
        limited = harness.viewer_json(database, "view", "--depth", "2", "--min", "10", "--focus", "main", "--ranks", "0")
        check(limited, VIEW, "view")
        self.check_options_of_diff(database)

    def check_options_of_diff(self, database):
        """Ranks, roles and formulas select what they select in views."""
        def total(*words):
            view = harness.viewer_json(database, "view", "--depth", "0", *words)
            return view["roots"][0]["values"][view["metrics"][0]]

        for words in (["--ranks", "1"], ["--role", "main"], ["--ranks", "0", "--role", "main"]):
            result = harness.viewer_json(database, "diff", database, *words)
            check(result, SHAPES["diff"], "diff")
            whole_run = [row for row in result["nodes"] if len(row["path"]) == 1][0]
            self.assertAlmostEqual(whole_run["a"], total(*words), places=6)
            self.assertAlmostEqual(whole_run["b"], total(*words), places=6)
            self.assertEqual({row["scaling_loss"] for row in result["nodes"]}, {0})
        formula = ["--derive", "waiting = $idleness / $REALTIME"]
        result = harness.viewer_json(database, "diff", database, *formula, "--metric", "waiting")
        node_shape = {**SHAPES["diff"]["nodes"][0], "a": or_null(number), "b": or_null(number), "change": or_null(number),
                      "scaling_loss": null}
        check(result, {**SHAPES["diff"], "nodes": [node_shape]}, "diff")
        whole_run = [row for row in result["nodes"] if len(row["path"]) == 1][0]
        self.assertAlmostEqual(whole_run["a"], total("--metrics", "idleness") / total(), places=9)
        shown = harness.run([harness.VIEWER, database, "diff", database, *formula, "--metric", "waiting"]).stdout
        self.assertRegex(shown, r"waiting went from [\d.]+ to [\d.]+")

    def test_a_fortran_program_with_time_lines_regions_and_iterations(self):
        directory = self.measure("openmpi", 2, harness.PROGRAMS / "regions_fortran.openmpi", options=("--trace", "--delay"))
        answers = self.all_commands(self.merge(directory), traced=True, ranks=2)
        self.assertEqual([region["name"] for region in answers["efficiency"]["regions"]], ["solve"])
        self.assertEqual(answers["variation"]["invocations"], "marked")
        self.assertEqual(answers["variation"]["segment"], "iteration")

    def test_threads(self):
        environment = dict(harness.ENVIRONMENT, OMP_NUM_THREADS="2")
        directory = self.measure("mpich", 2, harness.PROGRAMS / "threads.mpich", 60, env=environment)
        answers = self.all_commands(self.merge(directory), traced=False, ranks=2)
        self.assertGreater(len(answers["report"]["roles"]), 1)
        self.assertTrue(any(value["thread"] > 0 for value in answers["threads"]["values"]))
        threads = answers["efficiency"]["threads"]
        self.assertEqual(threads["count"], 6)  # with the pool that never sleeps outside
        self.assertAlmostEqual(threads["hybrid"], threads["efficiency"] * answers["efficiency"]["parallel"], delta=1e-6)

    def test_threads_of_a_process_without_mpi_on_time_lines(self):
        directory = self.here / "run"
        program = [harness.PROGRAMS / "truth_thread_blame", self.here, 10, "serial", 3]
        harness.run([harness.HPCRUN, "--trace", "-o", directory, *program])
        answers = self.all_commands(self.merge(directory), traced=True, ranks=0)
        self.assertEqual(answers["variation"]["ranks"], [0, 1, 2])  # threads

    def test_a_program_that_is_no_rank(self):
        directory = self.here / "run"
        harness.run([harness.HPCRUN, "-o", directory, harness.PROGRAMS / "spin", "0.4"])
        answers = self.all_commands(self.merge(directory), traced=False, ranks=0)
        for value in answers["threads"]["values"]:
            self.assertIsNone(value["rank"])
        self.assertEqual({answers["efficiency"][name] for name in EFFICIENCY}, {None})

    def test_the_check_itself_finds_what_is_wrong(self):
        good = {**LOCATION, "value": number}
        value = {"rank": 0, "thread": 0, "role": "main", "process": "host:7", "value": 1.5}
        check(value, good)
        for key, bad in (("rank", "0"), ("rank", 0.5), ("thread", True), ("process", "host"), ("value", None), ("value", math.nan)):
            with self.assertRaises(Wrong):
                check({**value, key: bad}, good)
        with self.assertRaises(Wrong):
            check({**value, "more": 1}, good)
        with self.assertRaises(Wrong):
            check({key: value[key] for key in list(value)[1:]}, good)
        with self.assertRaises(Wrong):
            check(json.loads('[{"kind": "procedure"}]'), path)


class ShapesOfWaits(harness.Workspace, Answers):
    """Of runs in which processes wait for each other: on a busy machine one may be too late to wait for anybody."""

    def test_one_sided_communication_with_and_without_time_lines(self):
        program = harness.PROGRAMS / "truth_active_target.mpich"
        for traced in (False, True):
            options = ("-q", "--trace") if traced else ("-q",)
            directory = self.measure("mpich", 4, program, self.here, 1, 30, name=f"run{traced}", options=options)
            answers = self.all_commands(self.merge(directory), traced=traced, ranks=4)
            found = {wait["pattern"] for wait in answers["waits"]}
            self.assertLessEqual({"late-post", "wait-at-fence", "late-complete"}, found)
            # What has no partner that is known has no cause; what has one, where and who.
            caused = [wait for wait in answers["waits"] if wait["cause"] is not None]
            self.assertTrue(caused)
            if traced:
                self.assertTrue(any(row["path"] for row in answers["causes"]))
                self.assertIsNotNone(answers["efficiency"]["transfer"])

    def test_exports_of_a_run_with_time_lines_add_up_to_what_views_show(self):
        program = harness.PROGRAMS / "truth_chain.openmpi"
        directory = self.measure("openmpi", 3, program, self.here, 2, 30, options=("-q", "--trace"))
        database = self.merge(directory)
        totals = exported_figures.shown(database)
        # Metrics of waits and causes, which only time lines give, are among them.
        self.assertLessEqual({"REALTIME", "idleness", "samples", "late-sender", "delay-cost-long", "critical-path"}, set(totals))
        self.assertGreater(totals["late-sender"], 0)
        self.assertGreater(totals["critical-path"], 0)
        for form, read in exported_figures.WHOLE.items():
            found = read(exported_figures.export(database, form))
            self.assertEqual(set(found) - {"time"}, set(totals) - {"REALTIME"} if "time" in found else set(totals), form)
            for metric, value in found.items():
                self.assertAlmostEqual(value, totals["REALTIME" if metric == "time" else metric], places=5, msg=(form, metric))
        for form, read in exported_figures.OF_ONE_METRIC.items():
            for metric in ("REALTIME", "idleness", "late-sender", "delay-cost-long", "critical-path", "samples"):
                found = read(exported_figures.export(database, form, "--metric", metric))
                unit = 1 if metric == "samples" else 1e9 if form == "speedscope" else 1e6
                self.assertAlmostEqual(found / unit, totals[metric], places=5, msg=(form, metric))


if __name__ == "__main__":
    unittest.main()
