"""What traces hold, as their tests see it: calls with operations, and what communicators, windows and groups are."""

import json

import harness


class Process:
    """One process's trace."""

    def __init__(self, text):
        read = json.loads(text)
        self.rank, self.definitions, self.clocks = read["rank"], read["definitions"], read["clocks"]
        self.sealed, self.dropped, self.bytes = read["sealed"], read["dropped"], read["bytes"]
        self.threads = [thread["calls"] for thread in read["threads"] if thread["calls"]]
        self.readings = [reading for thread in read["threads"] for reading in thread["readings"]]
        self.samples = sum(thread["samples"] for thread in read["threads"])

    def members(self, context):
        """The ranks of a context where this process recorded them: in it, or in what has the same."""
        while True:
            definition = self.definitions[context]
            if definition["members"] or definition["parent"] < 0:
                return definition["members"]
            context = definition["parent"]


def read(directory):
    """The traces of a measurement directory, by rank."""
    lines = harness.run([harness.PROGRAMS / "trace_dump", directory]).stdout.splitlines()
    return sorted(map(Process, lines), key=lambda process: process.rank)


def parse_expected(line):
    """One line of what every_operation.c writes: (any, [operation]). + begins only, - completes only, ~ neither: is freed."""
    words = line.split(" ", 1)
    any_of_them = words[0].strip() == "any"
    if any_of_them:
        line = words[1] if len(words) > 1 else ""
    operations = []
    for text in filter(None, (part.strip() for part in line.split("|"))):
        kind, *fields = text.split()
        operation = {"begins": kind[0] not in "-~", "completes": kind[0] not in "+~", "kind": kind.lstrip("+-~")}
        for field in fields:
            name, _, value = field.partition("=")
            operation[name] = value if value else True
        operations.append(operation)
    return any_of_them, operations
