#!/usr/bin/env python3
"""Compares Culprit with other profilers, on the same programs, in interleaved runs: those that Debian has, and those whose prefix is given.

Prints the tables of docs/comparison.md, below each the command lines that were run. Exits with 1 where Culprit's own shares of a program
that knows its shares are off by SIGMAS standard deviations or more, after all tables. What the tools measure, and how: tools.py, peers.py.
"""

import argparse
import pathlib
import re
import resource
import shlex
import shutil
import statistics
import sys
import time

import peers
import programs
import tools

sys.path.insert(0, str(programs.TRUTH))
import truth  # noqa: E402

SIGMAS = 3
STEPS = 400  # of the program with known shares
WAITING = ("point_to_point", "collectives")  # of tests/truth
REPETITIONS, DELAY = 5, 20  # of their scenarios; ms
REPOSITORY = programs.TESTS.parent


def say(text):
    print(f"compare: {text}", file=sys.stderr, flush=True)


def measure(tool, directory, program, *further):
    """One run. Returns wall and CPU seconds, and what the program printed."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    (directory / "program").write_text(program.path(tool))
    tools.ran.clear()
    words = tool.words(directory, program.launcher, program.words(tool, *further))
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    printed = tools.run(words, f"{tool.name}: {program.name}")
    wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, printed


def directory_of(out, tool, purpose):
    """Without what separates options from each other (Caliper's commas) or libraries (LD_PRELOAD)."""
    return out / re.sub(r"[^\w.-]+", "_", f"{purpose} {tool.name}")


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


class Commands:
    """The command lines of a table, by tool, as they are shown: DIR is a directory that each run has for itself, LOGS one for the
    program's logs, PREFIX where the tool is installed, PID a process. Tools stand without the directory of their programs."""

    def __init__(self, out, program, chosen):
        self.out, self.by_name = out, {}
        lines = program.build(out, chosen)
        if lines:
            self.keep("the program", lines, [tool for tool in chosen if tool.builder])

    def keep(self, name, lines, of, directory=None, logs=None):
        stands_for = [(logs, "LOGS"), (directory, "DIR"), (self.out / programs.BUILT, ""), (self.out, "OUT"), (REPOSITORY, "")]
        for tool in of:
            stands_for += [(tool.prefix / "bin", ""), (tool.prefix, "PREFIX")] if tool.prefix else []
        shown = []
        for line in lines:
            text = shlex.join(map(str, line))
            for path, short in stands_for:
                if path:
                    text = text.replace(f"{path}/" if not short else str(path), short)
            shown.append(re.sub(r"(DIR/(?:perf|prof|callgrind))\.\d+\b", r"\1.PID", text))
        self.by_name[name] = list(dict.fromkeys(shown))  # the same for each rank

    def print(self):
        print("\n```sh")
        for name, lines in self.by_name.items():
            print(f"# {name}", *lines, sep="\n")
        print("```")


def left_out(chosen, program):
    """Prints who does not measure a program, and why. Returns the others."""
    for tool in chosen:
        if program.refuses(tool):
            print(f"\nNot {tool.name}: {program.refuses(tool)}.")
    return [tool for tool in chosen if not program.refuses(tool)]


def cost(chosen, out, runs, program):
    """What measuring costs, and what comes after it."""
    print(f"\n**{program.title}**: medians of {runs} interleaved runs.")
    chosen = left_out(chosen, program)
    commands = Commands(out, program, chosen)
    walls, cpus, data, views = {}, {}, {}, {}
    for number in range(runs):
        for tool in chosen if number % 2 == 0 else chosen[::-1]:
            directory = directory_of(out, tool, "cost")
            wall, cpu, _ = measure(tool, directory, program)
            walls.setdefault(tool, []).append(wall)
            cpus.setdefault(tool, []).append(cpu)
            if not isinstance(tool, tools.Unmeasured):
                data.setdefault(tool, []).append(size(directory))
                begin = time.monotonic()
                if tool.first_view(directory) is not None:
                    views.setdefault(tool, []).append(time.monotonic() - begin)
            commands.keep(tool.name, tools.ran, [tool], directory)
        say(f"{program.title}: run {number + 1} of {runs}")
    print()
    header("tool", "wall, of unmeasured", "CPU, of unmeasured", "data", "first view")
    base = next(tool for tool in chosen if isinstance(tool, tools.Unmeasured))
    row(base.name, f"{statistics.median(walls[base]):.2f} s", f"{statistics.median(cpus[base]):.2f} s", "", "")
    for tool in chosen:
        if tool is not base:
            row(tool.name, ratio(walls[tool], walls[base]), ratio(cpus[tool], cpus[base]),
                bytes_text(statistics.median(data[tool])), f"{statistics.median(views[tool]):.2f} s" if tool in views else "")  # fmt: skip
    commands.print()


def known_shares(printed):
    """Function: its part of the time, of what the program printed."""
    spent = {name: float(value) for name, value in (line.split() for line in printed.splitlines())}
    return {name: value / sum(spent.values()) for name, value in spent.items()}


def largest_difference(said, known, samples):
    """In standard deviations of as many samples; None where nothing is sampled."""
    if not samples:
        return None
    return max(abs(said[name] - known[name]) / (known[name] * (1 - known[name]) / samples) ** 0.5 for name in known)


def check_shares(chosen, out, program):
    """How far shares are from what the program says. Returns a line for each of Culprit's rows that is too far."""
    print("\nShares that the program knows, and that tools say, in percent; the largest difference in standard deviations of as many "
          "samples; samples whose call stack begins at main.")  # fmt: skip
    chosen = left_out([tool for tool in chosen if tool.gives_shares], program)
    commands = Commands(out, program, chosen)
    rows, truths, wrong = [], None, []
    for tool in chosen:
        directory = directory_of(out, tool, "shares")
        _, _, printed = measure(tool, directory, program)
        known = known_shares(printed)
        if isinstance(tool, tools.Unmeasured):
            truths = known
        else:
            tool.first_view(directory)
            shares, samples = tool.shares(directory)
            within = sum(shares.get(name, 0) for name in known)
            said = {name: shares.get(name, 0) / within if within else 0 for name in known}
            off, reached = largest_difference(said, known, samples), tool.reached(directory)
            rows.append((tool.name, *(f"{100 * said[name]:.1f}" for name in known), samples or "", f"{off:.1f} σ" if off is not None else "",
                         f"{100 * reached:.1f} %" if reached is not None else ""))  # fmt: skip
            if isinstance(tool, tools.Culprit) and (off is None or off >= SIGMAS):
                wrong.append(f"shares: {tool.name}: off by {off or float('inf'):.1f} σ ({SIGMAS} or more)")
        commands.keep(tool.name, tools.ran, [tool], directory)
        say(f"shares: {tool.name}")
    print()
    header("tool", *truths, "samples", "off by", "whole stacks")
    row("the program itself", *(f"{100 * share:.1f}" for share in truths.values()), "", "", "")
    for each in rows:
        row(*each)
    commands.print()
    return wrong


def logged(logs):
    """Seconds that ranks waited for others, and that they were in calls of MPI, by what the program logged."""
    found = truth.Truth(truth.read(logs))
    if found.unmatched:
        raise SystemExit(f"compare: {logs}: operations without a partner: {dict(found.unmatched)}")
    waited = sum(wait.seconds for wait in found.waits if wait.pattern not in tools.NOT_COMPARED)
    calls = {call.function for log in found.ranks for call in log.calls if call.function.startswith("MPI_")}
    return waited, found.inside(calls - tools.ENDS)


def check_waits(chosen, out, program):
    """What tools say of waits, beside what the program logged in the same run."""
    print(f"\n**{program.title}**: seconds that ranks waited for other ranks, without those in MPI_Init and MPI_Finalize, and that they were in "
          "calls of MPI: as logged in that run, and as the tool says.")  # fmt: skip
    chosen = left_out([tool for tool in chosen if not isinstance(tool, tools.Unmeasured)], program)
    commands, rows = Commands(out, program, chosen), []
    for tool in chosen:
        directory, logs = (directory_of(out, tool, purpose) for purpose in ("waits", "logs"))
        shutil.rmtree(logs, ignore_errors=True)
        logs.mkdir(parents=True)
        measure(tool, directory, program, logs, REPETITIONS, DELAY)
        tool.first_view(directory)
        waited, in_mpi = logged(logs)
        said, said_in_mpi = tool.waited(directory), tool.in_mpi(directory)
        difference = "" if said is None or not waited else f"{100 * (said / waited - 1):+.1f} %"
        rows.append((tool.name, f"{waited:.3f}", "none" if said is None else f"{said:.3f}", difference, f"{in_mpi:.3f}",
                     "" if said_in_mpi is None else f"{said_in_mpi:.3f}"))  # fmt: skip
        commands.keep(tool.name, tools.ran, [tool], directory, logs)
        say(f"waits of {program.name}: {tool.name}")
    print()
    header("tool", "waited, logged", "by the tool", "difference", "in MPI, logged", "by the tool")
    for each in rows:
        row(*each)
    commands.print()


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("prefix", type=pathlib.Path, help="where Culprit is installed")
    parser.add_argument("out", type=pathlib.Path, help="a directory for what is measured")
    parser.add_argument("runs", type=int, nargs="?", default=5, help="where costs are compared (default: 5)")
    for option in ("hpctoolkit", "scorep", "scalasca", "mpip", "caliper"):
        parser.add_argument(f"--{option}", type=lambda text: pathlib.Path(text).resolve(), metavar="DIR", help="where it is installed")
    return parser.parse_intermixed_args(words)


def main(words=None):
    given = parse(words)
    out = given.out.resolve()
    every = tools.all_tools(given.prefix.resolve()) + peers.given_tools(given)
    out.mkdir(parents=True, exist_ok=True)
    for tool in every:
        if isinstance(tool, peers.Caliper):
            tool.build_preload(out)
    quick = [tool for tool in every if not tool.slow]
    wrong = check_shares(every, out, programs.shares(STEPS))
    cost(quick, out, given.runs, programs.shares(STEPS // 2))
    cost(quick, out, given.runs, programs.lammps())
    if any(tool.builder for tool in quick):
        cost(quick, out, given.runs, programs.fixed_work())
    for name in WAITING:
        check_waits(every, out, programs.waiting(name))
    for line in wrong:
        say(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
