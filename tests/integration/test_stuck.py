"""Programs that hang in known ways (tests/truth/hangs.c): `viewer-cli DIR stuck` names the ranks, calls and lines, while they
hang and after they were killed; of slow but moving ones it says that they are not stuck."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import harness

SOURCE = harness.TRUTH / "hangs.c"
LIFE = 240  # seconds after which a program ends itself, if the test does not end it before


def line_of(mark):
    """The line that is marked so."""
    for number, text in enumerate(SOURCE.read_text().splitlines(), 1):
        if f"/* here: {mark} */" in text:
            return number
    raise AssertionError(f"no line is marked {mark}")


class Hanging:
    """A job that hangs in one of the ways, measured, until the end of the block."""

    def __init__(self, mpi, ranks, way, starter=()):
        self.directory = tempfile.TemporaryDirectory(prefix="culprit-stuck-")
        self.run = pathlib.Path(self.directory.name) / "run"
        program = harness.PROGRAMS / f"hangs.{mpi}"
        command = [*harness.LAUNCHERS[mpi], "-n", ranks, harness.HPCRUN, "-o", self.run, *starter, program, way, LIFE]
        self.job = subprocess.Popen(
            [str(word) for word in command], env=harness.ENVIRONMENT, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.ranks = ranks

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self.directory.cleanup()

    def processes(self):
        """Of the program: rank to process id."""
        found = {}
        for row in self.look()["waiting"] + self.look()["moving"]:
            found[row["rank"]] = int(row["process"].rpartition(":")[2])
        return found

    def kill(self):
        """Ends the job as a batch system does."""
        if self.job.poll() is None:
            os.killpg(self.job.pid, signal.SIGKILL)
        self.job.wait()
        # MPICH's ranks are in groups of their own, and see their launcher's end only at their next look.
        for stat in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = stat.read_bytes().split(b"\0")
                if str(self.run).encode() in (stat.parent / "environ").read_bytes() and b"hangs." in words[0]:
                    os.kill(int(stat.parent.name), signal.SIGKILL)
            except (OSError, ProcessLookupError):
                pass

    def look(self, *options, host=()):
        done = harness.run([*host, harness.VIEWER, self.run, "stuck", "--format", "json", *options], expect=None)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def when(self, wanted, *options, seconds=200, host=()):
        """The first look of which `wanted` holds: a program needs a while to get to where it hangs. `host`: a command that runs
        others on another host, for which this one's files are those of a file system that both have."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = self.look(*options, host=host)
            if found and wanted(found):
                return found
            time.sleep(0.2)
        raise AssertionError(f"never seen; at last: {json.dumps(found, indent=1)}")

    def text(self):
        return harness.run([harness.VIEWER, self.run, "stuck"]).stdout


def is_alive(pid):
    """Zombies are not."""
    try:
        stat = pathlib.Path("/proc", str(pid), "stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def is_stuck(found):
    return found["stuck"]


def all_wait(ranks, seconds=0):
    """That it is stuck and all have waited for longer than that by the sampler's clock: so their paths are of these calls."""
    return lambda found: (
        found["stuck"] and len(found["waiting"]) == ranks and all(row["since_s"] > seconds for row in found["waiting"])
    )


def has(kind, *words):
    """That there is a problem of the kind, with these words: places are in it once a sample was taken."""
    return lambda found: any(
        each["kind"] == kind and all(word in each["text"] for word in words) for each in found["problems"]
    )


def kinds(found):
    return [problem["kind"] for problem in found["problems"]]


def problem(found, kind):
    return next(problem for problem in found["problems"] if problem["kind"] == kind)


def waiting(found, rank):
    return next(row for row in found["waiting"] if row["rank"] == rank)


def lines(row):
    """Of the frames of a path in the program."""
    return [frame["line"] for frame in row["path"] if frame["file"].endswith("hangs.c")]


class Stuck(unittest.TestCase):
    mpi = None

    def hanging(self, ranks, way, **options):
        return Hanging(self.mpi, ranks, way, **options)

    def assert_at(self, row, call, mark):
        self.assertEqual(row["call"], call, row)
        self.assertIn(line_of(mark), lines(row), row)

    def test_ring_of_sends(self):
        ranks = 16 if harness.THOROUGH else 3
        with self.hanging(ranks, "ring") as job:
            found = job.when(all_wait(ranks))
            self.assertEqual(kinds(found), ["deadlock"])
            self.assertEqual(found["problems"][0]["ranks"], list(range(ranks)))
            self.assertIn("ring of blocking sends", found["problems"][0]["text"])
            self.assertIn(f"hangs.c:{line_of('ring')}", found["problems"][0]["text"])
            for rank in range(ranks):
                self.assert_at(waiting(found, rank), "MPI_Send", "ring")
                self.assertEqual(waiting(found, rank)["for"], [(rank + 1) % ranks])
            self.assertIn("0 → 1 → 2 →", job.text())
            job.when(all_wait(ranks, 3))  # of a killed job only waits of two seconds count
            job.kill()
            found = job.when(is_stuck)
            self.assertEqual(kinds(found), ["deadlock"])
            for rank in range(ranks):
                self.assert_at(waiting(found, rank), "MPI_Send", "ring")
                self.assertGreater(waiting(found, rank)["since_s"], 2)
            report = harness.run([harness.VIEWER, job.run, "report"], expect=None).stdout
            self.assertTrue(report.startswith("Stuck: a deadlock of ranks 0-"), report)

    def test_killed_launcher(self):
        """Open MPI's ranks then end themselves, from within or beside the call that they wait in."""
        with self.hanging(3, "ring") as job:
            job.when(all_wait(3, 3))
            processes = job.processes().values()
            os.kill(job.job.pid, signal.SIGKILL)
            job.job.wait()
            job.when(lambda _: not any(is_alive(pid) for pid in processes))
            found = job.look()
            self.assertEqual(kinds(found), ["deadlock"])
            for rank in range(3):
                self.assert_at(waiting(found, rank), "MPI_Send", "ring")
                self.assertGreater(waiting(found, rank)["since_s"], 2)
            text = " ".join(job.text().split())
            how = "all ranks ended without MPI_Finalize, as when the launcher dies" if self.mpi == "openmpi" else "the job ended"
            self.assertTrue(text.startswith(f"Stuck: a deadlock of ranks 0-2, when {how}."), text)
            report = " ".join(harness.run([harness.VIEWER, job.run, "report"], expect=None).stdout.split())
            self.assertTrue(report.startswith("Stuck: a deadlock of ranks 0-2"), report)
            if self.mpi == "openmpi":
                self.assertIn("all ranks ended without MPI_Finalize", report)

    def test_missing_barrier(self):
        with self.hanging(4, "barrier") as job:
            found = job.when(all_wait(4))
            missing = problem(found, "missing-in-collective")
            self.assertEqual(missing["ranks"], [3])
            self.assertIn(f"MPI_Recv (wait_for_first at hangs.c:{line_of('missing')})", missing["text"])
            self.assertEqual(problem(found, "deadlock")["ranks"], [0, 3])
            for rank in range(3):
                self.assert_at(waiting(found, rank), "MPI_Barrier", "barrier")
                self.assertEqual(waiting(found, rank)["for"], [3])
            self.assert_at(waiting(found, 3), "MPI_Recv", "missing")

    def test_missing_in_part(self):
        with self.hanging(4, "part") as job:
            found = job.when(all_wait(4))
            missing = problem(found, "missing-in-collective")
            self.assertEqual(missing["ranks"], [3])
            self.assertIn("a communicator of ranks 1-3", missing["text"])
            self.assert_at(waiting(found, 1), "MPI_Allreduce", "part")
            self.assertEqual(waiting(found, 1)["for"], [3])

    def test_mismatched_tag(self):
        with self.hanging(2, "tag") as job:
            found = job.when(all_wait(2))
            alone = problem(found, "no-partner")
            self.assertEqual(alone["ranks"], [0, 1])
            self.assertRegex(alone["text"], r"rank 1 waits in MPI_Recv.* with tag 6 from rank 0; rank 0 sent one with tag 5")
            self.assert_at(waiting(found, 1), "MPI_Recv", "tag")

    def test_mismatched_communicator(self):
        with self.hanging(2, "communicator") as job:
            found = job.when(all_wait(2))
            self.assertRegex(problem(found, "no-partner")["text"],
                             r"sent one with tag 5 on a communicator of ranks 0, 1 instead of on MPI_COMM_WORLD")
            self.assert_at(waiting(found, 1), "MPI_Recv", "communicator")

    def test_mismatched_requests(self):
        with self.hanging(2, "requests") as job:
            found = job.when(all_wait(2))
            self.assertIn("deadlock", kinds(found))
            self.assertEqual(problem(found, "deadlock")["ranks"], [0, 1])
            self.assertRegex(problem(found, "no-partner")["text"], r"with tag 5 from rank 1; rank 1 sent one with tag 6")
            for rank in range(2):
                self.assert_at(waiting(found, rank), "MPI_Waitall", "requests")
                self.assertEqual(waiting(found, rank)["for"], [1 - rank])

    def test_partly_sent(self):
        with self.hanging(2, "partly") as job:
            found = job.when(has("deadlock", f"hangs.c:{line_of('two for one')}"))
            self.assertEqual(problem(found, "deadlock")["ranks"], [0, 1])

    def test_posted_in_vain(self):
        for way, mark in (("posted-in-vain", "posted"), ("started-in-vain", "started")):
            with self.subTest(way), self.hanging(2, way) as job:
                found = job.when(lambda found: has("deadlock")(found) and all_wait(2)(found))
                self.assertEqual(problem(found, "deadlock")["ranks"], [0, 1])
                self.assert_at(waiting(found, 0), "MPI_Wait", mark)

    def test_sleeps(self):
        with self.hanging(3, "asleep") as job:
            found = job.when(is_stuck, "--after", "2")
            self.assertEqual((kinds(found), found["problems"][0]["ranks"]), (["not-moving"], [2]))
            self.assertIn(f"one_sleeps at hangs.c:{line_of('asleep')}", found["problems"][0]["text"])
            self.assertIn("it sleeps there", found["problems"][0]["text"])

    def test_no_call_since_the_start(self):
        with self.hanging(2, "input") as job:
            found = job.when(is_stuck, "--after", "2")
            self.assertEqual((kinds(found), found["problems"][0]["ranks"]), (["not-moving"], [0]))
            self.assertIn(f"read_input at hangs.c:{line_of('input')}", found["problems"][0]["text"])

    def test_behind_a_script(self):
        """Which ran long enough to have a measurement of its own, and went on as the program."""
        script = "import os, sys, time; time.sleep(1.5); os.execv(sys.argv[1], sys.argv[1:])"
        with self.hanging(2, "ring", starter=(sys.executable, "-c", script)) as job:
            found = job.when(has("deadlock", f"hangs.c:{line_of('ring')}"))
            self.assertEqual(problem(found, "deadlock")["ranks"], [0, 1])

    def test_polls(self):
        with self.hanging(2, "polls") as job:
            found = job.when(lambda found: any(row["rank"] == 1 and row["since_s"] > 0 for row in found["waiting"]))
            self.assert_at(waiting(found, 1), "MPI_Test", "polls")
            self.assertEqual(waiting(found, 1)["for"], [0])

    def test_wrong_root(self):
        with self.hanging(4, "root") as job:
            found = job.when(has("mismatch", f"hangs.c:{line_of('root')}"))
            wrong = problem(found, "mismatch")
            self.assertEqual(wrong["ranks"], [2])
            self.assertIn("MPI_Gather with root 0", wrong["text"])
            self.assertIn("rank 2 MPI_Gather with root 1", wrong["text"])
            self.assert_at(waiting(found, 0), "MPI_Gather", "root")

    def test_different_calls(self):
        with self.hanging(3, "different") as job:
            found = job.when(has("mismatch"))
            wrong = problem(found, "mismatch")
            self.assertEqual(wrong["ranks"], [0])
            self.assertIn("rank 0 MPI_Barrier", wrong["text"])

    def test_lock_never_given_back(self):
        with self.hanging(3, "lock") as job:
            found = job.when(has("deadlock", f"hangs.c:{line_of('holder')}"))
            deadlock = problem(found, "deadlock")
            self.assertEqual(deadlock["ranks"], [1, 2])
            self.assertIn("for a lock that rank 1 holds", deadlock["text"])
            self.assertRegex(waiting(found, 2)["call"], r"MPI_(Win_lock|Win_unlock|Put)")
            self.assertEqual(waiting(found, 2)["for"], [1])
            self.assert_at(waiting(found, 1), "MPI_Recv", "holder")

    def test_epoch_never_posted(self):
        with self.hanging(2, "post") as job:
            found = job.when(has("deadlock", f"hangs.c:{line_of('post')}"))
            self.assertEqual(problem(found, "deadlock")["ranks"], [0, 1])
            self.assertIn("MPI_Win_post on rank 1", problem(found, "deadlock")["text"])
            self.assertRegex(waiting(found, 0)["call"], r"MPI_Win_(start|complete)")
            self.assertEqual(waiting(found, 0)["for"], [1])
            self.assert_at(waiting(found, 1), "MPI_Barrier", "post")

    def test_thread_deadlock(self):
        with self.hanging(2, "threads") as job:
            places = [f"lock_{way} at hangs.c:{line_of(way)}" for way in ("forwards", "backwards")]
            found = job.when(has("thread-deadlock", *places))
            self.assertEqual(problem(found, "thread-deadlock")["ranks"], [1])

    def test_endless_loop(self):
        with self.hanging(3, "loop") as job:
            found = job.when(is_stuck, "--after", "2")
            self.assertEqual(kinds(found), ["not-moving"])
            self.assertEqual(found["problems"][0]["ranks"], [2])
            self.assertIn(f"is in endless_loop at hangs.c:{line_of('loop')}", found["problems"][0]["text"])
            self.assert_at(waiting(found, 0), "MPI_Allreduce", "others")
            self.assertEqual(waiting(found, 0)["for"], [2])

    def test_stopped_process(self):
        with self.hanging(3, "stopped") as job:
            found = job.when(is_stuck)
            self.assertEqual(kinds(found)[0], "not-moving")
            self.assertEqual(found["problems"][0]["ranks"], [2])
            self.assertIn("is stopped by a signal", found["problems"][0]["text"])
            self.assertIn(f"in work at hangs.c:{line_of('work')}", found["problems"][0]["text"])

    def test_stopped_on_another_host(self):
        """There only the heartbeats tell: those of the ranks that wait go on."""
        host = ["unshare", *([] if os.getuid() == 0 else ["--map-root-user"]), "--uts", "--pid", "--fork", "--mount-proc",
                "sh", "-c", 'hostname elsewhere && exec "$@"', "sh"]  # fmt: skip
        if subprocess.run([*host, "true"], capture_output=True).returncode != 0:
            self.skipTest("this machine does not let us make a host up")
        with self.hanging(3, "stopped") as job:
            silent = has("not-moving", "no sign of life")  # of others, too, while they lack a processor
            found = job.when(lambda found: silent(found) and found["problems"][0]["ranks"] == [2], host=host)
            self.assertIn("it is stopped or dead, or its host does not answer", found["problems"][0]["text"])
            self.assertIn(f"in work at hangs.c:{line_of('work')}", found["problems"][0]["text"])
            for rank in (0, 1):
                self.assert_at(waiting(found, rank), "MPI_Barrier", "barrier of the others")
                self.assertEqual(waiting(found, rank)["for"], [2])

    def test_moving(self):
        for way, looks in (("slow", 4), ("pipeline", 4), ("polling", 4), ("posted", 8), ("posted-after", 8), ("started", 8)):
            with self.subTest(way), self.hanging(3, way) as job:
                job.when(lambda found: found["waiting"] or found["moving"])
                for _ in range(looks):
                    found = job.look()
                    self.assertFalse(found["stuck"], found)
                self.assertTrue(job.text().startswith("Not stuck"), job.text())


class StuckOpenMpi(Stuck):
    mpi = "openmpi"


class StuckMpich(Stuck):
    mpi = "mpich"


class NoJob(unittest.TestCase):
    def test_no_directory(self):
        done = harness.run([harness.VIEWER, "no-such-directory", "stuck"], expect=1)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"^viewer-cli: stuck: no-such-directory: does not exist \(.*\)\n$")

    def test_unreadable(self):
        with tempfile.TemporaryDirectory() as directory:
            pathlib.Path(directory, "rank-000000-a-1-1.culprit").write_bytes(b"garbage" * 1000)
            done = harness.run([harness.VIEWER, directory, "stuck", "--format", "json"], expect=1)
            found = json.loads(done.stdout)
            self.assertEqual(found["verdict"]["kind"], "unknown")
            self.assertIn("No measurement of the job could be read", found["verdict"]["text"])
            self.assertIn("rank-000000-a-1-1.culprit", done.stderr)

    def test_unwanted(self):
        harness.run([harness.VIEWER, "x", "stuck", "--after", "-1"], expect=2)
        harness.run([harness.VIEWER, "x", "stuck", "--format", "csv"], expect=2)
        harness.run([harness.VIEWER, "x", "info", "--after", "1"], expect=2)


# Each way under one of the MPIs, to keep ./dev test short; ./dev test --thorough tries both.
ways = [name for name in vars(Stuck) if name.startswith("test_") and name != "test_killed_launcher"]
for number, name in enumerate(ways if not harness.THOROUGH else []):
    setattr((StuckOpenMpi, StuckMpich)[number % 2], name, None)
del Stuck  # runs as the classes made of it

if __name__ == "__main__":
    unittest.main()
