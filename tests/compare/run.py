#!/usr/bin/env python3
"""Compares Culprit with the profilers that Debian has, on the same programs, in interleaved runs. Usage: run.py PREFIX OUT [RUNS]

Prints the tables of docs/comparison.md. PREFIX: where Culprit is installed; OUT: a directory for what is measured.
"""

import argparse
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import time

import tools

HERE = pathlib.Path(__file__).resolve().parent
APPS = HERE.parent / "apps"
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", LC_ALL="C.UTF-8",
                   OMPI_MCA_btl_vader_single_copy_mechanism="none")  # fmt: skip
STEPS = 400  # of the program with known shares: some 10 s


def say(text):
    print(f"compare: {text}", file=sys.stderr, flush=True)


def measure(tool, directory, mpirun, program):
    """One run. Returns wall and CPU seconds, and what the program printed."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    (directory / "program").write_text(shutil.which(str(program[0])))
    words = [*mpirun, *tool.command(directory), *program]
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([str(word) for word in words], env=ENVIRONMENT, capture_output=True, text=True)
    wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(f"compare: {tool.name}: {program[0]}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def size(directory):
    return sum(each.stat().st_size for each in directory.rglob("*") if each.is_file() and each.name != "program")


def bytes_text(count):
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.3g} {unit}"
        count /= 1000


def row(*cells):
    print("| " + " | ".join(map(str, cells)) + " |")


def header(*cells):
    row(*cells)
    row("---", *["---:"] * (len(cells) - 1))


def ratio(values, base):
    return f"{statistics.median(values) / statistics.median(base):.3f}"


def cost(chosen, out, runs, mpirun, program, title):
    """What measuring costs, and what comes after it."""
    walls, cpus, data, views = {}, {}, {}, {}
    for number in range(runs):
        for tool in chosen if number % 2 == 0 else chosen[::-1]:
            directory = out / tool.name.replace(" ", "_")
            wall, cpu, _ = measure(tool, directory, mpirun, program)
            walls.setdefault(tool, []).append(wall)
            cpus.setdefault(tool, []).append(cpu)
            if not isinstance(tool, tools.Unmeasured):
                data.setdefault(tool, []).append(size(directory))
                begin = time.monotonic()
                tool.first_view(directory)
                views.setdefault(tool, []).append(time.monotonic() - begin)
        say(f"{title}: run {number + 1} of {runs}")
    print(f"\n{title}: medians of {runs} interleaved runs.\n")
    header("tool", "wall, of unmeasured", "CPU, of unmeasured", "data", "first view")
    base = next(tool for tool in chosen if isinstance(tool, tools.Unmeasured))
    row(base.name, f"{statistics.median(walls[base]):.2f} s", f"{statistics.median(cpus[base]):.2f} s", "", "")
    for tool in chosen:
        if tool is not base:
            row(tool.name, ratio(walls[tool], walls[base]), ratio(cpus[tool], cpus[base]),
                bytes_text(statistics.median(data[tool])), f"{statistics.median(views[tool]):.2f} s")  # fmt: skip


def check_shares(chosen, out, program):
    """How far shares are from what the program says, in standard deviations of as many samples."""
    print("\nShares that the program knows, and that tools say, in percent; the largest difference in standard deviations of as many "
          "samples; samples whose call stack begins at main.\n")  # fmt: skip
    rows, truths = [], None
    for tool in chosen:
        directory = out / ("shares_" + tool.name.replace(" ", "_"))
        _, _, printed = measure(tool, directory, [], [program, STEPS])
        spent = {name: float(value) for name, value in (line.split() for line in printed.splitlines())}
        truth = {name: value / sum(spent.values()) for name, value in spent.items()}
        if isinstance(tool, tools.Unmeasured):
            truths = truth
            continue
        tool.first_view(directory)
        shares, samples = tool.shares(directory)
        within = sum(shares.get(name, 0) for name in truth)
        said = {name: shares.get(name, 0) / within for name in truth}
        off = max(abs(said[name] - truth[name]) / (truth[name] * (1 - truth[name]) / samples) ** 0.5 for name in truth) if samples else None
        reached = tool.reached(directory)
        rows.append((tool.name, *(f"{100 * said[name]:.1f}" for name in truth), samples or "", f"{off:.1f} σ" if off is not None else "",
                     f"{100 * reached:.1f} %" if reached is not None else ""))  # fmt: skip
        say(f"shares: {tool.name}")
    header("tool", *truths, "samples", "off by", "whole stacks")
    row("the program itself", *(f"{100 * share:.1f}" for share in truths.values()), "", "", "")
    for each in rows:
        row(*each)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("prefix", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("runs", type=int, nargs="?", default=5)
    given = parser.parse_args()
    out = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    program = out / "shares"
    subprocess.run(["gcc", "-O2", "-g", "-o", program, HERE / "shares.c"], check=True)
    every = tools.all_tools(given.prefix.resolve())
    quick = [tool for tool in every if not tool.slow]
    check_shares(every, out, program)
    cost(quick, out, given.runs, [], [program, STEPS // 2], "One thread, functions of known shares")
    melt = ["lmp", "-in", APPS / "melt.in", "-log", "none", "-screen", "none", "-var", "steps", "200"]
    cost(quick, out, given.runs, ["mpirun.openmpi", "--oversubscribe", "-n", 2], melt, "LAMMPS of Debian, 2 ranks")


if __name__ == "__main__":
    main()
