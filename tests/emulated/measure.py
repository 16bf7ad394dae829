#!/usr/bin/env python3
"""measure.py HOST_BUILD ARM64_BUILD DIRECTORY: measures programs of aarch64 under the emulator, in DIRECTORY, and checks what the tools
of both processors show of them. Times mean nothing; call paths, names, loops and waits must be right."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = pathlib.Path(os.environ["CULPRIT_ARM64"]) / "root"
LIBRARIES = ROOT / "usr/lib/aarch64-linux-gnu"
EMULATED = str(HERE / "emulated.sh")
# As root, as containers are, Open MPI wants to be asked twice.
MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


def run(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
                          **more).stdout


class Measuring:
    def __init__(self, host, target, where):
        self.host, self.target, self.where = host, target, where
        self.failures = []

    def check(self, holds, what, shown=""):
        if not holds:
            self.failures.append(what)
            print(f"FAILED: {what}\n{shown}")

    def build(self, name, source, *flags):
        compiler = {".c": "gcc", ".cpp": "g++", ".f90": "gfortran"}[pathlib.Path(source).suffix]
        program = self.where / name
        run(f"aarch64-linux-gnu-{compiler}", f"--sysroot={ROOT}", "-g", "-O2", "-o", program, HERE / "programs" / source, *flags, cwd=self.where)
        return program

    def measure(self, name, program, launch=(), options=()):
        """Runs the program; returns the directory with what was measured."""
        directory = self.where / f"{name}.run"
        words = run(EMULATED, *launch, self.target / "bin/hpcrun-lite", *options, "-o", directory, program)
        self.check("samples" in words, f"{name}: says how many samples it took", words)
        return directory

    def view(self, directory, *command):
        return run(EMULATED, self.host / "bin/viewer-cli", directory, *command)

    def check_paths(self, name, directory, expected):
        shown = self.view(directory, "view", "calling-context", "--all", "--min", "0")
        for text in expected:
            self.check(re.search(text, shown), f"{name}: shows {text}", shown)
        report = self.view(directory, "report")
        partial = re.search(r"partial unwinds? \(([\d.]+) %\)", report)
        self.check(not partial or float(partial[1]) < MOST_PARTIAL, f"{name}: few partial unwinds", report)

    def check_waits(self, name, directory):
        """Rank 1 is late, by what it does in work()."""
        report = " ".join(self.view(directory, "report").split())
        self.check(re.search(r"in work on rank 1 caused|work at ranks\.c:\d+ on rank 1 caused", report), f"{name}: work on rank 1 causes the waits", report)


MOST_PARTIAL = 3  # percent: a second of start-up under an emulator lies in the dynamic linker, whose first function describes no frame

# name: what of programs/, how it is compiled beside, what must be seen
PROGRAMS = {
    "c": ("work.c", (), (r"main\b", r"descend\b", r"leaf\b", r"loop at work\.c:16", r"loop at work\.c:17", r"qsort(_r)?\b", r"compare\b", r"sort\b")),
    "signed": ("work.c", ("-mbranch-protection=standard",), (r"main\b", r"descend\b", r"leaf\b", r"compare\b")),
    "framed": ("work.c", ("-O0", "-fno-omit-frame-pointer"), (r"main\b", r"descend\b", r"leaf\b", r"compare\b")),
    "cpp": ("threads.cpp", ("-pthread",), (r"in_thread", r"catcher", r"Circle::work", r"loop at threads\.cpp:17")),
    "fortran": ("stencil.f90", (), (r"sweep", r"loop at stencil\.f90:(9|10|11)")),
}


def mpis():
    """name, flags of the compiler, the launcher's words"""
    yield ("mpich", (f"-I{ROOT}/usr/include/aarch64-linux-gnu/mpich", "-lmpich"), (ROOT / "usr/bin/mpiexec.hydra",))
    yield ("openmpi", (f"-I{LIBRARIES}/openmpi/include", LIBRARIES / "libmpi.so.40", f"-Wl,-rpath-link,{LIBRARIES}"),
           (ROOT / "usr/bin/orterun", "--prefix", ROOT / "usr", "--oversubscribe"))


def main():
    host, target, where = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    os.environ.update(MPI_ENVIRONMENT)
    measuring = Measuring(host, target, where)
    for name, (source, flags, expected) in PROGRAMS.items():
        directory = measuring.measure(name, measuring.build(name, source, *flags))
        measuring.check_paths(name, directory, expected)
    for name, flags, launch in mpis():
        directory = measuring.measure(name, measuring.build(name, "ranks.c", *flags), (*launch, "-n", "3"), ("--trace",))
        measuring.check_paths(name, directory, (r"main\b", r"work\b", r"MPI_Allreduce"))
        measuring.check_waits(name, directory)
    print("\n".join(measuring.failures) or "aarch64 under the emulator: all is as it should be")
    return 1 if measuring.failures else 0


if __name__ == "__main__":
    sys.exit(main())
