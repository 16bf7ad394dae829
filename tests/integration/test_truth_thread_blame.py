"""Truth: who idles because of whom within a process. What each function makes other threads wait is what the program's own
log says, with libgomp and libomp, POSIX threads and their locks; what is caused, and what nobody caused, is what was
idle, to the ns; and the report names the cause."""

import collections
import sys
import unittest

import harness
from against_logs import OPTIONS, tolerance

sys.path.insert(0, str(harness.TRUTH))
import thread_blame  # noqa: E402

REPETITIONS = 12
SHARE = 0.05  # of what is caused in all


class Blame(harness.Workspace):
    def measure_scenario(self, scenario, program="truth_thread_blame", policy="passive"):
        environment = dict(harness.ENVIRONMENT, OMP_WAIT_POLICY=policy)
        directory = self.here / "run"
        arguments = [self.here, REPETITIONS, scenario]
        harness.run([harness.HPCRUN, "-o", directory, *OPTIONS, harness.PROGRAMS / program, *arguments], env=environment)
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
                name = frame["name"].split(" [")[0]
                if name not in around:
                    found[name] += node["values"].get(f"{metric}:sum (I)", 0)
                around = around | {name}
            for child in node["children"]:
                visit(child, around)

        for root in view["roots"]:
            visit(root, frozenset())
        return found

    def check_sums(self):
        causes = self.report["thread_causes"]
        self.assertAlmostEqual(causes["idle_s"], causes["caused_s"] + causes["unborne_s"], delta=1e-3 + 2e-3 * causes["idle_s"])
        self.assertAlmostEqual(causes["lock_waited_s"], causes["lock_caused_s"] + causes["lock_unborne_s"],
                               delta=1e-3 + 2e-3 * causes["lock_waited_s"])  # fmt: skip

    def check(self, metric, truth):
        """Each function within a share of all that is caused."""
        found, whole = self.by_function(metric), sum(truth.values())
        self.assertGreater(whole, 0.1, "too little to measure")
        for function, seconds in truth.items():
            allowed = max(SHARE * whole, tolerance(seconds, REPETITIONS))
            self.assertAlmostEqual(found[function], seconds, delta=allowed, msg=f"{function}: {dict(found)}, {dict(truth)}")
        self.check_sums()

    def check_idleness(self, scenario, most, **options):
        self.measure_scenario(scenario, **options)
        self.check("idleness-caused", thread_blame.idleness(self.lines))
        named = [cause["path"][-1]["name"].split(" [")[0] for cause in self.report["thread_causes"]["idleness"]]
        self.assertIn(most, named)

    def check_locks(self, scenario, most, **options):
        self.measure_scenario(scenario, **options)
        self.check("lock-wait-caused", thread_blame.lock_waits(self.lines))
        names = [f["name"].split(" [")[0] for f in self.report["thread_causes"]["locks"][0]["path"]]
        self.assertIn(most, names)


class Gomp(Blame):
    def test_serial_section_under_a_pool(self):
        self.check_idleness("serial", "assemble")
        text = harness.run([harness.VIEWER, self.database, "report"]).stdout
        self.assertRegex(" ".join(text.split()), r"idle \d+ % of their time, \d+ % of that while the main thread is in assemble")

    def test_a_late_thread(self):
        self.check_idleness("barrier", "late_part")

    def test_spinning(self):
        self.check_idleness("barrier", "late_part", policy="active")

    def test_a_team_within_a_team(self):
        self.check_idleness("nested", "inner_long")

    def test_a_long_task(self):
        self.check_idleness("tasks", "long_task")

    def test_the_last_part_of_a_loop(self):
        self.check_idleness("dynamic", "iteration")

    def test_critical_sections(self):
        self.check_locks("critical", "enter_long")


class Posix(Blame):
    def test_a_pool_without_work(self):
        self.check_idleness("pool", "produce")

    def test_a_contended_mutex(self):
        self.check_locks("lock", "long_section")


class Omp(Blame):
    """By libomp, compiled by clang."""

    program = "truth_thread_blame_clang"

    def test_serial_section_under_a_pool(self):
        self.check_idleness("serial", "assemble", program=self.program)

    def test_a_late_thread(self):
        self.check_idleness("barrier", "late_part", program=self.program)

    def test_a_team_within_a_team(self):
        self.check_idleness("nested", "inner_long", program=self.program)

    def test_a_long_task(self):
        self.check_idleness("tasks", "long_task", program=self.program)

    def test_critical_sections(self):
        self.check_locks("critical", "enter_long", program=self.program)


if __name__ == "__main__":
    unittest.main()
