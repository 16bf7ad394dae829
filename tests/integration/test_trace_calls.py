"""Time lines hold every MPI call with its operations, and name communicators, groups and windows the same everywhere."""

import unittest

import harness
import traces

PEERS = {"any": -2, "all": -2, "here": -3}
FLAGS = {"cancelled", "exclusive", "no_precede", "no_succeed", "no_check"}


class Names:
    """The program's names of things, each for one thing of the traces and the other way round."""

    def __init__(self, what):
        self.what, self.of, self.by = what, {}, {}

    def same(self, name, thing):
        return self.of.setdefault(name, thing) == thing and self.by.setdefault(thing, name) == name


class Comparison:
    """The calls of all ranks with what the program says of them. Raises AssertionError at the first difference."""

    def __init__(self):
        self.contexts = Names("context")

    def rank(self, process, lines, calls):
        self.process, self.ids, self.early = process, Names("operation"), set()
        expected = [line for line in lines if not line.startswith("members ")]
        assert len(calls) == len(expected), f"{len(calls)} calls, {len(expected)} expected"
        for number, (line, call) in enumerate(zip(expected, calls)):
            any_of_them, operations = traces.parse_expected(line)
            operations = [one for one in operations if one["begins"] or one["id"] not in self.early]
            where = f"rank {process.rank}, call {number}: {line[:200]}: {str(call)[:400]}"
            assert call["any"] == any_of_them, where
            assert len(call["operations"]) == len(operations), where
            for wanted, found in zip(operations, call["operations"]):
                self.operation(wanted, found, where)
        for line in lines:
            if line.startswith("members "):
                self.members(*line.split(" ", 2)[1:])

    def context(self, name, context, where):
        if name is None:
            assert context < 0, f"{where}: a context"
            return
        assert context >= 0, f"{where}: no context"
        global_id = self.process.definitions[context]["global_id"]
        assert self.contexts.same(name, global_id), f"{where}: {name} is {global_id}, and something else"

    def operation(self, wanted, found, where):
        assert found["kind"] == wanted["kind"], where
        if wanted["begins"] and not wanted["completes"] and found["completes"]:
            self.early.add(wanted["id"])  # an eager send, complete before it is waited for
        else:
            assert found["completes"] == wanted["completes"], where
        assert found["begins"] == wanted["begins"], where
        self.context(wanted.get("on"), found["context"], where)
        self.context(wanted.get("made"), found["made"], where)
        peer = wanted.get("peer", "-1")
        assert found["peer"] == int(PEERS.get(peer, peer)), where
        tag = wanted.get("tag", "0")
        assert found["tag"] == (-1 if tag == "any" else int(tag)), where
        for key, name in (("bytes", "bytes"), ("received", "bytes_received")):
            if key in wanted:
                assert found[name] == int(wanted[key]), where
        assert ("id" in wanted) == (found["id"] != 0), where
        if "id" in wanted:
            assert self.ids.same(wanted["id"], found["id"]), where
        assert set(found["flags"]) == FLAGS & set(wanted), where
        if "group" in wanted:
            members = self.process.definitions[found["group"]]["members"]
            assert members == [int(rank) for rank in wanted["group"].split(",")], where

    def members(self, name, ranks):
        """The first of them has recorded them all."""
        ranks = [int(rank) for rank in ranks.split()]
        if self.process.rank != ranks[0]:
            return
        of = [i for i, one in enumerate(self.process.definitions) if one["global_id"] == self.contexts.of[name]]
        assert len(of) == 1, name
        assert self.process.members(of[0]) == ranks, f"{name}: {self.process.members(of[0])}"


class TraceCalls(harness.Workspace):
    def trace(self, mpi, ranks, program, *arguments, **options):
        directory = self.measure(mpi, ranks, harness.PROGRAMS / f"{program}.{mpi}", *arguments, options=["--trace"], **options)
        return traces.read(directory)

    def check_every_operation(self, mpi):
        comparison = Comparison()
        for process in self.trace(mpi, 4, "every_operation", self.here):
            lines = (self.here / f"expected-{process.rank}").read_text().splitlines()
            self.assertEqual(len(process.threads), 1)
            self.assertTrue(process.sealed)
            self.assertEqual(process.dropped, 0)
            comparison.rank(process, lines, process.threads[0])
        self.assertEqual(len(comparison.contexts.of), 17)

    def test_every_operation_openmpi(self):
        self.check_every_operation("openmpi")

    def test_every_operation_mpich(self):
        self.check_every_operation("mpich")


if __name__ == "__main__":
    unittest.main()
