#!/usr/bin/env python3
"""same_bytes.py HOST_BUILD ARM64_BUILD DIRECTORY: whether the tools of both processors make the same databases, on one rank and
on two, and show the same, byte for byte: of what measure.py measured in DIRECTORY under the emulator, and of what is measured here."""

import filecmp
import os
import pathlib
import shutil
import subprocess
import sys

from measure import EMULATED, HERE, MPI_ENVIRONMENT, mpis

TESTS = HERE.parent

# Name, compiler, its last words, in tests; ranks, options of hpcrun-lite, arguments of the program
LOG = "truth/truth_log.c -lm"
MEASURED_HERE = (
    ("sampled", "mpicc.openmpi", "emulated/programs/ranks.c", 3, (), ()),
    ("every-operation", "mpicc.openmpi", "apps/every_operation.c", 4, ("--trace",), (".",)),
    ("collectives", "mpicc.openmpi", f"truth/collectives.c {LOG}", 4, ("--trace",), (".", "3", "10")),
    ("active-target", "mpicc.openmpi", f"truth/active_target.c {LOG}", 4, ("--trace",), (".", "3", "10")),
    ("threads", "mpicxx.openmpi", "-std=c++20 -fopenmp apps/threads.cpp", 2, ("--trace",), ("5",)),
)
# Of prof-mpi. Two of MPICH 4.0 wait for each other in MPI_Finalize in one run of ten under the emulator: one closes its connections of UCX,
# and the other no longer answers.
RANKS = {"openmpi": 2, "mpich": 1}
SHOWN = (
    "report",
    "report --format json",
    *(f"{command} --format json" for command in ("info", "efficiency", "blame", "suspects", "waits", "causes", "critical-path", "hotspots",
                                                 "variation", "communication", "hot-path")),
    "view calling-context --format csv",
    "view callers --format csv --depth 6",
    "view flat --format json",
    "export json",
    "export html",
    "export pprof",
    "export perfetto",
)


def run(*command, good=(0,), **options):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, **options)
    if done.returncode not in good:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout.decode(errors='replace')}")
    return done.stdout


class Tools:
    """Those of one processor, run where the libraries of both are. Each keeps structure that it recovered itself."""

    def __init__(self, build, where, launchers, **environment):
        self.bin, self.where, self.launchers = build / "bin", where, launchers
        self.environment = os.environ | environment
        where.mkdir()

    def merge(self, measurement):
        """The databases made without a launcher and under each MPI."""
        for mpi, launch in (("alone", ()), *self.launchers.items()):
            database = self.where / f"{measurement.stem}.{mpi}.db"
            started = (*launch, "-n", RANKS[mpi], self.bin / "prof-mpi") if launch else (self.bin / "prof-mpi", "-j", "1")
            run(EMULATED, *started, "-q", "--structure-cache", self.where / "structure", "-o", database, measurement, good=(0, 3), env=self.environment)
            yield database

    def show(self, database, words):
        """Also what is said of a table that needs a trace where there is none."""
        return run(EMULATED, self.bin / "viewer-cli", database.name, *words.split(), good=(0, 1), cwd=self.where)


def measured_here(host, where):
    where.mkdir()
    for name, compiler, words, ranks, options, arguments in MEASURED_HERE:
        run(compiler, "-O2", "-g", "-w", "-o", where / name, *words.split(), cwd=TESTS)
        measure = (host / "bin/hpcrun-lite", *options, "-o", where / f"{name}.run")
        run("mpirun.openmpi", "--oversubscribe", "-n", ranks, *measure, where / name, *arguments, cwd=where)
        yield where / f"{name}.run"


def differences(measurement, here, there):
    first, *others = here.merge(measurement)
    own, *_ = databases = list(there.merge(measurement))
    for database in (*others, *databases):
        if not filecmp.cmp(first, database, shallow=False):
            yield str(database)
    for words in SHOWN:
        if here.show(first, words) != there.show(own, words):
            yield words


def main():
    host, target, where = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    own = where / "same-bytes"
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir()
    os.environ.update(MPI_ENVIRONMENT, LC_ALL="C.UTF-8", TZ="UTC", XDG_STATE_HOME=str(own / "state"))
    no_vdso = own / "no_vdso.so"
    run("gcc", "-shared", "-fPIC", "-o", no_vdso, HERE / "programs/no_vdso.c")
    here = Tools(host, own / "x86_64", {"openmpi": ("mpirun.openmpi", "--oversubscribe"), "mpich": ("mpiexec.mpich",)}, LD_PRELOAD=str(no_vdso))
    there = Tools(target, own / "aarch64", {mpi: launch for mpi, _, launch in mpis()})
    measurements = [*sorted(where.glob("*.run")), *measured_here(host, own / "measured")]
    different = [f"{measurement.stem}: {what}" for measurement in measurements for what in differences(measurement, here, there)]
    print("\n".join(different) or f"both processors: the same {len(measurements)} databases, and {len(SHOWN)} outputs of each")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
