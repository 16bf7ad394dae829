"""docs/read_db.py, the smallest example of the package culprit, says of a database what viewer-cli says.

Usage: test_read_db.py MAKE_EXAMPLE_DB VIEWER_CLI READ_DB SCRATCH
"""

import json
import pathlib
import subprocess
import sys

MAKE, VIEWER, READ, SCRATCH = sys.argv[1:5]


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def flatten(node):
    yield node
    for child in node["children"]:
        yield from flatten(child)


def main():
    database = pathlib.Path(SCRATCH) / "read_db.db"
    database.parent.mkdir(parents=True, exist_ok=True)
    run(MAKE, database)
    print(run(sys.executable, READ, database, "check"), end="")

    assert run(sys.executable, READ, database, "time").splitlines() == [
        "rank 0: 3 bins of 100 ns, 70100 ns in MPI calls, 0 ns in wait patterns, 2 segments",
        "rank 1: 3 bins of 100 ns, 0 ns in MPI calls, 308 ns in wait patterns, 3 segments",
    ]

    lines = run(sys.executable, READ, database, "machine").splitlines()
    assert lines[1].split()[:2] == ["0", "0"] and "0, 2, 4, 9" in lines[1], lines
    assert "1, 3, 5, 10" in lines[2], lines

    names = [metric["name"] for metric in json.loads(run(VIEWER, database, "info", "--format", "json"))["metrics"][:2]]
    most = 2**64 - 1
    lines = run(sys.executable, READ, database, "tree", "99").splitlines()
    last = max(int(line.split()[1][1:]) for line in lines)
    assert run(sys.executable, READ, database, "segments").splitlines() == [
        f"level 0, rank 0: 2 segments, 70500 ns, from 60 to 700, 1 {names[0]} mostly in c1, 1000009 {names[1]}",
        f"level 0, rank 1: 0 segments, 0 ns, 0 {names[0]}, 0 {names[1]}",
        f"level 1, rank 0: 0 segments, 0 ns, 0 {names[0]}, 0 {names[1]}",
        f"level 1, rank 1: 1 segments, 300 ns, from {most} to {most}, {most} {names[0]} mostly in c{last}, 5 {names[1]} mostly in c0",
    ]
    view = json.loads(run(VIEWER, database, "view", "calling-context", "--metrics", "REALTIME:sum (I)", "--format", "json"))
    shown = {n["id"]: n for root in view["roots"] for n in flatten(root)}
    assert len(lines) == len(shown), (len(lines), len(shown))
    for line in lines:
        seconds, context, kind = line.split()[:3]
        node = shown[context]
        assert abs(float(seconds) - node["values"]["REALTIME:sum (I)"]) < 1e-5, line
        assert kind == node["frame"]["kind"], line

    for context in list(shown)[:: max(1, len(shown) // 20)]:
        values = json.loads(run(VIEWER, database, "threads", context, "--metric", "REALTIME", "--format", "json"))["values"]
        rows = [line.split() for line in run(sys.executable, READ, database, "threads", context[1:]).splitlines()]
        assert [(int(rank), int(thread)) for rank, thread, _ in rows] == [(v["rank"], v["thread"]) for v in values], context
        for (_, _, ns), value in zip(rows, values):
            assert abs(int(ns) / 1e9 - value["value"]) < 1e-9, (context, ns, value)

    damaged = bytearray(database.read_bytes())
    damaged[1000] ^= 1
    database.write_bytes(damaged)
    broken = subprocess.run([VIEWER, str(database), "threads", "c0", "--format", "json"], capture_output=True, text=True)
    assert broken.returncode == 1 and "damaged" in broken.stderr, broken


if __name__ == "__main__":
    main()
