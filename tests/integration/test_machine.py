"""The machine as a suspect (docs/algorithms.md 5.6): each kind is really brought about and named before any
code. Other programs may run beside the test: what must not be claimed is judged by what the kernel says that they used."""

import contextlib
import os
import pathlib
import re
import resource
import subprocess
import time
import unittest

import harness

ONLINE = os.cpu_count()
# As many as the test may use; the tests with sets of processors need two.
ALLOWED = sorted(os.sched_getaffinity(0))
QUIET = 0.1  # processors that other programs used: no more is a quiet machine
PARTS = 40
PART_SECONDS = 0.02  # of CPU time, on a processor that does nothing else
OWN_PROCESSOR = 'n=${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-$PMI_RANK}}; exec taskset -c $n "$@"'


def idle_seconds():
    fields = pathlib.Path("/proc/stat").read_text().split("\n")[0].split()
    return (int(fields[4]) + int(fields[5])) / os.sysconf("SC_CLK_TCK")


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Load:
    """What the host's processors did during a block: `idle` and `others`, in processors."""

    def __enter__(self):
        self.begin = time.monotonic(), idle_seconds(), children_seconds()
        return self

    def __exit__(self, *_):
        seconds = time.monotonic() - self.begin[0]
        self.idle = (idle_seconds() - self.begin[1]) / seconds
        self.others = ONLINE - self.idle - (children_seconds() - self.begin[2]) / seconds

    def __str__(self):
        return f"idle {self.idle:.2f}, others {self.others:.2f} processors"


@contextlib.contextmanager
def neighbour(processor):
    """A program that only uses its processor."""
    spinning = subprocess.Popen(["taskset", "-c", str(processor), harness.PROGRAMS / "spin", "600"], stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        spinning.kill()
        spinning.wait()


class ControlGroup:
    """A control group with a quota of thousandths of a processor; version 1 or 2. OSError: none can be made."""

    def __init__(self, thousandths):
        one = pathlib.Path("/sys/fs/cgroup/cpu")
        two = pathlib.Path("/sys/fs/cgroup")
        name = f"culprit-test-{os.getpid()}-{time.monotonic_ns()}"
        self.path = (one if (one / "cpu.cfs_quota_us").exists() or (one / "tasks").exists() else two) / name
        self.path.mkdir()
        try:
            if self.path.parent == one:
                (self.path / "cpu.cfs_period_us").write_text("100000")
                (self.path / "cpu.cfs_quota_us").write_text(str(thousandths * 100))
            else:
                (self.path / "cpu.max").write_text(f"{thousandths * 100} 100000")
        except OSError:
            self.remove()
            raise

    def remove(self):
        for _ in range(50):  # its last processes are just ending
            with contextlib.suppress(OSError):
                self.path.rmdir()
                return
            time.sleep(0.1)

    def command(self, command):
        return ["sh", "-c", f'echo $$ > {self.path}/cgroup.procs && exec "$@"', "sh", *command]


def under(one):
    """What the kernel says of the ranks is the same under each MPI."""

    def decorator(test):
        def under_all(self):
            for mpi in harness.mpis(one):
                with self.subTest(mpi=mpi):
                    test(self, mpi)

        return under_all

    return decorator


class Machine(harness.Workspace):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        speed = float(harness.run([harness.PROGRAMS / "fixed_work.openmpi", "speed"]).stdout)
        cls.millions = max(1, round(PART_SECONDS * speed))

    def look(self, mpi, ranks, *arguments, before=(), around=lambda command: command):
        """Measures fixed_work, with `before` before the launcher of the sampler; sets report, text and load."""
        directory = self.here / f"run-{mpi}"
        program = harness.PROGRAMS / f"fixed_work.{mpi}"
        command = [*harness.LAUNCHERS[mpi], "-n", ranks, *before, harness.HPCRUN, "-o", directory, program, *arguments]
        with Load() as self.load:
            harness.run(around(command), cwd=self.here, timeout=600)
        self.database = self.merge(directory)
        self.report = harness.viewer_json(self.database, "report")
        self.text = harness.run([harness.VIEWER, self.database, "report"]).stdout
        self.machine = self.report["machine"]
        self.reported = f"{self.machine}\n{self.load}\n{self.text}"
        for suspect in self.machine:
            self.assertIn(suspect["kind"], ("oversubscribed", "bound-together", "quota", "slow"))
            self.assertEqual(len(suspect["hosts"]), 1)
            self.assertLessEqual(suspect["explains_s"], self.report["idle_s"] * 1.001)

    def assert_first(self, kind, *words, ranks, by_others=False):
        """The verdict, the first suspect, and the report's first sentence behind the verdict."""
        self.assertTrue(self.machine, self.reported)
        first = self.machine[0]
        self.assertEqual((first["kind"], first["by_others"]), (kind, by_others), self.reported)
        self.assertLessEqual(set(ranks), set(first["ranks"]), self.reported)
        self.assertEqual(self.report["verdict"]["kind"], "starved", self.reported)
        sentence = " ".join(self.text.split("\n\n")[1].split())
        self.assertTrue(sentence.startswith("The machine is the first suspect: on host "), self.reported)
        for word in words:
            self.assertIn(word, sentence)

    def assert_none(self):
        """Nothing is claimed, unless other programs really were in the way."""
        if self.load.others < QUIET:
            self.assertEqual(self.machine, [], self.reported)
        for suspect in self.machine:
            self.assertTrue(suspect["by_others"], self.reported)

    @under("openmpi")
    def test_more_ranks_than_processors(self, mpi):
        self.look(mpi, 4 * ONLINE, PARTS // 2, self.millions, "even")
        ranks = range(4 * ONLINE)
        self.assert_first("oversubscribed", f"ranks 0-{4 * ONLINE - 1} share {ONLINE} processors", ranks=ranks)

    @under("mpich")
    def test_uneven_code_on_too_few_processors(self, mpi):
        """Both are named, the machine first."""
        self.look(mpi, 3 * ONLINE, PARTS // 2, self.millions, "uneven")
        self.assert_first("oversubscribed", ranks=[0])
        after = re.split("% of the run is waiting|Waiting takes ", self.text)[1]
        self.assertIn("extra_work", after, self.reported)

    @unittest.skipIf(len(ALLOWED) < 2, "one processor: there is no other one to be free")
    @under("mpich")
    def test_bound_to_one_processor(self, mpi):
        self.look(mpi, 2, PARTS, self.millions, "even", before=["taskset", "-c", ALLOWED[0]])
        free = self.load.idle >= 0.7
        if not free and self.load.idle > 0.3:
            return  # neither clearly so nor clearly not
        kind, words = ("bound-together", "are bound to the same 1 processor") if free else ("oversubscribed", "may use only 1 of the")
        self.assert_first(kind, "ranks 0, 1", words, "bind", ranks=[0, 1])

    @unittest.skipIf(ALLOWED[:2] != [0, 1], "processors 0 and 1 are not both to be had")
    @under("openmpi")
    def test_processors_of_their_own(self, mpi):
        self.look(mpi, 2, PARTS, self.millions, "uneven", before=["sh", "-c", OWN_PROCESSOR, "sh"])
        self.assert_none()

    @unittest.skipIf(ALLOWED[:2] != [0, 1], "processors 0 and 1 are not both to be had")
    @under("openmpi")
    def test_busy_neighbour(self, mpi):
        with neighbour(0):
            self.look(mpi, 2, PARTS, self.millions, "even", before=["sh", "-c", OWN_PROCESSOR, "sh"])
        self.assert_first("oversubscribed", "programs that were not measured", ranks=[0], by_others=True)

    @under("openmpi")
    def test_quota(self, mpi):
        try:
            group = ControlGroup(200)
        except OSError as why:
            self.skipTest(f"no control group with a quota can be made: {why}")
        self.addCleanup(group.remove)
        self.look(mpi, 2, PARTS // 4, self.millions, "even", around=group.command)
        for thread in harness.viewer_json(self.database, "info")["schedules"]:
            self.assertEqual(thread["quota"], 0.2)
            self.assertGreater(thread["throttled_s"], 0)
        if self.load.others > 0.5 and self.machine and self.machine[0]["by_others"]:
            self.skipTest(f"other programs left no more than the quota: {self.load}")
        self.assert_first("quota", "limit of 0.2 processors stops ranks 0, 1", ranks=[0, 1])

    @unittest.skipIf(len(ALLOWED) < 2, "one processor: two ranks are too many")
    @under("mpich")
    def test_sleep_is_not_the_machine(self, mpi):
        self.look(mpi, 2, PARTS, self.millions, "sleep")
        self.assert_none()

    def test_processor_lost_at_calls_of_the_kernel(self):
        """The CPU time is that of what computes, not of what was called as the processor went to others."""
        command = [harness.HPCRUN, "-o", self.here / "run", harness.PROGRAMS / "clock_reader", "1.5"]
        harness.launch("openmpi", 2 * len(ALLOWED), command)
        self.assert_computed_in("compute")

    def test_short_work_between_sleeps(self):
        """The CPU time is that of what computes, not of the barrier that samples meet the thread at."""
        harness.run([harness.HPCRUN, "-o", self.here / "run", harness.PROGRAMS / "short_work", "400"])
        self.assert_computed_in("compute")

    def assert_computed_in(self, name):
        view = harness.viewer_json(self.merge(self.here / "run"), "view", "calling-context", "--metrics", "CPU:sum (I)")
        for root in view["roots"]:
            computed = sum(node["values"].get("CPU:sum (I)", 0) for node in harness.walk([root]) if node["frame"]["name"].startswith(name))
            self.assertGreater(computed, 0.9 * root["values"]["CPU:sum (I)"], root["frame"]["name"])

    def behind_start(self, directory):
        """The report on a copy of what is measured, from when on most of it is behind MPI_Init."""
        for number in range(60):
            time.sleep(4)
            if len(list(directory.rglob("*.culprit"))) < 4 * ONLINE:
                continue
            copy = self.here / f"copy-{number}"
            harness.run(["cp", "-r", directory, copy])
            harness.run([harness.PROF_MPI, copy], expect=3)
            report = harness.viewer_json(copy.with_name(copy.name + ".db"), "report")
            if report["verdict"]["losses"]["startup_s"] < 0.4 * report["total_s"]:
                return report
        self.fail("MPI_Init takes minutes")

    def test_killed(self):
        """What is known is in the file while the program runs, whatever MPI it uses."""
        mpi, directory = "openmpi", self.here / "killed"
        program = harness.PROGRAMS / f"fixed_work.{mpi}"
        command = [*harness.LAUNCHERS[mpi], "-n", 4 * ONLINE, harness.HPCRUN, "-o", directory, program, 100000, self.millions, "even"]
        with subprocess.Popen([str(word) for word in command], env=harness.ENVIRONMENT, cwd=self.here,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:  # fmt: skip
            try:
                report = self.behind_start(directory)
            finally:
                running.terminate()
        self.assertTrue(report["machine"], report)
        self.assertEqual(report["machine"][0]["kind"], "oversubscribed", report)


if __name__ == "__main__":
    unittest.main()
