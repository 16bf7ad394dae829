"""Runs the built tools on real programs; shared by the end-to-end tests.

The tools are taken from CULPRIT_PREFIX (an installed prefix, which the `prefix` fixture of CMakeLists.txt makes), the
test programs from CULPRIT_PROGRAMS.
"""

import atexit
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import zlib

PREFIX = pathlib.Path(os.environ["CULPRIT_PREFIX"])
PROGRAMS = pathlib.Path(os.environ["CULPRIT_PROGRAMS"])
TRUTH = pathlib.Path(__file__).resolve().parent.parent / "truth"
HPCRUN = PREFIX / "bin" / "hpcrun-lite"
PROF_MPI = PREFIX / "bin" / "prof-mpi"
VIEWER = PREFIX / "bin" / "viewer-cli"

LAUNCHERS = {
    "openmpi": ["mpirun.openmpi", "--oversubscribe"],
    "mpich": ["mpiexec.mpich"],
}

ENVIRONMENT = dict(
    os.environ,
    OMPI_ALLOW_RUN_AS_ROOT="1",
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    # Containers may forbid processes to copy from each other. Open MPI's default component for windows, rdma, needs
    # that, and cannot make windows of existing memory without; these two can make all, everywhere.
    OMPI_MCA_btl_vader_single_copy_mechanism="none",
    OMPI_MCA_osc="sm,pt2pt",
    LC_ALL="C.UTF-8",
    # Structure that other runs of the tests, or their user, cached is not to be seen.
    XDG_CACHE_HOME=tempfile.mkdtemp(prefix="culprit-test-cache-"),
)
atexit.register(shutil.rmtree, ENVIRONMENT["XDG_CACHE_HOME"], ignore_errors=True)
ENVIRONMENT.pop("DISPLAY", None)

# ./dev test --thorough sets it: then tests try each of many alike cases. Without it they try some of these.
THOROUGH = "CULPRIT_THOROUGH" in os.environ

# Where a program's own log shows that a thread lost its processor in a quantity that differs, that is measured again: at
# most so often, and in a run of all tests at most BUDGET times. Then the machine lets nothing be compared, and the test says so
# and is skipped. The fixture `prefix` empties the list of both; ./dev test prints it.
MEASUREMENTS = 4
BUDGET = 10
REPEATED = pathlib.Path(os.environ.get("CULPRIT_REPEATED", "repeated_measurements.txt"))


class LostProcessor(AssertionError):
    """A quantity differs from what the program's own clock says, and its log shows that the thread lost its processor in it."""


class WrongExit(Exception):
    """A command ended otherwise than it should."""


def run(command, timeout=600, expect=0, **options):
    """Runs a command to its end; fails the test with all it printed unless it exits with `expect` (None: any)."""
    options.setdefault("env", ENVIRONMENT)
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=timeout, errors="replace", **options
    )
    if expect is not None and done.returncode != expect:
        raise WrongExit(
            f"exit {done.returncode}, expected {expect}: {' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
        )
    return done


def launch(mpi, ranks, command, **options):
    """Runs `command` on `ranks` ranks under one of LAUNCHERS."""
    return run([*LAUNCHERS[mpi], "-n", ranks, *command], **options)


def viewer_json(database, *arguments):
    """What viewer-cli prints with --format json."""
    return json.loads(run([VIEWER, database, *arguments, "--format", "json"]).stdout)


def idle_share(report):
    """Of the time behind MPI_Init and before MPI_Finalize: how long these take, the machine says."""
    return report["idle_s"] / (report["total_s"] - report["verdict"]["losses"]["startup_s"])


def names(path):
    """The frame names of a JSON call path."""
    return [frame["name"] for frame in path]


def walk(nodes):
    """All nodes of a JSON view, parents first."""
    for node in nodes:
        yield node
        yield from walk(node["children"])


def mpis(one):
    """The MPIs under which to try what is the same under each: this one; where THOROUGH, all."""
    return list(LAUNCHERS) if THOROUGH else [one]


thorough = unittest.skipUnless(THOROUGH, "one of several alike: ./dev test --thorough does them all")


class UnderBothMpis:
    """Runs check(mpi) of a test under each MPI."""

    def test_openmpi(self):
        self.check("openmpi")

    def test_mpich(self):
        self.check("mpich")


class Workspace(unittest.TestCase):
    """A test with a directory of its own (`self.here`), kept when CULPRIT_KEEP is set."""

    twins = True  # of tests whose names differ by the MPI alone one is run, where THOROUGH both. False: always both

    def setUp(self):
        self.skip_where_a_twin_runs()
        self.here = pathlib.Path(tempfile.mkdtemp(prefix="culprit-test-"))
        if "CULPRIT_KEEP" not in os.environ:
            self.addCleanup(shutil.rmtree, self.here, ignore_errors=True)

    def skip_where_a_twin_runs(self):
        words = self._testMethodName.split("_")
        own = next((mpi for mpi in LAUNCHERS if mpi in words), None)
        if THOROUGH or not self.twins or own is None:
            return
        both = [getattr(self, self._testMethodName.replace(own, mpi), None) for mpi in LAUNCHERS]
        if any(twin is None or getattr(twin, "__unittest_skip__", False) for twin in both):
            return
        of_both = f"{type(self).__name__}.{self._testMethodName.replace(own, '')}"
        if own != list(LAUNCHERS)[zlib.crc32(of_both.encode()) % len(LAUNCHERS)]:
            self.skipTest("its twin is run under the other MPI: ./dev test --thorough runs both")

    def measure(self, mpi, ranks, program, *arguments, name="run", options=(), **run_options):
        """Measures `program` under MPI and returns the measurement directory."""
        directory = self.here / name
        launch(mpi, ranks, [HPCRUN, "-o", directory, *options, program, *arguments], cwd=self.here, **run_options)
        return directory

    def merge(self, directory, *options, expect=0):
        """Merges with prof-mpi without a launcher and returns the database."""
        run([PROF_MPI, directory, *options], expect=expect)
        return directory.with_name(directory.name + ".db")

    def assert_one_line(self, text, *parts):
        """An error is one line that holds all of `parts`."""
        lines = [line for line in text.splitlines() if line.strip()]
        self.assertEqual(len(lines), 1, text)
        for part in parts:
            self.assertIn(part, lines[0])

    def assert_time(self, found, low, high, calls, reported=""):
        """One quantity, in seconds, against the program's own clock; `calls` of its log are those that it is made of."""
        if low <= found <= high:
            return
        reported = f"{found:.4f} s is not from {low:.4f} to {high:.4f} s: {reported}"
        lost = sum(call.preempted for call in calls)
        if lost:
            raise LostProcessor(f"{reported}; {lost} of {len(calls)} calls lost their processor")
        self.fail(reported)

    def against_clock(self, measure, compare):
        """Measures in a directory of its own (`self.here`) and compares; measures again for LostProcessor only, and skips the
        test when the machine goes on to take the processor away."""
        whole, number = self.here, 0
        while True:
            number += 1
            self.here = whole / f"measurement-{number}"
            self.here.mkdir()
            measure()
            try:
                return compare()
            except LostProcessor as lost:
                repeated = REPEATED.read_text().splitlines() if REPEATED.exists() else []
                ended = number == MEASUREMENTS or len(repeated) >= BUDGET
                again = "not compared" if ended else f"{len(repeated) + 1} of {BUDGET}"
                reported = f"{again}: {self.id()}: {' '.join(str(lost).split())}"
                with REPEATED.open("a") as file:
                    file.write(f"{reported}\n")
                if ended:
                    self.skipTest(reported)
