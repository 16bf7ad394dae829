"""Time lines hold every MPI call with its operations, and name communicators, groups and windows the same everywhere."""

import itertools
import unittest

import harness
import traces
from against_logs import truth
from trace_against_logs import AgainstLogs

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
    twins = False  # the wrappers of each MPI are made from its own headers

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
            for before, after in itertools.pairwise(process.threads[0]):
                self.assertLessEqual(before["exit"], after["enter"])
        self.assertEqual(len(comparison.contexts.of), 24)

    def test_every_operation_openmpi(self):
        self.check_every_operation("openmpi")

    def test_every_operation_mpich(self):
        self.check_every_operation("mpich")

    def check_logs(self, mpi, ranks, programs):
        """Windows of any kind: Open MPI's default component refuses memory of the program's own."""
        environment = dict(harness.ENVIRONMENT, OMPI_MCA_osc="pt2pt")
        for program in programs:
            with self.subTest(program):
                here = self.here / program
                here.mkdir()
                processes = self.trace(mpi, ranks, f"truth_{program}", here, 2, 5, name=f"{program}/run", env=environment)
                logs = truth.read(here)
                comparison = AgainstLogs(processes, logs)
                self.assertEqual(comparison.compared, sum(c.function.startswith("MPI_") for log in logs for c in log.calls))

    def test_logs_openmpi(self):
        self.check_logs("openmpi", 2, ["point_to_point", "requests", "collectives", "active_target", "fortran_mpif"])

    def test_logs_mpich(self):
        self.check_logs("mpich", 2, ["requests", "collectives", "active_target", "passive_target", "fortran_f08"])

    def check_failing_requests(self, mpi):
        """Statuses of our own change no error code and no handle; all that is open at last is known to be."""
        plain = harness.launch(mpi, 1, [harness.PROGRAMS / f"failing_requests.{mpi}"]).stdout
        command = [harness.HPCRUN, "--trace", "-o", self.here / "run", harness.PROGRAMS / f"failing_requests.{mpi}"]
        self.assertEqual(harness.launch(mpi, 1, command).stdout, plain)
        (process,) = traces.read(self.here / "run")
        self.assertTrue(any(call["operations"] for call in process.threads[0]))

    def test_failing_requests_openmpi(self):
        self.check_failing_requests("openmpi")

    def test_failing_requests_mpich(self):
        self.check_failing_requests("mpich")

    def check_clocks(self, mpi):
        """Three hosts, made up, whose clocks are seconds apart and drift: the comparisons bring all calls to one time."""
        ahead, drift = 5_000_000_000, 100_000
        environment = dict(harness.ENVIRONMENT, CULPRIT_WRONG_CLOCKS=f"3,{ahead},{drift}")
        processes = self.trace(mpi, 4, "truth_requests", self.here, 1, 5, env=environment)
        inits, ends = [], []
        for process in processes:
            first, last = [pair for pair in process.clocks if pair["reference"] == 0]
            host = process.rank % 3
            wrong = [pair["monotonic"] - pair["reference_ns"] - host * ahead for pair in (first, last)]
            self.assertLess(abs(wrong[0]), 10e6, first)  # what the clock gained since it was set, in MPI_Init
            gained = host * drift * (last["reference_ns"] - first["reference_ns"]) // 10**9
            error = 2000 + first["round_trip"] + last["round_trip"]
            self.assertAlmostEqual(wrong[1] - wrong[0], gained, delta=error)
            offset = first["reference_ns"] - first["monotonic"]
            inits.append(process.threads[0][0]["exit"] + offset)
            ends.append(process.threads[0][-1]["enter"] + offset)
        self.assertLess(max(inits) - min(inits), ahead / 2)
        self.assertLess(max(inits), min(ends) + ahead / 2)

    def test_clocks_openmpi(self):
        self.check_clocks("openmpi")

    def test_clocks_mpich(self):
        self.check_clocks("mpich")

    def check_one_host(self, mpi):
        """On one host nothing is compared; where not all ranks are measured neither, and every process is complete."""
        for options in ((), ("--ranks", "1")):
            name = f"run{len(options)}"
            directory = self.here / name
            command = [harness.HPCRUN, "--trace", *options, "-o", directory, harness.PROGRAMS / f"truth_requests.{mpi}", self.here, 1, 5]
            harness.launch(mpi, 2, command, cwd=self.here)
            processes = traces.read(directory)
            self.assertEqual(len(processes), 1 if options else 2)
            for process in processes:
                self.assertEqual([pair for pair in process.clocks if pair["reference"] >= 0], [])
                self.assertEqual(process.threads[0][-1]["operations"][0]["kind"], "finalize")
                if options:
                    self.assertEqual(process.definitions[0]["members"], [0, 1])

    def test_one_host_openmpi(self):
        self.check_one_host("openmpi")

    def test_one_host_mpich(self):
        self.check_one_host("mpich")

    def check_broken(self, mpi, how):
        """Traces of programs that are wrong or die hold what was before; of those killed, what was until a quarter of a second before."""
        seconds = 2 if how in ("exit", "kill") else 0.2  # so that the last two barriers are half a second and more before the end
        command = [harness.HPCRUN, "--trace", "-o", self.here / how, harness.PROGRAMS / f"truth_broken.{mpi}", self.here, seconds, how]
        harness.launch(mpi, 2, command, cwd=self.here, expect=None)
        processes = traces.read(self.here / how)
        self.assertEqual([process.rank for process in processes], [0, 1])
        for process in processes:
            kinds = [one["kind"] for calls in process.threads for call in calls for one in call["operations"]]
            self.assertGreaterEqual(kinds.count("barrier"), 9)
            if how == "unmatched":
                self.assertEqual((kinds.count("send"), kinds.count("receive"), kinds[-1]), (3, 2, "finalize"))
            if how == "window":
                self.assertEqual([kinds.count(kind) for kind in ("barrier", "create", "fence")], [10, 2, 3])
        if how == "unmatched":
            self.check_said(self.merge(self.here / how))

    def check_said(self, database):
        """That messages found no receive is said wherever it may have changed the result."""
        quality = harness.viewer_json(database, "report")["quality"]
        self.assertEqual((quality["unmatched"]["sends"], quality["unmatched_ranks"]), (6, [0, 1]))
        for command in ("report", "waits", "causes", "hotspots", "critical-path", "what-if"):
            options = ["--remove", "main"] if command == "what-if" else []
            said = " ".join(harness.run([harness.VIEWER, database, command, *options]).stdout.split())
            self.assertRegex(said, r"6 operations .*found no partner", command)
            self.assertIn("messages of ranks 0, 1", said, command)

    def test_broken(self):
        for mpi, how in (("openmpi", "unmatched"), ("mpich", "window"), ("openmpi", "exit"), ("mpich", "kill"), ("mpich", "threads")):
            with self.subTest((mpi, how)):
                self.check_broken(mpi, how)

    def check_concurrent_calls(self, mpi):
        """Each thread's calls are its own, every operation that begins ends once, and every message has two ends."""
        rounds = 200
        processes = self.trace(mpi, 2, "concurrent_calls", rounds)
        for process in processes:
            self.assertEqual(process.dropped, 0)
            workers = [
                calls for calls in process.threads if calls[0]["operations"][0]["kind"] in ("send", "receive")
            ]
            self.assertEqual([len(calls) for calls in workers], 4 * [rounds * 7])
            begun, ended = {}, []
            for calls in workers:
                for operation in (one for call in calls for one in call["operations"]):
                    if operation["begins"] and not operation["completes"]:
                        self.assertNotIn(operation["id"], begun)
                        begun[operation["id"]] = operation
                    elif operation["completes"] and not operation["begins"]:
                        ended.append(operation["id"])
                    if operation["completes"] and operation["kind"] == "receive":
                        self.assertEqual((operation["peer"], operation["bytes"]), (1 - process.rank, 4))
                for call in calls:  # sends that are complete at once share handles: any thread may end them
                    received = [one for one in call["operations"] if one["kind"] == "receive"]
                    self.assertLessEqual(len({one["tag"] // 10 for one in received}), 1, call)
            self.assertEqual(sorted(ended), sorted(begun))

    def test_concurrent_calls_openmpi(self):
        self.check_concurrent_calls("openmpi")

    def test_concurrent_calls_mpich(self):
        self.check_concurrent_calls("mpich")


if __name__ == "__main__":
    unittest.main()
