"""Adds up what exported files hold, by metric, each by its own format's rules. Times in seconds unless stated otherwise."""

import csv
import gzip
import io
import json
import subprocess

import harness


def export(database, form, *options):
    """The bytes of an exported file."""
    done = subprocess.run([str(word) for word in (harness.VIEWER, database, "export", form, *options)],
                          capture_output=True, timeout=120, check=True)
    assert not done.stderr, done.stderr
    return done.stdout


def shown(database):
    """What `view` shows for the whole run, by metric; without those that only all threads together have."""
    metrics = [metric["name"] for metric in harness.viewer_json(database, "info")["metrics"]]
    names = [f"{name}:sum (I)" for name in metrics if name != "imbalance"]
    root = harness.viewer_json(database, "view", "--depth", "0", "--metrics", ",".join(names))["roots"][0]
    return {name: root["values"][f"{name}:sum (I)"] for name in metrics if name != "imbalance"}


# Files of one metric: the sum, in the unit of their numbers.


def collapsed(data):
    return sum(int(line.rsplit(" ", 1)[1]) for line in data.decode().splitlines())


def speedscope(data):
    profiles = json.loads(data)["profiles"]
    for profile in profiles:
        assert sum(profile["weights"]) == profile["endValue"] and len(profile["weights"]) == len(profile["samples"])
    return sum(profile["endValue"] for profile in profiles)


# Files of all metrics.


def fields(message):
    """The fields of a message of protocol buffers: (number, value), values integers or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2, "a wire type that profile.proto does not use"
            length = varint()
            yield key >> 3, message[at:at + length]
            at += length


def packed(values):
    """The integers of a repeated field, packed or not."""
    numbers = []
    for value in values:
        if isinstance(value, int):
            numbers.append(value)
            continue
        number = shift = 0
        for byte in value:
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                numbers.append(number)
                number = shift = 0
    return numbers


def pprof(data):
    SAMPLE_TYPE, SAMPLE, STRING = 1, 2, 6  # of Profile
    VALUE = 2  # of Sample
    parts = list(fields(gzip.decompress(data)))
    strings = [value.decode() for number, value in parts if number == STRING]  # fails unless they are UTF-8
    types = [dict(fields(value)) for number, value in parts if number == SAMPLE_TYPE]
    sums = [0] * len(types)
    for number, value in parts:
        if number == SAMPLE:
            values = packed(inner for field, inner in fields(value) if field == VALUE)
            assert len(values) == len(types)
            sums = [total + each for total, each in zip(sums, values)]
    figures = {}
    for kind, total in zip(types, sums):
        seconds = strings[kind.get(2, 0)] == "nanoseconds"
        figures[strings[kind[1]]] = total / 1e9 if seconds else total
    return figures


def hatchet(data):
    roots = json.loads(data)
    nodes = list(harness.walk(roots))
    metrics = list(roots[-1]["metrics"])
    sums = {}
    for metric in metrics:
        if metric.endswith(" (inc)"):
            continue
        assert metric + " (inc)" in metrics
        sums[metric] = sum(node["metrics"][metric] for node in nodes)
        inclusive = sum(root["metrics"][metric + " (inc)"] for root in roots)
        assert abs(sums[metric] - inclusive) < 1e-5, metric
    return sums


def caliper(data):
    """As Hatchet reads it: rows of (node, rank), of which none may stand twice; inclusive figures are those of a node's own
    and of all below it."""
    read = json.loads(data)
    columns = [{"sum#time.duration": "time", "inclusive#sum#time.duration": "time (inc)", "mpi.rank": "rank"}.get(name, name)
               for name in read["columns"]]
    assert len(set(columns)) == len(columns) and columns[0] == "path"
    assert not {"nid", "node", "name", "file", "line"} & set(columns), "names that the reader uses itself"
    parents = [node.get("parent") for node in read["nodes"]]
    assert all(parent is None or parent < number for number, parent in enumerate(parents))
    assert all(isinstance(node["label"], str) and node["label"] for node in read["nodes"])
    rank, metrics = columns.index("rank"), [name for name in columns[1:] if name != "rank" and not name.endswith(" (inc)")]
    ranks = {row[rank] for row in read["data"]}
    assert ranks == set(range(max(ranks) + 1)), "the reader makes rows for ranks that have none"
    assert len({(row[0], row[rank]) for row in read["data"]}) == len(read["data"])
    for metric in metrics:
        own, inclusive = columns.index(metric), columns.index(metric + " (inc)")
        below = {}
        for row in sorted(read["data"], key=lambda row: -row[0]):  # what is below comes first
            whole = row[own] + below.get((row[0], row[rank]), 0)
            assert abs(whole - row[inclusive]) < 1e-6, (metric, row)
            up = (parents[row[0]], row[rank])
            below[up] = below.get(up, 0) + row[inclusive]
    return {metric: sum(row[columns.index(metric)] for row in read["data"]) for metric in metrics}


def json_view(data):
    root = json.loads(data)["roots"][0]
    return {name[:-len(":sum (I)")]: value for name, value in root["values"].items()
            if name.endswith(":sum (I)") and not name.startswith("imbalance:")}


def csv_view(data):
    """Of the whole run, which is the first row."""
    rows = list(csv.DictReader(io.StringIO(data.decode())))
    root = rows[0]
    assert root["parent"] == "" and all(row["parent"] for row in rows[1:])
    return {name[:-len(":sum (I)")]: float(value) for name, value in root.items()
            if name.endswith(":sum (I)") and not name.startswith("imbalance:")}


WHOLE = {"pprof": pprof, "hatchet": hatchet, "caliper": caliper, "json": json_view, "csv": csv_view}
OF_ONE_METRIC = {"collapsed": collapsed, "speedscope": speedscope}
