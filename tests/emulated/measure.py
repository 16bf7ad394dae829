#!/usr/bin/env python3
"""measure.py HOST_BUILD ARM64_BUILD DIRECTORY: measures programs of aarch64 under the emulator, in DIRECTORY, and checks what the tools
of both processors show of them. Times mean nothing; call paths, names, loops and waits must be right."""

import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = pathlib.Path(os.environ["CULPRIT_ARM64"]) / "root"
LIBRARIES = ROOT / "usr/lib/aarch64-linux-gnu"
EMULATED = str(HERE / "emulated.sh")


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

    def build(self, source, *flags):
        compiler = {".c": "gcc", ".cpp": "g++", ".f90": "gfortran"}[pathlib.Path(source).suffix]
        program = self.where / pathlib.Path(source).stem
        run(f"aarch64-linux-gnu-{compiler}", f"--sysroot={ROOT}", "-g", "-O2", "-J", self.where, "-o", program, HERE / "programs" / source, *flags) \
            if compiler == "gfortran" else \
            run(f"aarch64-linux-gnu-{compiler}", f"--sysroot={ROOT}", "-g", "-O2", "-o", program, HERE / "programs" / source, *flags)
        return program

    def measure(self, name, program, launch=(), options=()):
        """Runs the program; returns what the host's tools show of it."""
        directory = self.where / name
        words = run(EMULATED, *launch, self.target / "bin/hpcrun-lite", *options, "-o", directory, program)
        self.check("samples" in words, f"{name}: says how many samples it took", words)
        return directory

    def view(self, directory, *command):
        environment = {**os.environ, "CULPRIT_SYSROOT": str(ROOT)}
        return run(self.host / "bin/viewer-cli", directory, *command, env=environment)

    def check_paths(self, name, directory, expected):
        shown = self.view(directory, "view", "calling-context", "--all", "--min", "0")
        for text in expected:
            self.check(re.search(text, shown), f"{name}: shows {text}", shown)
        report = self.view(directory, "report")
        partial = re.search(r"(\d+) partial unwinds? \(([\d.]+) %\)", report)
        self.check(not partial or float(partial[2]) < 3, f"{name}: few partial unwinds", report)


def main():
    host, target, where = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    run("rm", "-rf", where)
    where.mkdir(parents=True)
    measuring = Measuring(host, target, where)
    runs = {
        "c": (measuring.build("work.c"), [r"main\b", r"descend\b", r"leaf\b", r"loop at work\.c:19", r"loop at work\.c:20", r"compare\b", r"sort\b"]),
        "cpp": (measuring.build("threads.cpp", "-pthread"), [r"in_thread", r"catcher", r"Circle::work", r"loop at threads\.cpp:1[89]"]),
        "fortran": (measuring.build("stencil.f90"), [r"sweep", r"loop at stencil\.f90:(9|10|11)"]),
        "signed": (measuring.build("work.c", "-mbranch-protection=standard"), [r"main\b", r"descend\b", r"leaf\b", r"compare\b"]),
    }
    for name, (program, expected) in runs.items():
        measuring.check_paths(name, measuring.measure(name, program), expected)
    print("\n".join(measuring.failures) or "aarch64 under the emulator: all is as it should be")
    return 1 if measuring.failures else 0


if __name__ == "__main__":
    sys.exit(main())
