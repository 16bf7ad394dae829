"""What each function of thread_blame.c made other threads wait, from the program's own log alone, in seconds.

Idleness: at any time those of a team's threads that do no work of it idle, and each function that works for it bears an
equal share for each thread that is in it. A member is one thread of a team that idles when it is not in its function, while
others of the team work, those of teams within included. Locks: whoever holds a lock bears what others wait for it meanwhile,
and, of those that did not get it, also what passed since it was given back the last time; how much of that there is depends
on the machine, so there are bounds.

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
    for member in (line for line in lines if line.what == "member"):
        works = [w for w in lines if w.what == "work" and w.name == member.name and overlap(member, w)]
        times = sorted({member.begin, member.end} | {t for w in works for t in (w.begin, w.end) if member.begin < t < member.end})
        for begin, end in zip(times, times[1:]):
            busy = [w.function for w in works if w.begin <= begin and w.end >= end]
            if member.function not in busy:
                for function in busy:
                    caused[function] += 1e-9 * (end - begin) / len(busy)
    return caused


def delay(lines, function):
    """What the function, the last to end each time, makes the others of its team wait since they ended their own work."""
    seconds = 0
    for team in (line for line in lines if line.what == "team"):
        works = [line for line in lines if line.what == "work" and line.name == team.name]
        for late in (line for line in works if line.function == function):
            ends = sorted(line.end for line in works if line.end < late.end)
            seconds += sum(1e-9 * (late.end - max(end, late.begin)) for end in ends[-(team.count - 1) :])
    return seconds


def lock_waits(lines):
    """Bounds for each function: at least, at most."""
    least, most = collections.Counter(), collections.Counter()
    for lock in {line.name for line in lines if line.what == "hold"}:
        waits = [line for line in lines if line.what == "wait" and line.name == lock]
        holds = sorted((line for line in lines if line.what == "hold" and line.name == lock), key=lambda line: line.begin)
        for i, hold in enumerate(holds):
            own = max((wait for wait in waits if wait.end <= hold.begin), key=lambda wait: wait.end, default=None)
            since = holds[i - 1].end if i > 0 else hold.begin
            until = holds[i + 1].begin if i + 1 < len(holds) else hold.end
            for wait in waits:
                if wait is not own:
                    least[hold.function] += 1e-9 * overlap(hold, wait)
                    most[hold.function] += 1e-9 * overlap(hold._replace(begin=since, end=until), wait)
    return least, most


if __name__ == "__main__":
    log = read(sys.argv[1])
    for function, seconds in idleness(log).most_common():
        print(f"idleness     {function:16} {seconds:8.3f} s")
    at_least, at_most = lock_waits(log)
    for function, seconds in at_most.most_common():
        print(f"lock waits   {function:16} {at_least[function]:8.3f} to {seconds:.3f} s")
