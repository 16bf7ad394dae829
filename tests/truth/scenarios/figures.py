"""The tables of docs/figures.md, "Is the diagnosis right?", from kept results: `./dev truth --figures`.

A series is a kind of measurement (`trace-200-10`: with a trace, 200 Hz, 10 s) in OUT/results/LABEL; seeds above
generate.WIDE are a series of their own. Programs are also counted by what the cause is. Nothing is measured."""

import json

import generate
import generate_threads
import score

# What is to be reached for causes that last: (size, what, column, least share in %: suspects, causes)
GOALS = (
    ("5 % or more", "first right", "first", 95, 97),
    ("5 % or more", "ranks", "ranks", 90, 90),
    ("2 to 5 %", "first right", "first", 85, 92),
    ("two causes", "both among the first three", "three", 90, 90),
)


def series_of(results):
    """{name: [result]} of a folder with results of one label."""
    found = {}
    for folder in sorted(results.iterdir()):
        for kept in sorted(folder.glob("seed-*.json")):
            result = json.loads(kept.read_text())
            name = folder.name + (" wide" if result["seed"] > generate.WIDE else "")
            found.setdefault(name, []).append(result)
    return found


def title(name, results):
    keys = {result["key"] for result in results}
    seeds = [result["seed"] for result in results]
    mixed = f", of {len(keys)} VERSIONS of tools and programs" if len(keys) > 1 else ""
    kind, hz, seconds = name.split()[0].split("-")
    wide = ", with passive target, large messages, part communicators and threads" if name.endswith("wide") else ""
    return f"**{kind}, {hz} Hz, {seconds} s{wide}**: {len(results)} programs (seeds {min(seeds)} to {max(seeds)}){mixed}"


def goals(series):
    """Whether each series reaches them."""
    lines = ["| goal | least | " + " | ".join(series) + " |", "|---|---|" + "---|" * len(series)]
    for size, what, column, *least in GOALS:
        for mode, share in zip(("suspects", "causes"), least):
            cells = []
            for results in series.values():
                rows = [one["modes"][mode] for one in results if score.size_of(one) == size and mode in one["modes"]]
                cells.append(f"{score.share_of(rows, column)} of {len(rows)}")
            lines.append(f"| {mode}, {size}: {what} | {share} | {' | '.join(cells)} |")
    for mode, limit in (("suspects", 0.1), ("causes", 0.05)):
        cells = []
        for results in series.values():
            rows = [one["modes"][mode] for one in results if score.size_of(one) == "5 % or more" and mode in one["modes"]]
            cells.append(score.within(rows, limit))
        lines.append(f"| {mode}, 5 % or more: amount within {100 * limit:.0f} % | all | {' | '.join(cells)} |")
    for mode in ("suspects", "causes"):
        cells = []
        for results in series.values():
            rows = [one["modes"][mode] for one in results if not one["truth"] and mode in one["modes"]]
            cells.append(f"{score.share_of(rows, 'alarm')} of {len(rows)}")
        lines.append(f"| {mode}, no cause: false alarms | below 2 | {' | '.join(cells)} |")
    return lines


def with_teams(results):
    return any("threads" in result for result in results)


def print_figures(results):
    series = series_of(results)
    for name, found in series.items():
        print("", title(name, found), sep="\n")
        for mode in sorted({mode for result in found for mode in result["modes"]}):
            print("", *score.table(found, mode), sep="\n")
            kinds = generate_threads.KINDS if with_teams(found) else generate.KINDS
            print("", *score.table(found, mode, score.kind_of, (*kinds, "two causes", "none")), sep="\n")
        if any("referee" in result for result in found):
            print("", *score.referee_table(found), sep="\n")
    if judged := {name: found for name, found in series.items() if not with_teams(found)}:
        print("", *goals(judged), sep="\n")
