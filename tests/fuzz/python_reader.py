"""Databases whose bytes anybody made up, with checksums that hold: the Python package reads all of one, or refuses it.

Usage: python_reader.py PACKAGE ARTIFACT CORPUS: what raises anything else, or takes long, is left in ARTIFACT. It ends when its
processor time is up (ulimit -S -t).
"""

import pathlib
import random
import signal
import struct
import sys
import time
import traceback

PACKAGE, ARTIFACT, CORPUS = sys.argv[1:]
sys.path[:0] = [PACKAGE, str(pathlib.Path(__file__).parent.parent / "python")]

import culprit  # noqa: E402
import damage  # noqa: E402

SLOW = 20  # seconds, as of the other fuzzers


def spoilt(data, chance):
    changed = bytearray(data)
    layout = damage.part_places(changed)
    for _ in range(chance.choice((1, 1, 1, 3))):
        damage.spoil(changed, layout, chance)
    damage.seal(changed, layout)
    return changed


def is_read(path):
    try:
        damage.look_at_everything(culprit.open(path))
    except culprit.FormatError:
        return False
    return True


def main():
    chance, time_is_up = random.Random(), []
    signal.signal(signal.SIGXCPU, lambda *_: time_is_up.append(True))
    # What is refused as it stands would be refused at the same place again.
    seeds, counts = [file.read_bytes() for file in pathlib.Path(CORPUS).iterdir() if is_read(file)], {True: 0, False: 0}
    while not time_is_up:
        try:
            changed = spoilt(chance.choice(seeds), chance)
        except (struct.error, IndexError, OverflowError):  # not even its tables are where they should be
            continue
        damage.overwrite(ARTIFACT, changed)
        begin = time.monotonic()
        try:
            counts[is_read(ARTIFACT)] += 1
        except Exception:
            traceback.print_exc()
            sys.exit(f"ERROR: neither read nor refused; Test unit written to {ARTIFACT}")
        if time.monotonic() - begin > SLOW:
            sys.exit(f"ERROR: slow; Test unit written to {ARTIFACT}")
    pathlib.Path(ARTIFACT).unlink()
    print(f"#{sum(counts.values())} DONE  cov: {counts[True]} read, {counts[False]} refused")


main()
