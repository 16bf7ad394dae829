#!/usr/bin/env python3
"""Checks that the Python package and docs/formats.md have the wait patterns of the tools (lib/metrics/wait_pattern.hpp): their
numbers, names, and what they are part of. Usage: wait_patterns.py [--write]; with it, they are written there."""

import json
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = (ROOT / "lib/metrics/wait_pattern.hpp").read_text()
# Name, and the enumerator of the pattern that contains it, by number.
TEXTS = [(name, whole.replace("_", "-")) for name, whole in re.findall(r'^    {"([\w-]+)", WaitPattern::(\w+),', HEADER, re.M)]
PATTERNS = [name for name, _ in TEXTS]
PART_OF = {name: whole for name, whole in TEXTS if whole != name}
COMPLETIONS = re.findall(r"WaitPattern::(\w+)", re.search(r"is_completion\([^{]*{(.*?)}", HEADER, re.S).group(1))
WHOLE_WAITS = [name for name in PATTERNS if name not in PART_OF and name.replace("-", "_") not in COMPLETIONS]


def lines_of(names):
    return textwrap.fill(", ".join(f'"{name}"' for name in names), 120, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)


def in_python():
    return f"""PATTERNS = (
{lines_of(PATTERNS)},
)  # fmt: skip
# These add up to all waiting: others are contained in one of them, or wait for nobody.
WHOLE_WAITS = (
{lines_of(WHOLE_WAITS)},
)  # fmt: skip
# Contained in another pattern.
PART_OF = {json.dumps(PART_OF)}
"""


def in_formats():
    words = [f"{number} {name}" + (f" (part of {PATTERNS.index(PART_OF[name])})" if name in PART_OF else "")
             for number, name in enumerate(PATTERNS)]
    return textwrap.fill(f"The patterns: {', '.join(words)}.", 125, break_on_hyphens=False) + "\n"


PLACES = {
    "python/culprit/findings.py": (r"PATTERNS = \(\n.*?\nPART_OF = {.*?}\n", in_python),
    "docs/formats.md": (r"The patterns: .*?\.\n", in_formats),
}


def main():
    enumerators = re.search(r"enum class WaitPattern [^{]*{(.*?)none = 255", HEADER, re.S).group(1)
    wrong = [f"wait_pattern.hpp: {name} and {enumerator} have the same number"
             for name, enumerator in zip(PATTERNS, re.findall(r"\w+", enumerators)) if name.replace("-", "_") != enumerator]
    for place, (found_by, expected) in PLACES.items():
        path = ROOT / place
        text = path.read_text()
        found = re.search(found_by, text, re.S).group()
        if found == expected():
            continue
        if "--write" in sys.argv:
            path.write_text(text.replace(found, expected()))
        else:
            unlike = sorted(set(re.findall(r"[\w-]+", found)) ^ set(re.findall(r"[\w-]+", expected())))
            wrong.append(f"{place}: unlike lib/metrics/wait_pattern.hpp: {' '.join(unlike) or 'order'} (--write corrects it)")
    print("\n".join(wrong) if wrong else f"{len(PATTERNS)} wait patterns, everywhere the same")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
