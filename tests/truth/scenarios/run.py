#!/usr/bin/env python3
"""./dev truth: measures generated programs with known causes, and says how often the diagnosis is right.

One seed is one program; its results are kept in OUT/results/LABEL/seed-N.json and not made again while sources, tools and
options are the same, so a run that was broken off goes on where it ended. Several runs may share OUT: each seed is locked
while it is measured."""

import argparse
import csv
import fcntl
import hashlib
import json
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import agree  # noqa: E402
import figures  # noqa: E402
import generate  # noqa: E402
import generate_threads  # noqa: E402
import measure  # noqa: E402
import replay  # noqa: E402
import score  # noqa: E402
import thread_score  # noqa: E402

BALANCES = {"suspects": "noise-aware", "suspects, paper": "paper"}


def seeds_of(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def arguments():
    parser = argparse.ArgumentParser(prog="./dev truth", description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=seeds_of, default=range(1, 41), metavar="A-B", help="default: 1-40")
    parser.add_argument("--trace", action="store_true", help="measure with --trace, and judge causes as well as suspects")
    parser.add_argument("--threads", action="store_true", help="programs whose ranks have teams of threads; judge thread causes, too")
    parser.add_argument("--hz", type=int, default=200, help="samples per second (default: 200)")
    parser.add_argument("--seconds", type=float, default=10, help="planned length of a program (default: 10)")
    parser.add_argument("--keep", action="store_true", help="keep all measurements (else: of the programs that were judged wrongly)")
    parser.add_argument("--again", action="store_true", help="measure again what was measured")
    parser.add_argument("--tools", type=pathlib.Path, required=True, help=argparse.SUPPRESS)  # an installed prefix
    parser.add_argument("--out", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--figures", action="store_true", help="measure nothing: print the tables of docs/figures.md from all kept results")
    parser.add_argument("--label", default="", help="a name for the results of these tools")
    parser.add_argument("-v", "--verbose", action="store_true", help="print truth and claims of every program")
    return parser.parse_args()


class Runs:
    def __init__(self, options):
        self.options = options
        trace = "trace" if options.trace else "profile"
        self.generate = generate_threads if options.threads else generate
        self.kind = f"{trace}{'+threads' if options.threads else ''}-{options.hz}-{options.seconds:g}"
        self.measured = options.out.resolve() / "measured" / self.kind
        self.results = options.out.resolve() / "results" / (options.label or "here") / self.kind
        self.results.mkdir(parents=True, exist_ok=True)
        self.measured.mkdir(parents=True, exist_ok=True)
        self.key = self.identity()

    def identity(self):
        """Changes when results may."""
        known = hashlib.sha256()
        for path in sorted([*HERE.glob("*.py"), *HERE.glob("*.[ch]")]):
            known.update(path.read_bytes())
        for path in sorted((self.options.tools / "bin").iterdir()):
            known.update(path.read_bytes())
        return known.hexdigest()

    def result(self, seed):
        """One program's result, kept or new; None while another run has it."""
        kept = self.results / f"seed-{seed}.json"
        if kept.exists() and not self.options.again and not self.options.verbose:
            result = json.loads(kept.read_text())
            if result["key"] == self.key:
                return result
        with open(self.measured / f"seed-{seed}.lock", "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return None
            result = self.judge(seed)
            kept.write_text(json.dumps(result, indent=1))
        return result

    def judge(self, seed):
        program = self.generate.program_of(seed, self.options.seconds)
        directory = self.measured / f"seed-{seed}"
        if self.options.again:
            shutil.rmtree(directory, ignore_errors=True)
        made = measure.Measurement(directory, program, self.options.tools, self.options.trace, self.options.hz).make()
        result = {"key": self.key, "seed": seed, "mpi": program.mpi, "ranks": program.ranks, "functions": len(program.functions)}
        if self.options.threads:
            result |= {"threads": program.threads, "compiler": program.compiler}
            result |= thread_score.judged(made, program, self.options.trace)
        else:
            result |= self.judged(made, program)
        wrong = any(row.get("first") is False or row["alarm"] for mode, row in result["modes"].items() if mode != "referee")
        if not (self.options.keep or wrong):
            shutil.rmtree(directory, ignore_errors=True)
        return result

    def judged(self, made, program):
        """What is said of a program without teams."""
        played = replay.Replay(made.logs())
        truths = [score.Truth(number, cause, played) for number, cause in enumerate(program.causes)]
        result = {
            "seconds": played.seconds(), "waiting": played.waiting() / played.total(),
            "truth": [one.as_json() for one in truths], "modes": {}, "claims": {},
        }
        logs = agree.Waits(made.logs())
        referee = agree.referee_costs(logs) if self.options.trace else None
        claimed = self.claims(made)
        if referee is not None:
            claimed["referee"] = score.costly(referee)
        for mode, claims in claimed.items():
            judged = referee if mode == "causes" else None
            result["modes"][mode] = score.score(truths, claims, played, judged)
            result["claims"][mode] = [str(claim) for claim in claims[:6]]
        if self.options.trace:
            database = made.directory / "noise-aware.db"
            answers = made.view(database, "causes"), made.view(database, "critical-path")
            result["referee"] = agree.agreement(referee, agree.referee_path(logs), *answers)
        return result

    def claims(self, made):
        found = {}
        for mode, balance in BALANCES.items():
            database = made.merge(balance)
            found[mode] = score.suspects(made.view(database, "suspects"))
            if self.options.trace and mode == "suspects":
                found["causes"] = score.causes(made.view(database, "causes"))
        return found


def reported(result, verbose):
    """What is printed of one program."""
    truths = ", ".join(f"{one['kind']} {100 * one['share']:.1f} %" for one in result["truth"]) or "no cause"
    marks = []
    for mode, row in result["modes"].items():
        if mode == "referee":
            continue
        right = "false alarm" if row["alarm"] else "" if row["alarm"] is not None else "right" if row["first"] else "WRONG"
        error = "" if row.get("error") is None else f" {100 * row['error']:+.0f} %"
        marks.append(f"{mode}: {right or 'silent'}{error}")
    if "referee" in result:
        beside = result["referee"]
        marks.append(f"referee: {beside['agreeing']} of {beside['weighty']} costs, {100 * beside['costs_apart']:.0f} % apart")
    lines = [f"seed {result['seed']}: {result['mpi']}, {result['ranks']} ranks, {truths}; {'; '.join(marks)}"]
    if verbose:
        for one in result["truth"]:
            lines.append(f"  true {one['cost_s']:8.3f} s  ranks {one['ranks']}  {one['place']} ({one['kind']})")
        for mode, claims in result["claims"].items():
            lines += [f"  {mode}"] + [f"    {claim}" for claim in claims]
    return "\n".join(lines)


def write_csv(results, path):
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        columns = ("first", "three", "path", "ranks", "claimed_s", "error", "beside", "alarm")
        rows.writerow(("seed", "mpi", "ranks", "functions", "kinds", "share", "cost_s", "waiting", "mode", *columns))
        for result in results:
            truths = result["truth"]
            about = [result[key] for key in ("seed", "mpi", "ranks", "functions")]
            about += [" ".join(one[key] if key == "kind" else f"{one[key]:.4f}" for one in truths) for key in ("kind", "share", "cost_s")]
            for mode, row in result["modes"].items():
                rows.writerow((*about, f"{result['waiting']:.4f}", mode, *(row.get(column) for column in columns)))


def main():
    options = arguments()
    if options.figures:
        figures.print_figures(options.out.resolve() / "results" / (options.label or "here"))
        return 0
    runs = Runs(options)
    results, failed = [], 0
    for seed in runs.options.seeds:
        try:
            result = runs.result(seed)
        except measure.ToolFailed as error:
            failed += 1
            print(f"seed {seed}: {error}", file=sys.stderr, flush=True)
            continue
        if result is None:
            print(f"seed {seed}: another run has it", flush=True)
            continue
        results.append(result)
        print(reported(result, runs.options.verbose), flush=True)
    modes = sorted({mode for result in results for mode in result["modes"]})
    for mode in modes:
        print("", *score.table(results, mode), sep="\n")
        print("", *score.table(results, mode, score.kind_of, (*runs.generate.KINDS, "two causes", "none")), sep="\n")
    if runs.options.trace or runs.options.threads:
        print("", *score.referee_table(results), sep="\n")
    write_csv(results, runs.results / "results.csv")
    print(f"\n{len(results)} programs, {failed} failed; {runs.results / 'results.csv'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
