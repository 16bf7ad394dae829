"""Exact waits, their causes and the critical path from time lines, against what the truth programs logged themselves,
under both MPIs.

How waits are compared. A program reads the clock before it calls MPI and after, the tools when the call has begun and
before it ends; where the thread loses its processor in between, the two differ by as much as that took. So it is
checked, call by call, that the tools' times lie within the program's, on the right side of the wait but for a few; and then, wait by
wait, that what the tools found is to the nanosecond what the referee (truth.py) makes of those times.

CULPRIT_RANKS_TRIED="2 3 8 16" compares on these numbers of ranks what is otherwise compared on four.
"""

import collections
import dataclasses
import os
import unittest

import harness
import traces
from against_logs import truth
from trace_against_logs import AgainstLogs

import costs  # beside truth.py
from made import MADE

TRACE = ("--trace",)
PARTS = ("late-sender-wrong-order", "late-complete", "early-fence")
COMPLETIONS = ("barrier-completion", "nxn-completion")
# Some of these calls only the tools see: creations of windows and communicators.
UNLOGGED = ("wait-at-create", "wait-at-free")
EXACT = 1e-9  # s per wait: what a sum of decimal numbers loses
# Made only where no other rank lost its processor for longer than the delay: the library's tree must be held up by the last.
BY_THE_LAST = {"wait-at-root"}
EVERYWHERE = {"wait-at-init", "wait-at-finalize"}  # however short
IN_CHAIN = {"MPI_Send", "MPI_Recv", "MPI_Barrier", "MPI_Win_post", "MPI_Win_wait", "MPI_Win_start", "MPI_Put", "MPI_Win_complete"}
# In some scenarios a third rank waits.
LEAST_RANKS = {"point_to_point": 3, "requests": 3, "active_target": 3, "passive_target": 3, "mixed": 4, "fortran_f08": 3}
FURTHER_RANKS = {"mixed": (2,)}  # its first communicator, two ranks backwards, once had another's name
RANKS_TRIED = [int(ranks) for ranks in os.environ.get("CULPRIT_RANKS_TRIED", "4").split()]
DELAY = 20  # ms
ACCURACY = 0.25e6 * DELAY  # ns per call: a clock that is read on the wrong side of a wait is off by a delay
REPETITIONS = 3 if harness.THOROUGH else 2


def key_of_row(row):
    """Who waited for whom; which of those that had entered a barrier left it first is a matter of microseconds."""
    cause = None if row["pattern"] in COMPLETIONS else row["cause"]["rank"]
    return row["pattern"], row["rank"], cause


def key_of_wait(wait):
    cause = None if wait.pattern in COMPLETIONS else wait.cause.rank
    return wait.pattern, wait.call.rank, cause


def as_traced(fact, operations):
    """A send that the program knows not to wait for its receive is to the tools one that may, unless it is buffered. A
    nonblocking one may also be complete at once, whatever call the program completes it in: that waits for nothing."""
    name, numbers = fact
    if name != "sends" or numbers[5] != truth.EAGER:
        return fact
    sends = [one for one in operations if one["kind"] == "send" and one["begins"] and one["tag"] == numbers[2]]
    if not sends:
        return fact
    if numbers[0] and sends[0]["completes"]:
        return name, (0, *numbers[1:])
    return name, (*numbers[:5], truth.STANDARD)


def restamped(logs, processes):
    """The logs with the times that the tools recorded; and (call, call with those times) of each."""
    pairs, copies = [], []
    for log, process in zip(logs, processes):
        calls = []
        for call in log.calls:
            times = [one for thread in process.threads for one in AgainstLogs.inside(thread, call)]
            copy = dataclasses.replace(call, inner=[])
            if call.function.startswith("MPI_") and call.exit != truth.FOREVER:
                assert len(times) == 1, f"rank {log.rank}: {call}: {times}"
                facts = [as_traced(fact, times[0]["operations"]) for fact in call.facts]
                copy = dataclasses.replace(copy, enter=times[0]["enter"], exit=times[0]["exit"], facts=facts)
                pairs.append((log.rank, call, copy))
            calls.append(copy)
        truth.nest(calls)
        copies.append(dataclasses.replace(log, calls=calls))
    return copies, pairs


class ExactWaits(harness.Workspace):
    def run_truth(self, mpi, ranks, program, *scenario, name="", **environment):
        logs = self.here / f"logs-{ranks}{name}"
        logs.mkdir()
        program = harness.PROGRAMS / f"truth_{program}.{mpi}"
        settings = {"name": f"run-{ranks}{name}", "options": TRACE, "env": dict(harness.ENVIRONMENT, **environment)}
        measured = self.measure(mpi, ranks, program, logs, REPETITIONS, DELAY, *scenario, **settings)
        self.database = self.merge(measured)
        self.waits = harness.viewer_json(self.database, "waits")
        self.causes = harness.viewer_json(self.database, "causes")
        self.critical_path = harness.viewer_json(self.database, "critical-path")
        self.logs, processes = truth.read(logs), traces.read(measured)
        AgainstLogs(processes, self.logs)
        self.copies, self.pairs = restamped(self.logs, processes)
        self.truth = truth.Truth(self.copies)

    def recorded(self):
        """The logged calls with the times that the tools recorded: what interrupts a rank between the program's reading
        of the clock and ours makes no difference."""
        return [call for log in self.copies for call in log.calls]

    def check_stamps(self):
        """Of all calls but few were interrupted between the program's clock and ours. And loops of polls begin with the
        first of them, which was over by then, or right after it, where the program's own reading of the clock took long; but
        for those in which the host took the processor: to the thread that looks like work between two polls."""
        late, loops, late_loops = [], 0, 0
        for _, logged, traced in self.pairs:
            late.append(traced.enter - logged.enter > ACCURACY or logged.exit - traced.exit > ACCURACY)
            polls = logged.one("polls")
            if polls is not None:
                loops += 1
                late_loops += traced.enter - logged.enter > polls[1] + ACCURACY
        self.assertLess(sum(late), len(late) / 4)
        self.assertLess(late_loops, max(loops, 1))

    def check_waits(self):
        self.assertEqual(self.truth.unmatched, {})
        self.assertEqual(self.disagreeing(), {})

    def disagreeing(self):
        """Sums of waits that are not what the referee says, with both."""
        found, found_count = collections.Counter(), collections.Counter()
        for row in self.waits:
            if row["exact"]:
                found[key_of_row(row)] += row["seconds"]
                found_count[key_of_row(row)] += row["count"]
        true, true_count = collections.Counter(), collections.Counter()
        for wait in self.truth.waits:
            true[key_of_wait(wait)] += wait.nanoseconds / 1e9
            true_count[key_of_wait(wait)] += 1
        self.assertGreater(sum(true.values()), 0.02)

        def disagree(key):
            if key[0] in UNLOGGED:
                return found[key] < true[key] - EXACT * true_count[key]
            return found_count[key] != true_count[key] or abs(found[key] - true[key]) > EXACT * true_count[key]

        return {
            key: (found[key], found_count[key], true[key], true_count[key])
            for key in set(found) | set(true)
            if disagree(key)
        }

    def check_patterns(self, made):
        """Nothing was compared with nothing: the patterns are there."""
        found = collections.Counter()
        for row in self.waits:
            found[row["pattern"]] += row["seconds"] if row["exact"] else 0
        logged = {wait.pattern for wait in self.truth.waits if wait.nanoseconds > 0.5e6 * DELAY}
        made = made - (BY_THE_LAST - logged)
        self.assertGreaterEqual({pattern for pattern in found if found[pattern] > 0.5 * DELAY / 1e3}, made, found)
        self.assertGreaterEqual(found.keys(), EVERYWHERE)

    def check_conservation(self):
        """All waiting, parts and completions left out, is somebody's cost, or said to be nobody's."""
        waiting = sum(
            row["seconds"]
            for row in self.waits
            if row["exact"] and row["pattern"] not in PARTS + COMPLETIONS
        )
        divided = [
            row["direct_s"] + row["indirect_s"]
            for row in self.waits
            if row["direct_s"] is not None
        ]
        self.assertAlmostEqual(sum(divided), waiting, delta=1e-6)
        causes = self.causes
        cost = sum(row["short_term_s"] + row["long_term_s"] for row in causes)
        self.assertAlmostEqual(cost, waiting, delta=1e-6)
        self.assertEqual(len([row for row in causes if row["path"] == []]), 1)

    def per_rank(self, metric):
        """Seconds by rank of a metric of the whole program."""
        values = harness.viewer_json(self.database, "threads", "<program root>", "--metric", metric)["values"]
        return {value["rank"]: value["value"] for value in values if value["value"]}

    def check_metrics(self):
        """Waits and costs are metrics of every view, rank by rank what the tables say."""
        expected = collections.defaultdict(collections.Counter)
        for row in self.waits:
            if row["exact"]:
                expected[row["pattern"]][row["rank"]] += row["seconds"]
            if row["direct_s"] is not None:
                expected["direct-wait"][row["rank"]] += row["direct_s"]
                expected["indirect-wait"][row["rank"]] += row["indirect_s"]
        for row in self.causes:
            if row["path"]:
                expected["delay-cost-short"][row["rank"]] += row["short_term_s"]
                expected["delay-cost-long"][row["rank"]] += row["long_term_s"]
        for row in self.critical_path["paths"]:
            for share in row["ranks"]:
                expected["critical-path"][share["rank"]] += share["seconds"]
        expected = {metric: +sums for metric, sums in expected.items() if +sums}
        known = [metric["name"] for metric in harness.viewer_json(self.database, "info")["metrics"]]
        for metric, sums in expected.items():
            self.assertIn(metric, known)
            found = self.per_rank(metric)
            self.assertEqual(found.keys(), sums.keys(), metric)
            for rank, seconds in sums.items():
                self.assertAlmostEqual(found[rank], seconds, delta=1e-6, msg=metric)
        # Each wait is direct, or indirect, or both in part.
        waits = collections.Counter()
        for row in self.waits:
            if row["exact"] and row["pattern"] not in PARTS + COMPLETIONS:
                waits[row["rank"]] += row["seconds"]
        origins = [self.per_rank(metric) for metric in ("direct-wait", "indirect-wait") if metric in known]
        for rank, seconds in waits.items():
            self.assertAlmostEqual(sum(origin.get(rank, 0) for origin in origins), seconds, delta=1e-6)
        longest = max(expected, key=lambda metric: sum(expected[metric].values()))
        total = sum(expected[longest].values())
        for view in ("calling-context", "callers", "flat"):
            columns = f"{longest}:sum (E)"
            roots = harness.viewer_json(self.database, "view", view, "--metrics", columns, "--inside-waits")["roots"]
            of_procedures = sum(
                node["values"][columns] or 0 for node in harness.walk(roots) if node["frame"]["kind"] == "procedure"
            )
            self.assertGreater(of_procedures, 0.5 * total, (view, longest))

    def check_critical_path(self):
        """As long as the run, from the end of the first MPI_Init on the way to the last enter of MPI_Finalize."""
        path = self.critical_path
        self.assertAlmostEqual(sum(row["seconds"] for row in path["paths"]), path["length_s"], delta=1e-6)
        exits = [call.exit / 1e9 for call in self.recorded() if call.function == "MPI_Init"]
        last = max(call.enter / 1e9 for call in self.recorded() if call.function == "MPI_Finalize")
        self.assertGreaterEqual(path["length_s"], last - max(exits) - 1e-3)
        self.assertLessEqual(path["length_s"], last - min(exits) + 1e-3)
        for row in path["paths"]:
            self.assertAlmostEqual(sum(share["seconds"] for share in row["ranks"]), row["seconds"], delta=1e-6)
            self.assertLessEqual(row["imbalance_s"], row["seconds"])

    def compare(self, mpi, program):
        for ranks in sorted({*RANKS_TRIED, *FURTHER_RANKS.get(program, ())}):
            with self.subTest(ranks=ranks):
                self.compare_on(mpi, ranks, program, MADE[program] if ranks >= LEAST_RANKS.get(program, 2) else set())

    def test_operations_that_wait_for_their_targets_post(self):
        self.run_truth("openmpi", 2, "active_target", "early_transfer", OMPI_MCA_osc="pt2pt")
        self.check_waits()
        self.check_patterns({"early-transfer"})

    def test_who_is_outside_of_mpi_keeps_collectives_and_large_messages_waiting(self):
        """What was begun long before is completed late; the libraries go on with it only inside calls."""
        for mpi, program, pattern in (("mpich", "collectives", "wait-at-nxn"), ("openmpi", "requests", "late-sender")):
            with self.subTest(program=program):
                self.run_truth(mpi, 4, program, "late_return", name=program)
                self.check_waits()
                late = [wait for wait in self.truth.waits if (wait.pattern, wait.call.function) == (pattern, "MPI_Wait")]
                self.assertGreater(sum(wait.nanoseconds for wait in late), 2 * REPETITIONS * 0.5e6 * DELAY)

    def compare_on(self, mpi, ranks, program, made):
        self.run_truth(mpi, ranks, program)
        self.check_stamps()
        self.check_waits()
        self.check_patterns(made)
        self.check_conservation()
        self.check_metrics()
        self.check_critical_path()

    def neither_sleeps_nor_waits(self):
        """ns in and between the calls of the chain that are neither a sleep nor a wait: the machine took them."""
        waits = collections.Counter()
        for wait in self.truth.waits:
            waits[wait.call] += 0 if wait.part_of else wait.nanoseconds
        taken = 0
        for log in self.copies:
            calls = sorted(log.calls, key=lambda call: call.enter)
            taken += sum(max(0, later.enter - earlier.exit) for earlier, later in zip(calls, calls[1:]))
            taken += sum(call.duration - waits[call] for call in calls if call.function in IN_CHAIN)
        return taken

    def chain(self, mpi):
        """foo delays rank 1, which delays rank 2: of rank 2's wait foo bears, as long-term cost, what it delayed rank 1
        by, and own_work the rest, as short-term cost; and so of all waits that a busy machine adds."""
        self.run_truth(mpi, 3, "chain")
        self.check_stamps()
        self.check_waits()
        self.check_conservation()
        found = {"first": [0, 0], "foo": [0, 0], "own_work": [0, 0]}
        for row in self.causes:
            for name, rank in (("first", 0), ("foo", 0), ("own_work", 1)):
                if name in harness.names(row["path"]):
                    self.assertEqual(row["rank"], rank)
                    found[name][0] += row["short_term_s"]
                    found[name][1] += row["long_term_s"]
        expected = costs.Costs(self.truth)
        # What first() does stands for what other ranks do as a whole: how that is divided among foo and the rest is no matter.
        # What the machine took is divided in another way where samples are few.
        allowed = 1e-3 + self.neither_sleeps_nor_waits() / 1e9
        for name, rank, before in (("first", 0, ("MPI_Send", "MPI_Barrier", "MPI_Win_free")), ("own_work", 1, ("MPI_Win_post",))):
            for cost, true in zip(found[name], map(sum, zip(*(expected.of(rank, call) for call in before)))):
                self.assertAlmostEqual(cost, true / 1e9, delta=0.05 * true / 1e9 + allowed, msg=(found, name))
        # Reports name what the user wrote, not what it sleeps in: one loop, or first() with all that it calls.
        report = " ".join(harness.run([harness.VIEWER, self.database, "report"]).stdout.split())
        self.assertRegex(report, r"([^,]* in truth_sleep|\w+ \(in truth_sleep at [^)]*\)|[Ff]irst at [^,]* and what it calls,) on rank [0-9]+,? caused [0-9.]+.% of ")
        # As built in: foo takes two delays, own_work one; and foo is waited for directly, too.
        self.assertGreater(found["foo"][1], 0.5 * DELAY / 1e3 * REPETITIONS)
        self.assertGreater(found["own_work"][0], 0.5 * DELAY / 1e3 * REPETITIONS)

    def test_what_needs_a_trace_says_so(self):
        program = harness.PROGRAMS / "truth_chain.openmpi"
        database = self.merge(self.measure("openmpi", 3, program, self.here, 1, DELAY))
        for command in ("causes", "critical-path", "hotspots", "variation"):
            done = harness.run([harness.VIEWER, database, command], expect=1)
            self.assertEqual(done.stdout, "")
            self.assert_one_line(done.stderr, command, "--trace")
        self.assertIsNone(harness.viewer_json(database, "efficiency")["transfer"])


PROGRAMS = ("point_to_point", "requests", "collectives", "active_target", "passive_target", "mixed", "fortran_f08")
for mpi in harness.LAUNCHERS:
    for program in PROGRAMS:
        setattr(
            ExactWaits,
            f"test_{program}_{mpi}",
            lambda self, mpi=mpi, program=program: self.compare(mpi, program),
        )
    setattr(ExactWaits, f"test_chain_{mpi}", lambda self, mpi=mpi: self.chain(mpi))

if __name__ == "__main__":
    unittest.main()
