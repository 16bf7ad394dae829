#!/usr/bin/env python3
"""Runs the stress program measured, under a watchdog. Usage: run.py BUILD [SECONDS] [--short]

Each of four cells (wall clock and CPU clock, at 200 Hz and 5 kHz) runs for SECONDS (default 60), and as long as it takes
to create 10 000 threads. Its output must be that of the unmeasured program; timers, descriptors and memory must not
grow; prof-mpi must be able to read what was measured. --short runs the two cells at 5 kHz only.
"""

import argparse
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

CELLS = [
    ("wall clock, 200 Hz", ["-e", "REALTIME@f200"]),
    ("CPU clock, 200 Hz", ["-e", "none", "-e", "CPUTIME@f200"]),
    ("wall clock, 5 kHz", ["-e", "REALTIME@f5000"]),
    ("CPU clock, 5 kHz", ["-e", "none", "-e", "CPUTIME@f5000"]),
]
HOLDINGS = re.compile(r"stress: (\w+): (\d+) timers, (\d+) descriptors, (\d+) kB mapped, (\d+) kB resident")

# A hang differs from slowness by far: 10 000 sampled threads take seconds, on a busy machine a minute.
PATIENCE = 300

# What may be added between the moment when all parts have done all they do and the end. Code that is loaded again and
# again gets into the trees under new addresses: they grow, within the bounds of each thread's arena.
MORE_RESIDENT_KB = 64 * 1024
MOST_TIMERS = 2  # the event's, and one for a thread that was parked
MORE_DESCRIPTORS = 4  # pipes to children that are alive at one moment and not at the other


class Failed(Exception):
    pass


def stacks(pid):
    """Where a hanging process is, as far as a debugger can tell."""
    if shutil.which("gdb") is None:
        return "(no gdb: its stacks are not known)"
    attach = ["gdb", "-q", "-batch", "-p", str(pid), "-ex", "thread apply all bt 25"]
    try:
        return subprocess.run(attach, capture_output=True, text=True, timeout=120, errors="replace").stdout
    except subprocess.TimeoutExpired:
        return "(the debugger hangs as well)"


def watch(command, directory, seconds):
    """Runs a command to its end; kills it and fails when it hangs."""
    with open(directory / "out", "w+") as out, open(directory / "err", "w+") as err:
        process = subprocess.Popen([str(word) for word in command], stdout=out, stderr=err, cwd=directory)
        try:
            status = process.wait(timeout=seconds + PATIENCE)
        except subprocess.TimeoutExpired:
            where = stacks(process.pid)
            process.send_signal(signal.SIGKILL)
            process.wait()
            raise Failed(f"hangs\n{where}") from None
        out.seek(0)
        err.seek(0)
        return status, out.read(), err.read()


def check_holdings(text):
    """What the process holds is bounded: returns a summary."""
    held = {name: [int(value) for value in values] for name, *values in HOLDINGS.findall(text)}
    if set(held) != {"settled", "end"}:
        raise Failed(f"the program did not report what it holds\n{text}")
    (_, descriptors, _, resident), (timers, descriptors_end, mapped_end, resident_end) = held["settled"], held["end"]
    if timers > MOST_TIMERS:
        raise Failed(f"{timers} timers are left for one thread")
    if descriptors_end > descriptors + MORE_DESCRIPTORS:
        raise Failed(f"descriptors grew from {descriptors} to {descriptors_end}")
    if resident_end > resident + MORE_RESIDENT_KB:
        raise Failed(f"resident memory grew from {resident} to {resident_end} kB")
    return f"{resident_end >> 10} MB resident, {mapped_end >> 20} GB mapped"


def run_cell(name, events, tools, program, seconds, expected):
    with tempfile.TemporaryDirectory(prefix="culprit-stress-") as scratch:
        directory = pathlib.Path(scratch)
        measure = [tools / "hpcrun-lite", "-o", directory / "run", *events]
        status, out, err = watch([*measure, *program], directory, seconds)
        if status != 0 or out != expected:
            raise Failed(f"exit {status}, expected 0 and\n{expected}but got\n{out}{err}")
        summary = check_holdings(err)
        merge = [str(tools / "prof-mpi"), str(directory / "run")]
        merged = subprocess.run(merge, capture_output=True, text=True, timeout=PATIENCE, errors="replace")
        if merged.returncode not in (0, 3):
            raise Failed(f"prof-mpi: exit {merged.returncode}\n{merged.stdout}{merged.stderr}")
        closing = [line for line in err.splitlines() if line.startswith("hpcrun-lite: ")]
        rounds = re.findall(r"stress: (\w+): (\d+) rounds", err)
        print(f"{name}: same output, {summary}; {closing[-1].split(' in ')[0] if closing else 'no summary line'}")
        print(f"  {merged.stdout.strip()} (exit {merged.returncode})")
        print("  rounds: " + ", ".join(f"{part} {count}" for part, count in rounds), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("seconds", type=float, nargs="?", default=60)
    parser.add_argument("--short", action="store_true")
    given = parser.parse_args()
    here = given.build.resolve()
    plugin = here / "tests" / "stress" / "libstress_plugin.so"
    program = [here / "tests" / "stress" / "stress", str(given.seconds), plugin]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="culprit-stress-") as scratch:
        status, expected, err = watch([*program[:1], "0", plugin], pathlib.Path(scratch), 0)
        if status != 0:
            sys.exit(f"stress: unmeasured: exit {status}\n{expected}{err}")
    for name, events in CELLS[2:] if given.short else CELLS:
        try:
            run_cell(name, events, here / "bin", program, given.seconds, expected)
        except Failed as failure:
            print(f"{name}: {failure}", flush=True)
            failed += 1
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
