"""Truth: threads that wait for each other, at OpenMP barriers, for work, for locks, on conditions, at barriers and for
each other's end, are idle as long as the program's own logs say."""

import dataclasses
import math
import unittest

import harness
from against_logs import OPTIONS, tolerance, truth

# Procedure that waits: the scenario of the program that it belongs to, and the calls in it that wait.
WAITS = {
    "locks": ("lock_held", {"pthread_barrier_wait", "pthread_mutex_lock"}),
    "waits": ("condition_wait", {"pthread_barrier_wait", "pthread_cond_wait"}),
    "meets": ("barrier_wait", {"pthread_barrier_wait"}),
    "join": ("join", {"pthread_join"}),
    "omp_barrier": ("omp_barrier", {"GOMP_barrier"}),
    "omp_region_end": ("omp_region_end", {"GOMP_parallel"}),
}
# Of them, those whose threads the main thread sees asleep before it lets time pass.
SEEN = ("locks", "waits", "meets")
REPETITIONS, DELAY = 5, 20


class ThreadWaits(harness.Workspace):
    def measured(self, *scenario):
        directory = self.here / "run"
        program = harness.PROGRAMS / "truth_thread_waits"
        harness.run([harness.HPCRUN, "-o", directory, *OPTIONS, program, self.here, REPETITIONS, DELAY, *scenario])
        view = harness.viewer_json(
            self.merge(directory), "view", "calling-context", "--metrics", "idleness:sum (I)"
        )
        self.roots = view["roots"]
        self.logs = truth.Truth(truth.read(self.here))
        self.seen = {event: call.exit for call in self.logs.ranks[0].calls for (event,) in call.all("sees")}

    def idleness(self, nodes, label):
        """Below the outermost procedures of that name, OpenMP regions of theirs included."""
        total = 0
        for node in nodes:
            frame = node["frame"]
            if frame["kind"] == "procedure" and frame["name"].split(" [")[0] == label:
                total += node["values"].get("idleness:sum (I)", 0)
            else:
                total += self.idleness(node["children"], label)
        return total

    def check_idleness(self, label):
        scenario, functions = WAITS[label]
        self.against_clock(lambda: self.measured(scenario), lambda: self.compare_idleness(label, functions))

    def compare_idleness(self, label, functions):
        calls = [call for call in self.logs.ranks[0].calls if call.label == label]
        waiting, inside = self.sure(label=label), self.logs.inside(functions, label=label)
        if label in SEEN:
            self.assertGreaterEqual(waiting, 1e-3 * DELAY * REPETITIONS)
        least = waiting - tolerance(waiting, len(calls))
        most = inside + tolerance(inside, len(calls)) + self.unlogged(label)
        self.assert_time(self.idleness(self.roots, label), least, most, calls, label)

    def sure(self, **which):
        """Seconds of waiting in calls of threads that were seen asleep in them, from then on; elsewhere, of threads that kept
        their processors until they waited: of others nobody knows whether they had come to the call yet."""
        waits = self.logs.waits
        self.logs.waits = [sure for wait in waits if (sure := self.sure_part(wait)) is not None]
        seconds = self.logs.sum(**which)
        self.logs.waits = waits
        return seconds

    def sure_part(self, wait):
        """Of a wait, or None."""
        if wait.call.label not in SEEN:
            return None if wait.call.preempted else wait
        (event,) = {event for _, event in wait.call.all("awaits")}
        left = wait.call.enter + wait.nanoseconds - max(self.seen[event], wait.call.enter)
        return dataclasses.replace(wait, nanoseconds=left) if left > 0 else None

    def unlogged(self, label):
        """Where every OpenMP region ends, its threads meet once more, and before the next begins the main thread meets them
        again; how long each of them waits there on a busy machine is unknown, but the main thread knows when it came to the
        region, from there to the barrier, and when all were through."""
        if label != "omp_barrier":
            return 0
        calls = self.logs.ranks[0].calls
        enters = [call.enter for call in calls if call.thread == 0]
        regions = [call for call in calls if call.function == "region"]
        exits = [call.exit for call in calls if call.function == "GOMP_barrier"]
        begin = sum(min(e for e in enters if e > region.enter) - region.enter for region in regions)
        end = sum(min((r.exit for r in regions if r.exit >= exit), default=exit) - exit for exit in exits)
        return 1e-9 * (begin + end)

    def compare_workers(self):
        self.assertGreater(self.logs.sum(pattern="omp-idle"), 0)
        workers = [node for node in self.roots for node in node["children"] if node["frame"]["kind"] == "thread-root"]
        total = sum(node["values"].get("idleness:sum (I)", 0) for node in workers)
        waiting = self.sure() - self.sure(label="join") - self.sure(label="omp_region_end")
        # The main thread's part of the barriers is all that is not below the threads' root.
        main = (w for w in self.logs.waits if w.call.thread == 0 and w.call.label == "omp_barrier")
        waiting -= sum(w.seconds for w in main if not w.call.preempted)
        least = waiting - tolerance(waiting, len(self.logs.waits))
        self.assert_time(total, least, math.inf, [wait.call for wait in self.logs.waits], "workers")

    def test_workers_without_work_are_idle(self):
        self.against_clock(self.measured, self.compare_workers)


for label in WAITS:
    setattr(ThreadWaits, f"test_idleness_{label}", lambda self, label=label: self.check_idleness(label))

if __name__ == "__main__":
    unittest.main()
