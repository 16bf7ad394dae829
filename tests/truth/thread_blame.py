"""What each function of thread_blame.c made other threads wait, from the program's own log alone, in seconds.

Idleness: at any time those of a team's threads that do no work of it idle, and each function that works for it bears an
equal share for each thread that is in it. Locks: whoever holds a lock bears what others wait for it meanwhile.

  python3 thread_blame.py blame.log
"""

import collections
import sys

Line = collections.namedtuple("Line", "what name function count begin end")


def read(path):
    lines = []
    with open(path, encoding="utf-8") as file:
        for text in file:
            what, name, function, count, begin, end = text.split()
            lines.append(Line(what, name, function, int(count), int(begin), int(end)))
    return lines


def overlap(a, b):
    return max(0, min(a.end, b.end) - max(a.begin, b.begin))


def idleness(lines):
    caused = collections.Counter()
    for team in (line for line in lines if line.what == "team"):
        works = [w for w in lines if w.what == "work" and w.name == team.name and overlap(team, w)]
        times = sorted({team.begin, team.end} | {t for w in works for t in (w.begin, w.end) if team.begin < t < team.end})
        for begin, end in zip(times, times[1:]):
            busy = [w.function for w in works if w.begin <= begin and w.end >= end]
            for function in busy:
                caused[function] += 1e-9 * (end - begin) * (team.count - len(busy)) / len(busy)
    return caused


def lock_waits(lines):
    caused = collections.Counter()
    for hold in (line for line in lines if line.what == "hold"):
        for wait in (line for line in lines if line.what == "wait" and line.name == hold.name):
            caused[hold.function] += 1e-9 * overlap(hold, wait)
    return caused


if __name__ == "__main__":
    log = read(sys.argv[1])
    for kind, of in (("idleness", idleness), ("lock waits", lock_waits)):
        for function, seconds in of(log).most_common():
            print(f"{kind:12} {function:16} {seconds:8.3f} s")
