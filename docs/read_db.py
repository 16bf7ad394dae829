#!/usr/bin/env python3
"""Reads a Culprit database with the Python package culprit (docs/python.md): its smallest example.

read_db.py DB                    the run, its metrics and roles
read_db.py DB tree [DEPTH]       the calling context tree with the inclusive time of all threads
read_db.py DB threads CONTEXT    inclusive REALTIME of one context in every thread, ns
read_db.py DB time               what the ranks did over time, from the map of a traced run, in sums
read_db.py DB segments           how long iterations took on each rank, when the first and the last began (ns), and what
                                 else was counted in them, in sums, with the context where it was most in most of them
read_db.py DB machine            how threads were scheduled, and what the machine is suspected of
read_db.py DB check              recomputes inclusive from exclusive values everywhere, and compares with the summaries
"""

import pathlib
import sys

try:
    import culprit
except ImportError:  # not installed: beside this file
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
    import culprit

NONE = 0xFFFFFFFF
TIME = "REALTIME:sum (I)"


def info(db):
    for name in ("run_id", "mpi", "program", "command", "hosts", "start", "duration_s", "ranks"):
        print(f"{name}: {db.info[name]}")
    print("metrics:", ", ".join(f"{metric['name']} ({metric['unit']})" for metric in db.metrics))
    print("roles:", ", ".join(f"{role['threads']} {role['role']}" for role in db.roles))


def tree(db, depth=8):
    level = {None: -1}
    for node in db.calling_context.walk():
        level[node] = level[node.parent] + 1
        if level[node] <= int(depth):
            frame = node.frame
            print(f"{node[TIME]:12.6f}  {'  ' * level[node]}{node.id} {frame.kind} {frame.name} {frame.place}".rstrip())


def threads(db, context):
    values = db.node(f"c{context}").per_thread(TIME)
    for thread, value in zip(db.threads, values):
        print(-1 if thread["rank"] is None else thread["rank"], thread["thread"], round(value * 1e9))


def time(db):
    map_of = db.time_map
    for row in map_of.rows:
        waiting = sum(sum(cells.values()) for cells in row.waits.values())
        known = {first + i for first, number in row.segments for i in range(number)}
        print(f"rank {row.rank}: {map_of.bins} bins of {map_of.bin_ns} ns, {sum(row.calls)} ns in MPI calls, "
              f"{waiting} ns in wait patterns, {len(known)} segments")  # fmt: skip


def segments(db):
    for number, level in enumerate(db.levels):
        for row in level.rows:
            parts = [f"{len(row.times)} segments", f"{sum(row.times)} ns"]
            if row.begins:
                parts.append(f"from {row.begins[0]} to {row.begins[-1]}")
            for place, metric in enumerate(level.metrics):
                where = [context for context in row.contexts[place] if context != NONE] if row.contexts else []
                most = f" mostly in c{max(sorted(set(where)), key=where.count)}" if where else ""
                parts.append(f"{sum(row.values[place])} {db.meta.metrics[metric].name}{most}")
            print(f"level {number}, rank {row.rank}: {', '.join(parts)}")


def machine(db):
    print(db.schedules)
    print(db.machine)


def check(db):
    """Inclusive values of each context and thread are the sums of what its subtree's contexts have themselves."""
    roles = db.locations.roles
    profiles = [db.tiles.profile(location) for location in range(len(roles))]
    for metric in range(len(db.meta.metrics)):
        columns = [dict(zip(p.indices, p.column(metric))) if metric < len(p.forms) else {} for p in profiles]
        for number, context in enumerate(db.contexts):
            kept = db.tiles.inclusive([(number, context.end)], metric)
            own = [sum(value for at, value in column.items() if number <= at < context.end) for column in columns]
            if own != kept:
                sys.exit(f"read_db.py: context {number}, metric {metric}: {own} and {kept}")
            for role in set(roles):
                summary = db.context_summaries.get(role, metric, number, True)
                expected = sum(value for value, of in zip(own, roles) if of == role)
                if not db.meta.metrics[metric].summary_only and (role, metric) in db.context_summaries.tables and summary.sum != expected:
                    sys.exit(f"read_db.py: context {number}, metric {metric}, role {role}: summary differs")
    print(f"{len(db.contexts)} contexts, {len(roles)} threads: by thread, by context and in sum the same")


COMMANDS = {of.__name__: of for of in (info, tree, threads, time, segments, machine, check)}


def main():
    if len(sys.argv) < 2 or (command := (sys.argv[2:] or ["info"])[0]) not in COMMANDS:
        sys.exit(__doc__)
    try:
        COMMANDS[command](culprit.open(sys.argv[1]), *sys.argv[3:])
    except (OSError, culprit.FormatError, culprit.UnknownName) as error:
        sys.exit(f"read_db.py: {error}")


if __name__ == "__main__":
    main()
