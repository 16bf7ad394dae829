#!/usr/bin/env python3
"""Runs threads that wait, measured, under a watchdog. Usage: waits.py BUILD [SECONDS]

Each kind of wait × 100, 1 000 and 10 000 threads × wall clock and CPU clock, SECONDS (default 3) long: all threads come back,
by wall clock each wait has the time that the program itself took it for, and nobody is woken again and again.
"""

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "apps"))
import waiting_threads  # noqa: E402

KINDS = ["sem", "cond", "read", "barrier", "mutex", "poll", "futex", "mixed", "flock", "fcntl", "turns", "naps"]
SHORT = ("turns", "naps")  # waits again and again
THREADS = [100, 1000, 10000]
# Waits again and again of 10 000 threads are more than two processors can do; who waits for a file's lock has a descriptor.
FEW_THREADS = (*SHORT, "flock", "fcntl")
CLOCKS = {"wall clock": [], "CPU clock": ["-e", "none", "-e", "CPUTIME"]}
PERIOD = 0.005
PATIENCE = 300
# Samples of one thread: until it is found to wait, and at its end. Threads whose waits are short are sampled as if they worked.
MOST_SAMPLES = 20


class Failed(Exception):
    pass


def run(command):
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, errors="replace")
    except subprocess.TimeoutExpired:
        raise Failed(f"hangs: {' '.join(words)}") from None
    if done.returncode != 0:
        raise Failed(f"exit {done.returncode}: {' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def compare(spent, found, threads, kind):
    share = 0.05 if kind in SHORT else 0.02
    for name, seconds in spent.items():
        if abs(found.get(name, 0) - seconds) > share * seconds + 2 * PERIOD * threads:
            raise Failed(f"{name} took {seconds:.3f} s and was measured as {found.get(name, 0):.3f} s")


def run_cell(tools, program, kind, threads, seconds, clock):
    with tempfile.TemporaryDirectory(prefix="culprit-stress-") as scratch:
        out = pathlib.Path(scratch) / "run"
        text = run([tools / "hpcrun-lite", "-q", "-o", out, *CLOCKS[clock], program, kind, threads, seconds])
        if f"{threads} of {threads} returned" not in text:
            raise Failed(text)
        run([tools / "prof-mpi", out, "-q"])
        database = out.with_suffix(".db")
        samples = json.loads(run([tools / "viewer-cli", database, "info", "--format", "json"]))["samples"]
        worked = seconds / PERIOD
        if clock == "wall clock":
            spent = waiting_threads.spent(text)
            metrics = ["--metrics", "REALTIME:sum (I)", "--format", "json"]
            view = json.loads(run([tools / "viewer-cli", database, "view", "calling-context", *metrics]))
            compare(spent, waiting_threads.found(view["roots"], spent), threads, kind)
        if kind not in SHORT and samples > MOST_SAMPLES * threads + 2 * worked:
            raise Failed(f"{samples} samples of {threads} threads that wait")
        return samples


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("seconds", type=float, nargs="?", default=3)
    given = parser.parse_args()
    tools = given.build.resolve() / "bin"
    program = given.build.resolve() / "tests" / "integration" / "programs" / "waiting_threads"
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    failed = 0
    for kind in KINDS:
        for threads in THREADS if kind not in FEW_THREADS else THREADS[:-1]:
            for clock in CLOCKS:
                cell = f"{threads} threads in {kind}, {clock}"
                try:
                    samples = run_cell(tools, program, kind, threads, given.seconds, clock)
                    print(f"{cell}: {samples} samples", flush=True)
                except Failed as failure:
                    print(f"{cell}: {failure}", flush=True)
                    failed += 1
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
