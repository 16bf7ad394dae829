#!/usr/bin/env python3
"""Whether the tools give what they gave when a set of measurements was recorded: the same databases, byte for byte, on any
number of ranks, and the same output. Usage:

    run.py BUILD record [--again] [DIR]    measures, merges, and keeps the digests in DIR
    run.py BUILD [DIR]                     merges and shows again with the tools of BUILD, and compares

DIR: by default $XDG_CACHE_HOME/culprit/same-bytes or ~/.cache/culprit/same-bytes. Environment: JOBS.
"""

import argparse
import os
import pathlib
import sys
import tempfile
import time

import recording
import replay

JOBS = int(os.environ.get("JOBS", os.cpu_count()))
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")


def say(line):
    print(f"same-bytes: {line}", flush=True)


def counted(number, what):
    return f"{number} {what}{'' if number == 1 else 's'}"


def difference(before, now, said):
    """One line; None where nothing differs."""
    if before == now:
        return None
    if before.kind == "merge":
        _, name, ranks, *_ = before.words
        what = f"{name}: the database made on {counted(int(ranks), 'rank')}"
    else:
        what = f"{before.name}: viewer-cli {' '.join(before.words[1:])}"
    if now.status == str(None):
        return f"{what}: no end after {replay.TIMEOUT} s"
    if before.status != now.status:
        return f"{what}: exit status {now.status}, it was {before.status}" + (f": {said}" if said else "")
    return f"{what} differs"


def changed_libraries(entries):
    """Of the system's, since the recording: what differs may do so for that."""
    for entry in entries:
        if entry.kind == "library":
            path = pathlib.Path(entry.words[1])
            if not path.exists() or replay.digest_of(path) != entry.digest:
                yield path


def compare(build, directory):
    begin = time.monotonic()
    digests = directory / recording.DIGESTS
    if not digests.exists():
        say(f"{directory}: nothing is recorded there (./dev same-bytes record {directory})")
        return 1
    recorded = replay.parse(digests.read_text())
    with tempfile.TemporaryDirectory(prefix="culprit-same-bytes-") as scratch:
        again = replay.Replay(build, directory / recording.MEASUREMENTS, scratch)
        found = again.entries(recorded, JOBS)
    different = []
    for before, now in zip(recorded, found):
        if line := difference(before, now, again.said.get(before.words)):
            say(line)
            different.append(before)
    return summary(recorded, different, time.monotonic() - begin)


def summary(recorded, different, seconds):
    """The last line, and the exit status."""
    left_out = [entry.words[1] for entry in recorded if entry.kind == "left-out"]
    without = f" (recorded without {', '.join(left_out)})" if left_out else ""
    databases, outputs = ([len([one for one in entries if one.kind == kind]) for entries in (different, recorded)]
                          for kind in ("merge", "show"))
    if not different:
        say(f"{counted(databases[1], 'database')} and {counted(outputs[1], 'output')} are the same{without}, {seconds:.0f} s")
        return 0
    for path in changed_libraries(recorded):
        say(f"{path}: is not the library that was measured; differences may come from that")
    say(f"{databases[0]} of {databases[1]} databases and {outputs[0]} of {outputs[1]} outputs differ{without}, {seconds:.0f} s")
    return 1


def record(build, directory, again):
    begin = time.monotonic()
    try:
        recorded, wrong = recording.record(build, directory, again, JOBS, say)
    except recording.RecordingError as error:
        say(error)
        return 1
    for line in wrong:
        say(line)
    size = sum(file.lstat().st_size for file in directory.rglob("*") if file.is_file())
    say(f"recorded {counted(len({entry.name for entry in recorded if entry.kind == 'merge'}), 'measurement')}, "
        f"{counted(len(recorded), 'digest')}, {size / 1e6:.0f} MB in {directory}, {time.monotonic() - begin:.0f} s")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(prog="./dev same-bytes", description="Compares what the tools give with what was recorded.")
    parser.add_argument("build", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("words", nargs="*", metavar="[record] [DIR]")
    parser.add_argument("--again", action="store_true", help="with record: replace what is recorded")
    options = parser.parse_intermixed_args()
    words = options.words
    recording_wanted = words[:1] == ["record"]
    if recording_wanted:
        words = words[1:]
    if len(words) > 1 or (options.again and not recording_wanted):
        parser.error("one directory, and --again only with record")
    directory = pathlib.Path(words[0]).resolve() if words else CACHE / "culprit" / "same-bytes"
    build = options.build.resolve()
    return record(build, directory, options.again) if recording_wanted else compare(build, directory)


if __name__ == "__main__":
    sys.exit(main())
