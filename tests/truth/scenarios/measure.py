"""A generated program, compiled and measured: `Measurement(directory, program, trace, hz)`; what the tools say of it.

A directory holds program.c, program, libpatience.so, the logs truth-*.log and the measurement `run`. What is there is not made
again, so that other tools can be tried on the same measurement.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import as_c  # noqa: E402
import truth  # noqa: E402

ENVIRONMENT = dict(
    os.environ,
    OMPI_ALLOW_RUN_AS_ROOT="1",
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    OMPI_MCA_btl_vader_single_copy_mechanism="none",  # as tests/integration/harness.py
    OMPI_MCA_osc="sm,pt2pt",
    LC_ALL="C.UTF-8",
)
LAUNCHERS = {"openmpi": ["mpirun.openmpi", "--oversubscribe"], "mpich": ["mpiexec.mpich"]}
FLAGS = ["-O2", "-g", "-Wall", "-Wextra", "-Wno-stringop-overflow"]
LONGEST = 240  # seconds


class ToolFailed(Exception):
    """A compiler, a program or a tool ended otherwise than it should."""


def run(command, expect=(0,), environment=None, **options):
    command = [str(word) for word in command]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=LONGEST,
            env={**ENVIRONMENT, **(environment or {})},
            stdin=subprocess.DEVNULL, **options,
        )
    except subprocess.TimeoutExpired as late:
        raise ToolFailed(f"{' '.join(command)}: still running after {LONGEST} s") from late
    if done.returncode not in expect:
        raise ToolFailed(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


class Measurement:
    def __init__(self, directory, program, tools, trace=False, hz=200):
        self.directory, self.program, self.tools = pathlib.Path(directory), program, pathlib.Path(tools)
        self.options = ["-q", "-e", f"REALTIME@f{hz}", *(["--trace"] if trace else [])]
        self.measured = self.directory / "run"
        # A thread that uses less than 100 us of a processor between two samples of one place is parked, as one that waits.
        self.burn = ["-DBURN_LOOPS=40000"] if hz > 400 else []
        self.openmp = ["-fopenmp"] if program.threads else []
        self.environment = {"OMP_WAIT_POLICY": "passive", "OMPI_CC": program.compiler, "MPICH_CC": program.compiler}

    def make(self):
        """Compiles and measures, unless that was done for the same program."""
        source, text = self.directory / "program.c", as_c.text_of(self.program)
        if not (self.directory / "done").exists() or source.read_text() != text:
            shutil.rmtree(self.directory, ignore_errors=True)
            self.directory.mkdir(parents=True)
            source.write_text(text)
            self.compile(source)
            launcher = [*LAUNCHERS[self.program.mpi], "-n", self.program.ranks]
            hpcrun = [self.tools / "bin" / "hpcrun-lite", *self.options, "-o", self.measured]
            run([*launcher, *hpcrun, self.directory / "program", self.directory], cwd=self.directory, environment=self.environment)
            (self.directory / "done").touch()
        return self

    def compile(self, source):
        patience = self.directory / "libpatience.so"
        run(["cc", "-O2", "-shared", "-fPIC", "-o", patience, HERE / "patience.c", "-ldl"])
        compiler = f"mpicc.{self.program.mpi}"
        where = [f"-I{HERE}", f"-I{HERE.parent}", f"-L{self.directory}", f"-Wl,-rpath,{self.directory}"]
        parts = [source, HERE.parent / "truth_log.c", "-Wl,--no-as-needed", "-lpatience"]
        command = [compiler, *FLAGS, *self.openmp, *self.burn, *where, "-o", self.directory / "program", *parts, "-pthread"]
        run(command, environment=self.environment)

    def logs(self):
        return truth.read(self.directory)

    def merge(self, balance="noise-aware"):
        """The database, made by these tools."""
        database = self.directory / f"{balance}.db"
        prof_mpi = [self.tools / "bin" / "prof-mpi", "-q", "--force", "--balance", balance]
        run([*prof_mpi, "-o", database, self.measured], expect=(0, 3))
        return database

    def view(self, database, *words):
        return json.loads(run([self.tools / "bin" / "viewer-cli", database, *words, "--format", "json"]))
