"""Truth: who idles because of whom within a process. What each function makes other threads wait is what the program's own
log says, with libgomp and libomp, POSIX threads and their locks; what is caused, and what nobody caused, is what was
idle, to the ns; and the report names the cause."""

import collections
import re
import shutil
import sys
import unittest

import harness
from against_logs import OPTIONS, noise, slowest_period, tolerance

sys.path.insert(0, str(harness.TRUTH))
import thread_blame  # noqa: E402

REPETITIONS, LATE_REPETITIONS = 12, 40
SHARE = 0.05  # of what is caused in all
# Of waits as short as these few samples tell whom they were for: 1 to 4 % go to other code.
CHARGED = 0.1
LATE = {"late_worker": 1, "late_first": 0, "late_thread": 0}  # by rank


def bare(name):
    """A function's name without namespace, module, parameters and what a compiler made of it."""
    return re.split(r"::", name.replace("(anonymous namespace)", ""))[-1].split(" [")[0].split("(")[0]


class Blame(harness.Workspace):
    def measure_scenario(self, scenario, program="truth_thread_blame", policy="passive", threads=4, options=()):
        if not (harness.PROGRAMS / program).exists():
            self.skipTest(f"{program} was not built: there is no clang with libomp")
        environment = dict(harness.ENVIRONMENT, OMP_WAIT_POLICY=policy)
        directory = self.here / "run"
        arguments = [self.here, REPETITIONS, scenario, threads]
        harness.run([harness.HPCRUN, "-o", directory, *OPTIONS, *options, harness.PROGRAMS / program, *arguments], env=environment)
        self.database = self.merge(directory)
        self.lines = thread_blame.read(self.here / "blame.log")
        self.report = harness.viewer_json(self.database, "report")

    def by_function(self, metric):
        """Inclusive, of the outermost procedures of each name."""
        found = collections.Counter()
        view = harness.viewer_json(self.database, "view", "calling-context", "--metrics", f"{metric}:sum (I)")

        def visit(node, around):
            frame = node["frame"]
            if frame["kind"] in ("procedure", "inlined"):
                name = bare(frame["name"])
                if name not in around:
                    found[name] += node["values"].get(f"{metric}:sum (I)", 0)
                around = around | {name}
            for child in node["children"]:
                visit(child, around)

        for root in view["roots"]:
            visit(root, frozenset())
        return found

    def by_line(self, metric):
        """Of statements."""
        found = collections.Counter()
        view = harness.viewer_json(self.database, "view", "calling-context", "--lines", "--min", "0", "--metrics", f"{metric}:sum (I)")

        def visit(node):
            if node["frame"]["kind"] == "statement" and node["values"].get(f"{metric}:sum (I)", 0) > 0:
                found[node["frame"]["line"]] += node["values"][f"{metric}:sum (I)"]
            for child in node["children"]:
                visit(child)

        for root in view["roots"]:
            visit(root)
        return found

    def check_sums(self):
        causes = self.report["thread_causes"]
        self.assertAlmostEqual(causes["idle_s"], causes["caused_s"] + causes["unborne_s"], delta=1e-3 + 2e-3 * causes["idle_s"])
        self.assertAlmostEqual(causes["lock_waited_s"], causes["lock_caused_s"] + causes["lock_unborne_s"],
                               delta=1e-3 + 2e-3 * causes["lock_waited_s"])  # fmt: skip

    def check_metric(self, metric, least, most):
        """Each function within bounds, but for a share of all that is caused."""
        found, whole = self.by_function(metric), sum(least.values())
        self.assertGreater(whole, 0.1, "too little to measure")
        for function, seconds in most.items():
            allowed = max(SHARE * whole, tolerance(seconds, REPETITIONS))
            told = f"{function}: {dict(found)}, {dict(least)}, {dict(most)}"
            self.assertGreaterEqual(found[function], least[function] - allowed, told)
            self.assertLessEqual(found[function], seconds + allowed, told)
        self.check_sums()

    def check_idleness(self, scenario, most, **options):
        self.measure_scenario(scenario, **options)
        truth = thread_blame.idleness(self.lines)
        self.check_metric("idleness-caused", truth, truth)
        # Where nothing else sleeps, sleeping is its caller's own, and the innermost code that is.
        ends = [[bare(frame["name"]) for frame in cause["path"]] for cause in self.report["thread_causes"]["idleness"]]
        named = [names[-2 if names[-1] == "truth_sleep" else -1] for names in (list(filter(None, path)) for path in ends)]
        # On a busy machine others may cause something, too: making a team, and waking it, is none of the log's functions.
        logged = [name for name in named if name in truth]
        self.assertEqual(logged[:1], [most], (dict(truth), self.report["thread_causes"]))

    def check_overhead(self, **options):
        """Nearly all of the loop's time is the run-time library's: what it gives out is nothing."""
        self.measure_scenario("overhead", **options)
        loops = [1e-9 * (line.end - line.begin) for line in self.lines if line.what == "overhead"]
        found = self.by_function("thread-overhead")["many_iterations"]
        allowed = max(SHARE * sum(loops), tolerance(sum(loops), REPETITIONS))
        self.assertGreater(found, 0.5 * sum(loops) - allowed)
        self.assertLess(found, sum(loops) + allowed)

    def check_locks(self, scenario, most, **options):
        self.measure_scenario(scenario, **options)
        least, largest = thread_blame.lock_waits(self.lines)
        self.check_metric("lock-wait-caused", least, largest)
        # On a busy machine the log may have another come first, or leave open which.
        paths = [[bare(frame["name"]) for frame in cause["path"]] for cause in self.report["thread_causes"]["locks"]]
        self.assertTrue(any(most in path for path in paths), paths)
        first = {function for function, seconds in largest.items() if 1.05 * seconds >= max(least.values())}
        self.assertTrue(first.intersection(paths[0]), (paths, least, largest))


class TimeLines(Blame):
    """With --trace threads of a process without MPI are compared as ranks are."""

    def seconds_in(self, rows, function, *keys):
        return sum(row[key] or 0 for row in rows for key in keys if function in [bare(frame["name"]) for frame in row["path"]])

    def check_time_lines(self, scenario, function, thread, **options):
        """What the function makes others wait, and that all of it is on the critical path."""
        self.measure_scenario(scenario, options=["--trace"], **options)
        truth = thread_blame.delay(self.lines, function)
        causes = harness.viewer_json(self.database, "causes")
        found = self.seconds_in(causes, function, "short_term_s", "long_term_s")
        self.assertGreater(truth, 0.1, "too little to measure")
        self.assertAlmostEqual(found, truth, delta=max(SHARE * truth, tolerance(truth, REPETITIONS)))
        self.assertIn(function, [bare(frame["name"]) for frame in causes[0]["path"]])
        self.assertEqual(causes[0]["thread"], thread if thread is not None else causes[0]["thread"])
        works = sum(1e-9 * (line.end - line.begin) for line in self.lines if line.function == function)
        path = harness.viewer_json(self.database, "critical-path")
        on_path = self.seconds_in(path["paths"], function, "seconds")
        self.assertAlmostEqual(on_path, works, delta=max(SHARE * path["length_s"], tolerance(works, REPETITIONS)))
        efficiency = harness.viewer_json(self.database, "efficiency")
        self.assertLess(efficiency["parallel"], 1)
        self.assertGreaterEqual(efficiency["transfer"], efficiency["communication"])

    def test_serial_section(self):
        self.check_time_lines("serial", "assemble", 0)

    def test_slow_thread_at_a_barrier(self):
        self.check_time_lines("barrier", "late_part", None)

    def test_slow_thread_at_a_barrier_of_libomp(self):
        self.check_time_lines("barrier", "late_part", None, program="truth_thread_blame_clang")

    def test_several_processes_are_not_compared(self):
        directory = self.here / "run"
        run = f"{harness.PROGRAMS / 'truth_thread_blame'} {self.here} 3 serial 2"
        harness.run([harness.HPCRUN, "-o", directory, "--trace", *OPTIONS, "sh", "-c", f"{run}; {run}; true"])
        done = harness.run([harness.VIEWER, self.merge(directory), "causes"], expect=None)
        self.assertIn("threads of several processes are not compared", done.stderr)


class Gomp(Blame):
    def test_serial_section_under_a_pool(self):
        self.check_idleness("serial", "assemble")
        text = harness.run([harness.VIEWER, self.database, "report"]).stdout
        self.assertRegex(" ".join(text.split()), r"idle \d+ % of their time, \d+ % of that while the main thread is in assemble at thread_blame.c:\d+ \(serial\)")
        text = harness.run([harness.VIEWER, self.database, "blame"]).stdout
        self.assertRegex(" ".join(text.split()), r"work in this code \(idleness-caused\).* assemble")

    def test_a_late_thread(self):
        self.check_idleness("barrier", "late_part")

    def test_few_and_many_threads(self):
        for threads in (2, 8):
            with self.subTest(threads):
                shutil.rmtree(self.here / "run", ignore_errors=True)
                (self.here / "run.db").unlink(missing_ok=True)
                self.check_idleness("serial", "assemble", threads=threads)

    def test_spinning(self):
        self.check_idleness("barrier", "late_part", policy="active")

    def test_a_team_within_a_team(self):
        self.check_idleness("nested", "inner_long")

    def test_a_long_task(self):
        self.check_idleness("tasks", "long_task")

    def test_a_loop_of_tasks(self):
        self.check_idleness("taskloop", "long_task")

    def test_the_last_part_of_a_loop(self):
        self.check_idleness("dynamic", "iteration")
        loops = [cause["loop"] for cause in self.report["thread_causes"]["idleness"]]
        self.assertTrue(any(loops), "uneven iterations are their loop's")
        text = harness.run([harness.VIEWER, self.database, "report"]).stdout
        self.assertRegex(" ".join(text.split()), r"the loop at thread_blame.c:\d+ in run_loop .*\(uneven iterations\).* In that loop "
                                                 r"(thread|all threads).*: schedule\(dynamic\)")

    def test_iterations_in_order(self):
        self.check_idleness("ordered", "in_order")

    def test_giving_out_iterations(self):
        self.check_overhead()

    def test_critical_sections(self):
        self.check_locks("critical", "enter_long")


    def test_critical_sections_of_one_region(self):
        """Nearly all wait for the longer one, in whose line the lock is given back; the other is not mixed with it."""
        self.measure_scenario("sections")
        source = (harness.TRUTH / "thread_blame.c").read_text().splitlines()
        first, second = (1 + source.index(f"#pragma omp critical({name})") for name in ("first", "second"))
        places = {cause["path"][-1].get("line") for cause in self.report["thread_causes"]["locks"]}
        self.assertIn(second, places)
        caused = self.by_line("lock-wait-caused")
        self.assertEqual(set(caused), {first, second}, caused)
        self.assertGreater(caused[second], caused[first])
        text = " ".join(harness.run([harness.VIEWER, self.database, "report"]).stdout.split())
        self.assertRegex(text, rf"because of locks that are held in thread_blame.c:{second} in sections")


class Posix(Blame):
    def test_a_pool_without_work(self):
        self.check_idleness("pool", "produce")

    def test_threads_too_brief_to_be_sampled(self):
        """Those that are sampled stand for the others."""
        self.check_idleness("brief", "brief_part")

    def test_a_contended_mutex(self):
        self.check_locks("lock", "long_section")


class Fortran(Blame):
    def test_serial_section_under_a_pool(self):
        self.check_idleness("fortran", "update", program="truth_thread_blame_fortran")


class Cpp(Blame):
    program = "truth_thread_blame_cpp"

    def test_a_pool_without_work(self):
        self.check_idleness("pool", "prepare", program=self.program)

    def test_a_pool_of_tbb_without_work(self):
        self.check_idleness("tbb", "prepare", program=self.program)

    def test_a_contended_mutex(self):
        self.check_locks("cpp", "hold_long", program=self.program)

    def test_a_contended_mutex_of_c11(self):
        self.check_locks("c11", "hold_long_c11", program=self.program)


class Hybrid(harness.UnderBothMpis, Blame):
    """While the main thread waits in MPI its workers' idleness is that call's; MPI's blame says what it waits for."""

    def check(self, mpi):
        environment = dict(harness.ENVIRONMENT, OMP_WAIT_POLICY="passive")
        program = harness.PROGRAMS / f"truth_thread_blame_mpi.{mpi}"
        directory = self.measure(mpi, 2, program, self.here, 2 * REPETITIONS, options=OPTIONS, env=environment)
        self.database = self.merge(directory)
        self.report = harness.viewer_json(self.database, "report")
        truth = collections.Counter()
        for rank in range(2):
            truth += thread_blame.idleness(thread_blame.read(self.here / f"blame-{rank}.log"))
        self.check_metric("idleness-caused", truth, truth)
        causes = self.report["thread_causes"]["idleness"]
        (waits,) = [cause for cause in causes if "MPI_Barrier" in harness.names(cause["path"])]
        self.assertIn("late_part", harness.names(waits["awaits"]))
        text = " ".join(harness.run([harness.VIEWER, self.database, "report"]).stdout.split())
        self.assertRegex(text, r"main threads are in MPI_Barrier for late_part .*\(rank 1\)")


class LateThreads(harness.UnderBothMpis, harness.Workspace):
    """A rank that waits for its own threads is no cause: what those threads do is."""

    def waits(self):
        """By late function: how long the other rank waited because its rank came later, and how much of that, at most, is
        because of something else; in seconds."""
        zero, one = ([tuple(map(int, line.split())) for line in (self.here / f"late-{rank}.log").read_text().splitlines()]
                     for rank in (0, 1))
        found = {}
        for late, barrier, waiter, cause in ((["late_worker"], 0, zero, one), (["late_thread", "late_first"], 1, one, zero)):
            waits = [max(0, there[barrier] - here[barrier]) for here, there in zip(waiter, cause)]
            took = [sum(there[2:]) for there in cause]
            # Where two take longer, each may get what the other did.
            others = 2 * sum(abs(wait - own) for wait, own in zip(waits, took))
            for i, name in enumerate(late):
                share = sum(there[2 + i] for there in cause) / sum(took)
                found[name] = share * sum(waits) / 1e9, others / 1e9
        return found

    def check(self, mpi):
        environment = dict(harness.ENVIRONMENT, OMP_WAIT_POLICY="passive")
        directory = self.measure(mpi, 2, harness.PROGRAMS / f"truth_late_worker.{mpi}", self.here, LATE_REPETITIONS,
                                 options=("--trace", *OPTIONS), env=environment)
        database = self.merge(directory)
        costs = collections.Counter()
        for row in harness.viewer_json(database, "causes"):
            late = [name for name in harness.names(row["path"]) if name in LATE]
            costs[late[0] if late else "else", row["rank"] if late else None] += row["short_term_s"] + row["long_term_s"]
        on_path = collections.Counter()
        for step in harness.viewer_json(database, "critical-path")["paths"]:
            for name in set(LATE) & set(harness.names(step["path"])):
                on_path[name] += step["seconds"]
        most, unsampled = 0, noise(LATE_REPETITIONS, slowest_period(harness.viewer_json(database, "info")))
        for late, (waited, others) in self.waits().items():
            apart = CHARGED * waited + others + unsampled
            most += apart
            self.assertAlmostEqual(costs.pop((late, LATE[late])), waited, delta=apart, msg=late)
            self.assertGreater(on_path[late], waited - apart, late)
        self.assertLess(sum(costs.values()), most, costs)


class Omp(Blame):
    """By libomp, compiled by clang."""

    program = "truth_thread_blame_clang"

    def test_serial_section_under_a_pool(self):
        self.check_idleness("serial", "assemble", program=self.program)

    def test_a_late_thread(self):
        self.check_idleness("barrier", "late_part", program=self.program)

    def test_a_late_thread_of_many(self):
        self.check_idleness("barrier", "late_part", program=self.program, threads=8)

    def test_a_team_within_a_team(self):
        self.check_idleness("nested", "inner_long", program=self.program)

    def test_a_long_task(self):
        self.check_idleness("tasks", "long_task", program=self.program)

    def test_a_loop_of_tasks(self):
        self.check_idleness("taskloop", "long_task", program=self.program)

    def test_the_last_part_of_a_loop(self):
        self.check_idleness("dynamic", "iteration", program=self.program)

    def test_iterations_in_order(self):
        self.check_idleness("ordered", "in_order", program=self.program)

    def test_giving_out_iterations(self):
        self.check_overhead(program=self.program)

    def test_critical_sections(self):
        self.check_locks("critical", "enter_long", program=self.program)


if __name__ == "__main__":
    unittest.main()
