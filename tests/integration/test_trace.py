"""Time lines: what is recorded is there after any end of the process, ends at its limit and says so, and belongs to the
measurement beside it."""

import json
import pathlib
import re
import shutil
import sys
import unittest

import harness
from against_logs import truth

READ_DB = pathlib.Path(__file__).resolve().parents[2] / "docs" / "read_db.py"
ITERATION = 30
SEND, RECEIVE, ALL_TO_ALL = 1, 4, 10
REPETITIONS, DELAY = 5, 20  # of threads that wait for each other; ms


class Trace(harness.Workspace):
    def read(self, file):
        """The outline and the records of the trace of a measurement file."""
        lines = harness.run([harness.PROGRAMS / "trace_lines", file]).stdout.splitlines()
        outline, *records = [json.loads(line) for line in lines]
        self.assertTrue(outline["pid_agrees"])
        self.assertTrue(all(record["depth"] for record in records), "a record's node is not in the measurement")
        for thread in {record["thread"] for record in records}:
            ends = [record["exit"] for record in records if record["thread"] == thread]
            self.assertEqual(ends, sorted(ends))
        return outline, records

    def traced(self, mode, *options, expect=0, **run_options):
        """What hpcrun-lite and the program said, and the measurement files in the order of their making."""
        directory = self.here / "run"
        program = harness.PROGRAMS / "traced"
        done = harness.run(
            [harness.HPCRUN, "-t", "-o", directory, *options, program, mode], expect=expect, **run_options
        )
        files = sorted(directory.rglob("*.culprit"), key=lambda file: int(file.stem.split("-")[-1]))
        self.assertEqual(
            {file.name + ".trace" for file in files}, {file.name for file in directory.rglob("*.trace")}
        )
        return done, files

    def iterations(self, records):
        """The numbers of the iterations that were marked, in the order of their times."""
        marks = [
            (record["exit"], operation["bytes"])
            for record in records
            for operation in record["operations"]
            if operation["kind"] == ITERATION
        ]
        return [number for _, number in sorted(marks)]

    def test_without_the_option_there_is_none(self):
        directory = self.here / "run"
        harness.run([harness.HPCRUN, "-o", directory, harness.PROGRAMS / "traced", "flood"])
        self.assertEqual(list(directory.rglob("*.trace")), [])

    def test_calls_that_bring_new_paths_faster_than_samples_find_room(self):
        _, [file] = self.traced("paths")
        _, records = self.read(file)
        self.assertEqual(self.iterations(records), list(range(4096)))
        marked = {record["node"] for record in records if record["operations"]}
        self.assertEqual(len(marked), 4096)

    def test_marks_are_where_and_when_they_were(self):
        done, [file, _] = self.traced("forks")
        outline, records = self.read(file)
        self.assertTrue(outline["sealed"])
        self.assertEqual(outline["clocks"], 2)
        self.assertEqual(self.iterations(records), [1, 3])
        reported = {int(line.split()[0]): float(line.split()[1]) for line in done.stdout.splitlines()}
        marks = {record["operations"][0]["bytes"]: record for record in records if record["operations"]}
        self.assertLess(marks[1]["exit"] / 1e9, reported[1])
        self.assertLess(reported[1], marks[3]["exit"] / 1e9)
        self.assertGreater(min(record["depth"] for record in marks.values()), 1)

    def test_a_forked_child_has_its_own(self):
        _, files = self.traced("forks")
        self.assertEqual([self.iterations(self.read(file)[1]) for file in files], [[1, 3], [2]])

    def check_killed(self, **run_options):
        done, [file] = self.traced("killed", expect=-9, **run_options)
        outline, records = self.read(file)
        self.assertFalse(outline["sealed"])
        found = self.iterations(records)
        self.assertEqual(found, list(range(len(found))))
        times = [float(line.split()[1]) for line in done.stdout.splitlines()]
        # The flusher thread's turn is a quarter of a second; here many others want the processors, too.
        self.assertGreater(len(found), sum(time < times[-1] - 1.5 for time in times))
        self.assertGreater(sum(record["kind"] == "sample" for record in records), 0)

    def test_sigkill_takes_the_last_moment_only(self):
        self.check_killed()

    def test_sigkill_where_the_measurement_is_copied(self):
        self.check_killed(env=dict(harness.ENVIRONMENT, CULPRIT_NO_SHARED_MAPPING="1"))

    def test_short_threads_lose_nothing(self):
        _, [file] = self.traced("threads")
        outline, records = self.read(file)
        self.assertEqual(sorted(self.iterations(records)), list(range(201)))
        self.assertLess(outline["threads"], 100)
        trace = file.with_name(file.name + ".trace")
        self.assertLess(trace.stat().st_blocks * 512, 100 * 8192)

    def test_exec_ends_one_and_begins_another(self):
        _, files = self.traced("execs")
        traces = [self.read(file) for file in files]
        self.assertEqual([self.iterations(records) for _, records in traces], [[1, 2], [7]])
        self.assertEqual([outline["end"] for outline, _ in traces], [3, 1])

    def test_nothing_is_recorded_while_sampling_is_stopped(self):
        _, [file] = self.traced("stops")
        self.assertEqual(self.iterations(self.read(file)[1]), [1, 3])

    def test_nor_before_the_start(self):
        _, [file] = self.traced("stops", "--delay")
        self.assertEqual(self.iterations(self.read(file)[1]), [3])

    def test_a_program_that_never_starts_leaves_nothing(self):
        done, files = self.traced("one", "--delay")
        self.assertEqual(files, [])
        self.assert_one_line(done.stderr, "no samples", "--delay")

    def check_short(self, mpi):
        """A program that ends before its first sample has all of its calls in its time line, and their waits."""
        logs = self.here / "logs"
        logs.mkdir()
        command = [harness.HPCRUN, "--trace", "-e", "none", "-e", "CPUTIME@100000000", "-o", self.here / "run"]
        done = harness.launch(mpi, 2, [*command, harness.PROGRAMS / f"truth_point_to_point.{mpi}", logs, 1, 30], cwd=self.here)
        self.assert_one_line(done.stderr, "no samples", "too short to be sampled", "time lines of its calls in run", "viewer-cli")
        database = self.merge(self.here / "run")
        true = truth.Truth(truth.read(logs))
        self.assertEqual(true.unmatched, {})
        for pattern in ("late-sender", "late-receiver"):
            waits = [row for row in harness.viewer_json(database, "waits") if row["pattern"] == pattern]
            self.assertTrue(all(row["exact"] for row in waits))
            self.assertGreater(true.patterns()[pattern], 0.02)
            self.assertAlmostEqual(sum(row["seconds"] for row in waits), true.patterns()[pattern], delta=0.02)
        self.check_time_map(database)
        self.assertIn("time lines hold every MPI call", harness.run([harness.VIEWER, database]).stdout)
        for command in ("report", "critical-path", "causes", "hotspots", "efficiency", "info", "variation"):
            harness.viewer_json(database, command)

    def check_time_map(self, database):
        """The map of ranks over time holds all waiting that the list of waits holds, and knows all invocations."""
        variation = harness.viewer_json(database, "variation")
        segments = dict(zip(variation["ranks"], map(len, variation["sos_s"])))
        lines = harness.run([sys.executable, READ_DB, database, "time"]).stdout.splitlines()
        self.assertEqual(len(lines), 2)
        for rank, line in enumerate(lines):
            reported = re.fullmatch(rf"rank {rank}: (\d+) bins of (\d+) ns, (\d+) ns in MPI calls, (\d+) ns in wait patterns, (\d+) segments", line)
            waits = [row for row in harness.viewer_json(database, "waits") if row["exact"] and row["rank"] == rank]
            self.assertAlmostEqual(int(reported[4]) / 1e9, sum(row["seconds"] for row in waits), places=6)
            self.assertLessEqual(int(reported[1]), 1000)
            self.assertLessEqual(int(reported[3]), int(reported[1]) * int(reported[2]))
            self.assertEqual(int(reported[5]), segments.get(rank, 0))

    def test_short_openmpi(self):
        self.check_short("openmpi")

    def test_short_mpich(self):
        self.check_short("mpich")

    def test_the_limit_is_kept_and_told(self):
        done, [file] = self.traced("flood", "--trace-limit", "1M")
        self.assert_one_line(done.stderr, "the trace stopped at its limit", "--trace-limit")
        outline, records = self.read(file)
        self.assertTrue(outline["limit_reached"])
        found = self.iterations(records)
        self.assertEqual(found, list(range(len(found))))
        self.assertLess(len(found), 400_000)
        size = file.with_name(file.name + ".trace").stat().st_size
        self.assertGreater(size, 900_000)
        self.assertLess(size, 1_100_000)
        text = harness.run([harness.VIEWER, self.merge(self.here / "run"), "info"]).stdout
        self.assertIn("the trace reached its limit of 1048576 bytes", text)
        self.assertIn("time lines were recorded in 1 of 1 processes: files of 102", text)

    def test_limits_that_are_none(self):
        for limit in ("3X", "-1", "1K", "100000G", "M"):
            done = harness.run([harness.HPCRUN, "-t", "--trace-limit", limit, "true"], expect=2)
            self.assert_one_line(done.stderr, "trace limit")
        done = harness.run([harness.HPCRUN, "--trace-limit", "1G", "true"], expect=2)
        self.assert_one_line(done.stderr, "--trace-limit", "add --trace")

    def waits_for_threads(self, *options, **run_options):
        """What the time line of a process has whose threads wait for each other: records of waits, and those that are added up."""
        directory = self.here / "run"
        shutil.rmtree(directory, ignore_errors=True)
        program = [harness.PROGRAMS / "truth_thread_waits", self.here, REPETITIONS, DELAY]
        harness.run([harness.HPCRUN, "-q", "-t", "-o", directory, *options, *program], **run_options)
        [file] = directory.rglob("*.culprit")
        return json.loads(harness.run([harness.PROGRAMS / "trace_lines", "-c", file]).stdout)

    def test_waits_for_threads_have_records_from_a_length_on(self):
        each = self.waits_for_threads("--trace-threads-above", 0)
        self.assertEqual(each["short_waits"], 0)
        usual = self.waits_for_threads()
        self.assertGreater(usual["thread_waits"], REPETITIONS)
        self.assertLessEqual(usual["short_waits_ns"], usual["short_waits"] * 20_000)
        longer = self.waits_for_threads("--trace-threads-above", "5ms")
        self.assertGreater(longer["thread_waits"], REPETITIONS)
        self.assertLessEqual(longer["short_waits_ns"], longer["short_waits"] * 5_000_000)
        self.assertIn("from 5000 us on (--trace-threads-above)", harness.run([harness.VIEWER, self.merge(self.here / "run"), "info"]).stdout)
        none = self.waits_for_threads(env=dict(harness.ENVIRONMENT, CULPRIT_TRACE_THREADS_ABOVE="3600s"))
        self.assertEqual(none["thread_waits"], 0)
        # All are added up: each repetition has waits that are as long as its delay.
        self.assertGreater(none["short_waits"], REPETITIONS)
        self.assertGreater(none["short_waits_ns"], REPETITIONS * DELAY * 1_000_000)

    def test_lengths_that_are_none(self):
        for length in ("3x", "-1", "1h", "0.5ms", "3601s", "99999999999999999999", "us"):
            done = harness.run([harness.HPCRUN, "-t", "--trace-threads-above", length, "true"], expect=2)
            self.assert_one_line(done.stderr, "trace threads above", length)
        done = harness.run([harness.HPCRUN, "--trace-threads-above", "1ms", "true"], expect=2)
        self.assert_one_line(done.stderr, "--trace-threads-above", "add --trace")

    def check_ranks(self, mpi):
        directory = self.measure(mpi, 2, harness.PROGRAMS / f"mpi_exchange.{mpi}", options=["-t"])
        for rank, kind in enumerate((SEND, RECEIVE)):
            [file] = directory.rglob(f"rank-00000{rank}-*.culprit")
            _, records = self.read(file)
            operations = [operation for record in records for operation in record["operations"]]
            messages = [operation for operation in operations if operation["kind"] == kind]
            self.assertEqual({operation["peer"] for operation in messages}, {1 - rank})
            self.assertEqual({operation["bytes"] for operation in messages}, {4})
            self.assertEqual(len(messages), 20)
            self.assertEqual(sum(operation["kind"] == ALL_TO_ALL for operation in operations), 20)
        self.merge(directory)

    def check_unwanted(self, mpi):
        program = harness.PROGRAMS / f"mpi_exchange.{mpi}"
        directory = self.measure(mpi, 2, program, options=["-t", "--ranks", "1"])
        self.assertEqual([file.name[:11] for file in directory.rglob("*.trace")], ["rank-000001"])

    def test_ranks_openmpi(self):
        self.check_ranks("openmpi")

    def test_ranks_mpich(self):
        self.check_ranks("mpich")

    def test_unwanted_openmpi(self):
        self.check_unwanted("openmpi")

    def test_unwanted_mpich(self):
        self.check_unwanted("mpich")


if __name__ == "__main__":
    unittest.main()
