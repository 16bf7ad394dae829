"""Exports of time lines, read by their consumers' own libraries, keep their formats' rules and add up to what `waits`,
`communication` and `view` say of the same database: OTF2 (otf2-print and the Python bindings), Perfetto (a reader that protoc
generates), Firefox Profiler (its documented rules)."""

import collections
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

import harness

HERE = pathlib.Path(__file__).resolve().parent
PROTO = HERE.parent.parent / "viewer-cli" / "export" / "perfetto.proto"
RANKS = 4


def python_with(module):
    """Debian's modules are Debian's Python's."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0:
            return python
    raise AssertionError(f"no Python has {module} (./dev test installs it)")


def summed(rows):
    """{(rank and thread, name): [count, ns]} of [..., count, ns]."""
    table = collections.defaultdict(lambda: [0, 0])
    for *_, name, count, ns in rows:
        table[name][0] += count
        table[name][1] += ns
    return table


class Exports(harness.Workspace):
    def exported(self, given, form, *options, name=None):
        target = self.here / (name or f"exported.{form}")
        done = harness.run([harness.VIEWER, given, "export", form, "-o", target, *options])
        self.assertEqual((done.stdout, done.stderr), ("", ""))
        return target

    def otf2(self, given, **options):
        archive = self.exported(given, "otf2", **options)
        printed = harness.run(["otf2-print", archive / "traces.otf2"])
        self.assertEqual(printed.stderr, "")
        self.assertEqual(harness.run(["otf2-print", "--show-global-defs", archive / "traces.otf2"]).stderr, "")
        read = harness.run([python_with("otf2"), HERE / "read_otf2.py", archive])
        self.assertEqual(read.stderr, "")
        found = json.loads(read.stdout)
        self.assertEqual(found["problems"], [])
        events = sum(row[2] for row in found["locations"])
        self.assertEqual(events, sum(found["kinds"].values()))
        return found

    def perfetto(self, given, **options):
        file = self.exported(given, "perfetto", **options)
        read = harness.run([python_with("google.protobuf"), HERE / "read_perfetto.py", file, PROTO, self.here])
        found = json.loads(read.stdout)
        self.assertEqual(found["problems"], [])
        return found

    def firefox(self, given, *options):
        profile = json.loads(self.exported(given, "firefox", *options).read_text())
        self.assertEqual(profile["meta"]["preprocessedProfileVersion"], 48)
        schemas = {schema["name"] for schema in profile["meta"]["markerSchema"]}
        for thread in profile["threads"]:
            self.check_tables(thread, len(profile["meta"]["categories"]), schemas)
        return profile

    def check_tables(self, thread, categories, schemas):
        """What the format's documentation asks of a thread."""
        for table in ("samples", "markers", "stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols"):
            for name, column in thread[table].items():
                if isinstance(column, list):
                    self.assertEqual(len(column), thread[table]["length"], f"{table}.{name}")
        stacks, frames, functions, texts = (thread["stackTable"], thread["frameTable"], thread["funcTable"], thread["stringArray"])

        def in_range(column, length, nullable=False):
            for value in column:
                self.assertTrue(nullable if value is None else 0 <= value < length)

        in_range(thread["samples"]["stack"], stacks["length"], nullable=True)
        in_range(stacks["frame"], frames["length"])
        in_range(stacks["category"], categories)
        in_range(frames["func"], functions["length"])
        in_range(frames["category"], categories)
        in_range(functions["name"], len(texts))
        in_range(functions["fileName"], len(texts), nullable=True)
        in_range(thread["markers"]["name"], len(texts))
        in_range(thread["markers"]["category"], categories)
        for index, prefix in enumerate(stacks["prefix"]):
            self.assertTrue(prefix is None or prefix < index)
        self.assertEqual(thread["samples"]["time"], sorted(thread["samples"]["time"]))
        self.assertEqual(len(texts), len(set(texts)))
        for data, phase, begin, end in zip(*(thread["markers"][key] for key in ("data", "phase", "startTime", "endTime"))):
            self.assertIn(data["type"], schemas)
            self.assertTrue(end is None if phase == 0 else begin <= end)

    def waits(self, database):
        """Of exact waits in MPI: {pattern: [count, seconds]}."""
        table = collections.defaultdict(lambda: [0, 0])
        for row in harness.viewer_json(database, "waits"):
            if row["exact"] and not row["pattern"].startswith("omp-") and row["pattern"] not in ("condition-wait", "join-wait"):
                table[row["pattern"]][0] += row["count"]
                table[row["pattern"]][1] += row["seconds"]
        return table

    def check_sums(self, found, database):
        """Calls and waits, in number and in time."""
        calls = summed(found["calls"])
        reported = harness.viewer_json(database, "communication")
        self.assertEqual({name: row[0] for name, row in calls.items()}, {row["call"]: row["calls"] for row in reported["mpi"]})
        for row in reported["mpi"]:
            self.assertAlmostEqual(calls[row["call"]][1] / 1e9, row["seconds"], places=6, msg=row["call"])
        metrics = harness.viewer_json(database, "view", "calling-context", "--depth", "0", "--metrics", "calls")
        self.assertEqual(sum(row[0] for row in calls.values()), metrics["roots"][0]["values"]["calls:sum (I)"])
        waits, expected = summed(found["waits"]), self.waits(database)
        self.assertEqual({name: row[0] for name, row in waits.items()}, {name: row[0] for name, row in expected.items()})
        for name, (_, seconds) in expected.items():
            self.assertAlmostEqual(waits[name][1] / 1e9, seconds, places=6, msg=name)

    def check_firefox(self, profile, database, exact_calls=True):
        weights = sum(sum(thread["samples"]["weight"]) for thread in profile["threads"])
        view = harness.viewer_json(database, "view", "calling-context", "--depth", "0", "--metrics", "REALTIME")
        # Views have the exact time of MPI calls in place of their samples, whose noise grows with the run.
        noise_ms = max(2 * profile["meta"]["interval"] * len(profile["threads"]), 0.03 * weights)
        self.assertAlmostEqual(weights, 1e3 * view["roots"][0]["values"]["REALTIME:sum (I)"],
                               delta=noise_ms if exact_calls else 1e-2)
        waits = collections.defaultdict(lambda: [0, 0])
        for thread in profile["threads"]:
            markers = thread["markers"]
            for data, name, begin, end in zip(*(markers[key] for key in ("data", "name", "startTime", "endTime"))):
                if data["type"] == "Wait":
                    waits[thread["stringArray"][name]][0] += 1
                    waits[thread["stringArray"][name]][1] += (end - begin) / 1e3
        expected = self.waits(database)
        self.assertEqual({name: row[0] for name, row in waits.items()}, {name: row[0] for name, row in expected.items()})
        for name, (_, seconds) in expected.items():
            self.assertAlmostEqual(waits[name][1], seconds, places=5, msg=name)

    def check_all(self, directory, expect=0):
        database = self.merge(directory, expect=expect)
        found = self.otf2(database)
        self.check_sums(found, database)
        drawn = self.perfetto(database)
        self.check_sums(drawn, database)
        # Both say the same of every thread.
        def by_call(rows):
            return sorted([*row[-3:]] for row in rows)
        self.assertEqual(by_call(found["calls"]), by_call(drawn["calls"]))
        self.check_firefox(self.firefox(database), database)
        return found, drawn, database

    def program(self, name, mpi, *arguments, ranks=RANKS, **options):
        return self.measure(mpi, ranks, harness.PROGRAMS / f"{name}.{mpi}", *arguments, options=["--trace"], **options)


class WaitsForThreads(Exports):
    def test_are_below_the_thread_that_waits(self):
        """As long as the time lines say, in both forms, and no code is in their way."""
        environment = dict(harness.ENVIRONMENT, OMP_WAIT_POLICY="passive")
        directory = self.measure("mpich", 2, harness.PROGRAMS / "truth_waiting_main.mpich", self.here, 10, options=["--trace"],
                                 env=environment)
        database = self.merge(directory)
        expected = harness.viewer_json(database, "variation")["thread_waits_s"]
        drawn = self.perfetto(database)["thread_waits"]
        self.assertEqual({name for *_, name, _, _ in drawn}, {"omp-barrier", "omp-idle", "lock-held", "condition-wait", "join-wait"})
        marked = [[], []]  # by rank, of each thread
        for thread in self.firefox(database)["threads"]:
            markers, rank = thread["markers"], int(thread["processName"].split()[1])
            times = zip(*(markers[key] for key in ("data", "startTime", "endTime")))
            marked[rank].append(sum((end - begin) / 1e3 for data, begin, end in times if data["type"] == "Thread wait"))
        for rank in range(2):
            seconds = collections.Counter()
            for where, thread, *_, ns in drawn:
                seconds[thread] += ns / 1e9 if where == f"rank {rank}" else 0
            for found in (seconds.values(), marked[rank]):  # the main thread's; its workers have waits, too
                self.assertLess(min(abs(each - expected[rank]) for each in found), 1e-4)


class MessagesAndCollectives(harness.UnderBothMpis, Exports):
    def check(self, mpi):
        found, drawn, database = self.check_all(self.program("traffic", mpi))
        self.assertEqual(found["sent"], found["received"])
        # Partners' messages are these and what is put, got and accumulated.
        lengths = [length for *_, of_channel in found["sent"] for length in of_channel]
        accesses = sum(found["kinds"].get(kind, 0) for kind in ("RmaPut", "RmaGet", "RmaAtomic"))
        moved = sum(count for _, _, count in found["one_sided"])
        partners = harness.viewer_json(database, "communication")["partners"]
        self.assertEqual(sum(row["messages"] for row in partners), len(lengths) + accesses)
        self.assertEqual(sum(row["bytes"] for row in partners), sum(lengths) + moved)
        self.assertEqual(found["locations"][0][0], "rank 0")
        self.assertTrue(any(path.endswith("traffic.c") and line > 0 for path, line in found["sites"]))
        self.assertEqual(len(drawn["processes"]), RANKS)


EXCHANGE = 7  # the tag of every_operation.c's MPI_Isendrecv
FREED = 25  # that of its receive which is freed before it completes: nobody sees it end


class EveryOperation(harness.UnderBothMpis, Exports):
    """Every sort of operation that a time line knows: requests, polls, collectives without blocking, epochs, locks."""

    def check(self, mpi):
        found, drawn, _ = self.check_all(self.program("every_operation", mpi, "."))
        received = found["received"]
        if mpi == "mpich":
            # MPICH 4.0 does not say how much its MPI_Isendrecv received, 2 of 9 integers: that counts as what it has room for.
            self.assertEqual({tuple(lengths) for *_, tag, lengths in received if tag == EXCHANGE}, {(36,)})
            received = [[*channel, tag, [8] if tag == EXCHANGE else lengths] for *channel, tag, lengths in received]
        self.assertEqual([row for row in found["sent"] if row[3] != FREED], received)
        for kind in ("MpiIsend", "MpiIrecv", "MpiCollectiveEnd", "NonBlockingCollectiveComplete", "RmaPut", "RmaGet", "RmaAtomic",
                     "RmaGroupSync", "RmaRequestLock", "RmaReleaseLock", "RmaCollectiveEnd", "RmaWinCreate", "RmaWinDestroy"):
            self.assertIn(kind, found["kinds"])
        self.assertIn(["MPI_COMM_WORLD", RANKS], found["comms"])


class Waits(Exports):
    def test_mixed(self):
        found, drawn, database = self.check_all(self.program("truth_mixed", "openmpi", "."))
        self.assertGreater(drawn["arrows"], 0)

    def test_requests(self):
        self.check_all(self.program("truth_requests", "mpich", "."))


class OtherRuns(Exports):
    def test_directory_in_place_of_a_database(self):
        directory = self.program("traffic", "openmpi")
        self.otf2(directory)
        self.assertTrue(directory.with_name("run.db").exists())

    def test_a_program_that_is_no_rank(self):
        directory = self.here / "run"
        harness.run([harness.HPCRUN, "--trace", "-o", directory, harness.PROGRAMS / "truth_openmp_waits", "."],
                    cwd=self.here, env=dict(harness.ENVIRONMENT, OMP_NUM_THREADS="3"))
        database = self.merge(directory)
        found = self.otf2(database)
        self.assertEqual(found["comms"], [])
        self.assertGreaterEqual(len(found["locations"]), 3)
        self.assertEqual(len(self.perfetto(database)["processes"]), 1)
        self.check_firefox(self.firefox(database), database)

    def test_rank_0_starts_late(self):
        """Times are counted from the earliest process on, and the hour is that of the host."""
        directory = self.here / "run"
        late = 'test "$OMPI_COMM_WORLD_RANK" != 0 || sleep 1; exec "$@"'
        harness.launch("openmpi", 2, ["sh", "-c", late, "sh", harness.HPCRUN, "--trace", "-o", directory,
                                      harness.PROGRAMS / "traffic.openmpi"], cwd=self.here)
        database = self.merge(directory)
        profile = self.firefox(database)
        self.assertGreaterEqual(min(min(thread["samples"]["time"]) for thread in profile["threads"]), 0)
        clocks = self.perfetto(database)["clocks"]
        host = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self.assertLess(abs(clocks["1"] - clocks["6"] - host), 5e8)  # half of what rank 0 starts later
        realtime = self.otf2(database)["realtime"]
        self.assertLess(abs(realtime[1] - realtime[0] - host), 5e8)

    def test_killed(self):
        directory = self.here / "run"
        program = harness.PROGRAMS / "spin"
        child = subprocess.Popen([str(harness.HPCRUN), "--trace", "-o", str(directory), str(program), "20"], cwd=self.here,
                                 env=harness.ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(2)
        child.send_signal(signal.SIGKILL)
        child.wait()
        database = self.merge(directory, expect=3)
        self.assertGreater(sum(row[2] for row in self.otf2(database)["locations"]), 0)
        self.perfetto(database)
        self.firefox(database)


class DamagedTraces(Exports):
    """A time line that is left out, wholly or from the damage on, is named, and the exit status says that something is missing."""

    def export(self, given, form, expect):
        target = self.here / f"{form}.{expect}"
        done = harness.run([harness.VIEWER, given, "export", form, "-o", target], expect=expect)
        self.assertEqual(done.stdout, "")
        self.assertEqual(target.exists(), expect != 1)
        return done.stderr

    def check(self, directory, database, whole):
        """First one trace is damaged, where there are several, then all."""
        traces = sorted(directory.glob("**/*.trace"))
        for path in traces[:whole]:
            path.write_bytes(path.read_bytes()[:1000])
        for form in ("otf2", "perfetto", "firefox") if whole else ():
            lines = [line for line in self.export(database, form, 3).splitlines() if "operations are left out" not in line]
            self.assert_one_line("\n".join(lines), str(traces[0]), "is damaged", "is not used")
        for path in traces:
            path.write_bytes(path.read_bytes()[:1000])
        for form in ("otf2", "perfetto"):
            error = self.export(database, form, 1)
            self.assert_one_line(error, form, str(traces[0]), "is damaged", "is not used")
            self.assertNotIn("without a trace", error)
        self.assertEqual(self.export(database, "firefox", 3).count("is damaged"), len(traces))

    def test_of_ranks(self):
        directory = self.measure("openmpi", 2, harness.PROGRAMS / "traffic.openmpi", options=["--trace"])
        self.check(directory, self.merge(directory), 1)
        merged_so = self.merge(directory, "--force", expect=3)
        self.assert_one_line(self.export(merged_so, "perfetto", 1).replace("perfetto", ""), "is damaged", "nor 1 other")
        refused = harness.run([harness.VIEWER, merged_so, "causes"], expect=1)
        self.assert_one_line(refused.stderr, "traces could not be used", "prof-mpi --force")

    def test_of_a_process_that_is_no_rank(self):
        directory = self.here / "run"
        harness.run([harness.HPCRUN, "--trace", "-o", directory, harness.PROGRAMS / "truth_openmp_waits", "."],
                    cwd=self.here, env=dict(harness.ENVIRONMENT, OMP_NUM_THREADS="3"))
        self.check(directory, self.merge(directory), 0)


class Refusals(Exports):
    def refused(self, *words, expect=1):
        done = harness.run([harness.VIEWER, *words], expect=expect)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_without_a_trace(self):
        database = self.merge(self.measure("openmpi", 2, harness.PROGRAMS / "traffic.openmpi"))
        for form in ("otf2", "perfetto"):
            self.assert_one_line(self.refused(database, "export", form, "-o", self.here / "out"), form, "--trace")
            self.assertFalse((self.here / "out").exists())
        self.check_firefox(self.firefox(database), database, exact_calls=False)

    def test_other_metric(self):
        database = self.merge(self.measure("openmpi", 2, harness.PROGRAMS / "traffic.openmpi"))
        profile = self.firefox(database, "--metric", "bytes-sent")
        view = harness.viewer_json(database, "view", "calling-context", "--depth", "0", "--metrics", "bytes-sent")
        self.assertEqual({thread["samples"]["weightType"] for thread in profile["threads"]}, {"bytes"})
        self.assertEqual(sum(sum(thread["samples"]["weight"]) for thread in profile["threads"]),
                         view["roots"][0]["values"]["bytes-sent:sum (I)"])

    def test_processes_removed_since_merging(self):
        directory = self.program("traffic", "openmpi")
        database = self.merge(directory)
        for path in list(directory.glob("**/rank-000001-*")):
            path.unlink()
        for form in ("otf2", "perfetto", "firefox"):
            error = self.refused(database, "export", form, "-o", self.here / "out")
            self.assert_one_line(error, "its processes are not those of", "prof-mpi --force")
            self.assertFalse((self.here / "out").exists())

    def test_private_measurement(self):
        """Who may read the database alone does not get its single events."""
        directory = self.program("traffic", "openmpi")
        database = self.merge(directory)
        database.chmod(0o644)
        directory.chmod(0o700)
        for form in ("otf2", "perfetto", "firefox"):
            self.assertEqual(self.exported(database, form).stat().st_mode & 0o077, 0, form)

    def test_directories(self):
        directory = self.program("traffic", "openmpi")
        database = self.merge(directory)
        self.assert_one_line(self.refused(database, "export", "otf2", expect=2), "-o")
        there = self.here / "there"
        there.mkdir()
        link = self.here / "link"
        link.symlink_to(there)
        for target in (there, link):
            self.assert_one_line(self.refused(database, "export", "otf2", "-o", target), "already exists")
        self.assertEqual(list(there.iterdir()), [])
        shutil.move(directory, self.here / "elsewhere")
        self.assert_one_line(self.refused(database, "export", "otf2", "-o", self.here / "out"), "measurement directory")
        shutil.move(self.here / "elsewhere", directory)
        archive, file = self.exported(database, "otf2"), self.exported(database, "perfetto")
        readable = file.stat().st_mode & 0o444  # by whom depends on where the measured program lies
        self.assertEqual(archive.stat().st_mode & 0o555, readable | readable >> 2)
        self.assertEqual([path.name for path in self.here.iterdir() if path.name.endswith(".tmp")], [])

    def test_broken_off(self):
        """Nothing is left of an archive whose writing is ended."""
        database = self.merge(self.program("traffic", "openmpi"))
        target = self.here / "out"

        def unfinished():
            return [path.name for path in self.here.iterdir() if path.name.endswith(".tmp")]

        broken_off = False
        for _ in range(100):  # until one is caught while it writes
            child = subprocess.Popen([str(harness.VIEWER), str(database), "export", "otf2", "-o", str(target)],
                                     env=harness.ENVIRONMENT)
            while child.poll() is None and not unfinished():
                pass
            caught = child.poll() is None
            child.send_signal(signal.SIGTERM)
            child.wait()
            self.assertEqual(unfinished(), [])
            broken_off = caught and child.returncode == -signal.SIGTERM and not target.exists()
            if broken_off:
                break
            shutil.rmtree(target)
        self.assertTrue(broken_off)


if __name__ == "__main__":
    unittest.main()
