"""Truth: every kind of lock, condition, semaphore and join that threads wait for or by is idleness of its kind, as long as
the program's own logs say; and who is cancelled while it waits does not wait in what it then does."""

import collections
import unittest

import harness
from against_logs import OPTIONS, tolerance, truth

REPETITIONS, DELAY = 3, 40  # ms
PATTERNS = {"lock": "lock-held", "condition": "condition-wait", "join": "join-wait"}


def procedures(path):
    return {frame["name"].split(" [")[0] for frame in path if frame["kind"] == "procedure"}


class ThreadLocks(harness.Workspace):
    def test_each_kind(self):
        directory = self.here / "run"
        program = harness.PROGRAMS / "truth_thread_locks"
        harness.run([harness.HPCRUN, "-o", directory, *OPTIONS, program, self.here, REPETITIONS, DELAY])
        database = self.merge(directory)
        logs = truth.Truth(truth.read(self.here))
        rows = harness.viewer_json(database, "waits")
        calls = logs.ranks[0].calls
        labels = sorted({(call.function, call.label) for call in calls if call.function in PATTERNS})
        self.assertGreater(len(labels), 25)
        measurable = 0
        for function, label in labels:
            with self.subTest(label):
                seconds = collections.Counter()
                for row in rows:
                    if label in procedures(row["path"]):
                        seconds[row["pattern"]] += row["seconds"]
                pattern = PATTERNS[function]
                # A barrier at which both threads meet before is a condition.
                meets = logs.inside({"pthread_barrier_wait"}, label=label)
                waiting = logs.sum(pattern=pattern, label=label)
                inside = logs.inside({function}, label=label) + (meets if function == "condition" else 0)
                # A thread that comes late on a busy machine hardly waits.
                measurable += waiting > 2 * tolerance(waiting, REPETITIONS)
                idle = seconds.pop(pattern, 0)
                self.assertGreaterEqual(idle, waiting - tolerance(waiting, REPETITIONS))
                self.assertLessEqual(idle, inside + tolerance(inside, 2 * REPETITIONS))
                self.assertLessEqual(sum(seconds.values()), meets + tolerance(meets, REPETITIONS))
        self.assertGreater(measurable, len(labels) / 2, "too little to measure")
        self.check_cancelled(database, logs)

    def check_cancelled(self, database, logs):
        view = harness.viewer_json(
            database, "view", "calling-context", "--metrics", "idleness:sum (I),REALTIME:sum (I)"
        )
        time = idle = 0
        for node in harness.walk(view["roots"]):
            if node["frame"]["kind"] == "procedure" and node["frame"]["name"].split(" [")[0] == "works_on":
                time += node["values"].get("REALTIME:sum (I)", 0)
                idle += node["values"].get("idleness:sum (I)", 0)
        work = logs.inside({"works_on"})
        self.assertGreater(work, 1.5 * tolerance(work, REPETITIONS), "too little to measure")
        self.assertGreaterEqual(time, work - tolerance(work, REPETITIONS))
        self.assertEqual(idle, 0)


if __name__ == "__main__":
    unittest.main()
