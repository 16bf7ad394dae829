"""Truth: OpenMP threads wait at barriers, at the ends of regions and for tasks, for locks, and for work, each of its kind, as
long as the program's own logs say, spinning or sleeping, with a runtime that has no symbols but those it exports; and
tasks that are worked at inside of such a wait are work."""

import collections
import unittest

import harness
from against_logs import OPTIONS, tolerance, truth

REPETITIONS, DELAY = 4, 20  # ms
LEAST = 0.5  # of the time from a thread's arrival on: on a busy machine it may not have come to wait yet


class OpenMPWaits(harness.Workspace):
    def measure_scenario(self, policy, *scenario, program="truth_openmp_waits"):
        environment = dict(harness.ENVIRONMENT, OMP_WAIT_POLICY=policy)
        directory = self.here / "run"
        arguments = [self.here, REPETITIONS, DELAY, *scenario]
        command = [harness.HPCRUN, "-o", directory, *OPTIONS, harness.PROGRAMS / program, *arguments]
        harness.run(command, env=environment)
        self.database = self.merge(directory)
        self.logs = truth.Truth(truth.read(self.here))
        self.rows = harness.viewer_json(self.database, "waits")

    def seconds(self, pattern, label, function=None):
        """Below procedures of that name, or OpenMP regions of theirs; of the function only, if one is given."""
        total = 0
        for row in self.rows:
            names = [f["name"].split(" [")[0] for f in row["path"] if f["kind"] == "procedure"]
            if row["pattern"] == pattern and label in names and (function is None or function in names):
                total += row["seconds"]
        return total

    def sure(self, pattern, label=None):
        """Seconds of waiting of threads that kept their processors until they waited: of others nobody knows when they came."""
        return sum(wait.seconds for wait in self.logs.waits
                   if wait.pattern == pattern and label in (None, wait.call.label) and not wait.call.preempted)  # fmt: skip

    def check_call(self, pattern, label, function):
        waiting = self.sure(pattern, label)
        inside = self.logs.inside({function}, label=label)
        idle = self.seconds(pattern, label, function)
        self.assertGreater(idle, 0, (label, function))
        self.assertGreaterEqual(idle, waiting - tolerance(waiting, REPETITIONS), (label, function))
        self.assertLessEqual(idle, inside + tolerance(inside, REPETITIONS), (label, function))

    def check_calls(self):
        self.check_call("lock-held", "critical", "GOMP_critical_start")
        self.check_call("lock-held", "set_lock", "omp_set_lock")
        self.check_call("omp-barrier", "taskwait", "GOMP_taskwait")
        barrier = self.sure("omp-barrier", "loop")
        self.assertGreaterEqual(self.seconds("omp-barrier", "loop"), barrier - tolerance(barrier, REPETITIONS))
        self.check_tasks()
        self.check_team_of_a_thread()

    def check_tasks(self):
        """Inside of GOMP_taskwait, and of the barrier at the end of the region."""
        view = harness.viewer_json(
            self.database, "view", "calling-context", "--metrics", "idleness:sum (I),REALTIME:sum (I)"
        )
        time = idle = 0
        for node in harness.walk(view["roots"]):
            if node["frame"]["kind"] == "procedure" and node["frame"]["name"].split(" [")[0] == "works":
                time += node["values"].get("REALTIME:sum (I)", 0)
                idle += node["values"].get("idleness:sum (I)", 0)
        work = self.logs.inside({"work"}, label="task")
        self.assertGreaterEqual(time, work - tolerance(work, 6 * REPETITIONS))
        self.assertEqual(idle, 0)

    def arrivals(self):
        """The threads' arrivals at the ends of regions, by event."""
        teams = collections.defaultdict(list)
        for call in self.logs.ranks[0].calls:
            if call.label == "share":
                teams[call.one("enables")[0]].append(call)
        return list(teams.values())

    def check_team_of_a_thread(self):
        """It is no worker of the runtime's: it waits where its region ends, and is never without work."""
        waiting = 0
        for team in self.arrivals():
            if any(call.thread == 0 for call in team):
                continue
            waiting += 1e-9 * (max(call.enter for call in team) - min(call.enter for call in team))
        self.assertGreater(waiting, 1.5 * tolerance(waiting, REPETITIONS), "too little to measure")
        idle = self.seconds("omp-barrier", "has_team")
        self.assertGreaterEqual(idle, LEAST * waiting)
        self.assertEqual(self.seconds("omp-idle", "has_team"), 0)

    def test_sleeping(self):
        self.measure_scenario("passive")
        self.check_calls()

    def test_spinning(self):
        self.measure_scenario("active")
        self.check_calls()

    def test_workers_wait_for_the_last_at_the_end_of_a_region(self):
        self.measure_scenario("passive", "main_is_late")
        waiting = calls = 0
        for team in self.arrivals():
            (main,) = (call for call in team if call.thread == 0)
            waiting += 1e-9 * sum(max(0, main.enter - call.enter) for call in team)
            calls += len(team) - 1
        self.assertGreater(waiting, 1.5 * tolerance(waiting, calls), "too little to measure")
        barrier = sum(row["seconds"] for row in self.rows if row["pattern"] == "omp-barrier")
        self.assertGreaterEqual(barrier, LEAST * waiting)

    def test_workers_without_work_are_idle(self):
        self.measure_scenario("passive", "omp_idle", program="truth_thread_waits")
        waiting = self.sure("omp-idle")
        idle = sum(row["seconds"] for row in self.rows if row["pattern"] == "omp-idle")
        self.assertGreaterEqual(idle, waiting - tolerance(waiting, 2 * REPETITIONS))
        self.assertGreater(idle, 0)


if __name__ == "__main__":
    unittest.main()
