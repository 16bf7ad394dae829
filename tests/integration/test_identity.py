"""Files are what they say they are: of this process, of this run, whole. Whatever is not is left out and named."""

import json
import os
import random
import shutil
import subprocess
import time
import unittest

import harness
import trace_bytes

FLIPS = 60  # of each run; each costs a merge


class Measured(harness.Workspace):
    def prof_mpi(self, directory, expect, launcher=()):
        self.database = self.here / "merged.db"
        self.database.unlink(missing_ok=True)
        return harness.run([*launcher, harness.PROF_MPI, "-q", directory, "-o", self.database], expect=expect, timeout=300)

    def traced(self, name="run", ranks=3):
        program = harness.PROGRAMS / "truth_point_to_point.mpich"
        return self.measure("mpich", ranks, program, self.here, 2, 5, name=name, options=("--trace",))

    def killed(self):
        directory = self.here / "run"
        command = [harness.HPCRUN, "--trace", "-o", directory, harness.PROGRAMS / "dies.mpich", "KILL"]
        harness.launch("mpich", 3, command, expect=None)
        return directory

    def files(self, directory, ending=".culprit"):
        """By their names, which begin with their ranks."""
        return sorted((path for path in directory.rglob("*" + ending)), key=lambda path: path.name)


class Identity(Measured):
    def test_a_trace_of_another_rank_or_run_is_not_used(self):
        directory = self.traced()
        self.prof_mpi(directory, 0)
        whole = harness.viewer_json(self.database, "report")["quality"]
        first, second, third = self.files(directory, ".trace")
        shutil.copy(first, second)
        shutil.copy(self.files(self.traced("other"), ".trace")[2], third)
        done = self.prof_mpi(directory, 3)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 2, done.stderr)
        for path, line in zip((second, third), lines):
            self.assertIn(f"{path}: is the trace of another process", line)
        report = harness.viewer_json(self.database, "report")
        self.assertEqual(report["quality"]["samples"], whole["samples"])
        self.assertEqual(report["quality"]["traced_ranks"], 1)
        self.assertEqual(harness.viewer_json(self.database, "info")["ranks"], 3)
        for command in ("report", "info"):
            text = " ".join(harness.run([harness.VIEWER, self.database, command]).stdout.split())
            self.assertIn("the time lines of 2 of 3 ranks are missing", text)

    def merged_while_it_runs(self, directory, seconds):
        program = subprocess.Popen([harness.HPCRUN, "-q", "-o", directory, harness.PROGRAMS / "spin", seconds], env=harness.ENVIRONMENT,
                                   stdout=subprocess.DEVNULL)
        until = time.monotonic() + 60
        while not self.files(directory) and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(1.5)
        harness.run([harness.VIEWER, directory, "report"], expect=3)
        return program

    def test_a_database_from_before_the_death_of_the_run_says_so(self):
        """Whose file has no other time, perhaps: pages that are mapped do not change it."""
        directory = self.here / "run"
        program = self.merged_while_it_runs(directory, "60")
        time.sleep(2)
        program.kill()
        program.wait()
        for file in self.files(directory):
            os.utime(file, (0, 0))
        done = harness.run([harness.VIEWER, directory, "report"], expect=3)
        self.assert_one_line(done.stderr, "run.db: was merged before the run in", "had ended", "prof-mpi --force")

    def test_a_database_from_before_the_end_of_the_run_says_so(self):
        directory = self.here / "run"
        self.assertEqual(self.merged_while_it_runs(directory, "6").wait(), 0)
        done = harness.run([harness.VIEWER, directory, "report"], expect=3)
        self.assert_one_line(done.stderr, "run.db: was merged before the run in", "had ended", "prof-mpi --force")
        self.merge(directory, "--force")
        self.assertEqual(harness.run([harness.VIEWER, directory, "report"]).stderr, "")

    def test_a_database_from_before_the_files_of_another_host_came_says_so(self):
        directory = self.traced()
        late = self.files(directory)[2]
        kept = self.here / "kept.culprit"
        shutil.move(late, kept)
        for _ in range(2):  # nothing came between the two
            done = harness.run([harness.VIEWER, directory, "report"], expect=None)
            self.assertNotIn("was merged before", done.stderr)
        shutil.copy2(kept, late)  # with the time of its original
        done = harness.run([harness.VIEWER, directory, "report"], expect=3)
        self.assert_one_line(done.stderr, "run.db: was merged before all ranks' files were in", "prof-mpi --force")
        self.merge(directory, "--force")
        self.assertEqual(harness.run([harness.VIEWER, directory, "report"]).stderr, "")

    def test_a_copied_measurement_counts_once(self):
        directory = self.traced()
        self.prof_mpi(directory, 0)
        before = harness.viewer_json(self.database, "report")
        file = self.files(directory)[1]
        beside = file.with_name("y.culprit")
        shutil.copy(file, beside)
        shard = directory / "00"
        shard.mkdir(exist_ok=True)
        shutil.copy(file, shard)
        for launcher in ((), [*harness.LAUNCHERS["mpich"], "-n", 2]):
            done = self.prof_mpi(directory, 3, launcher)
            for path in (beside, shard / file.name):
                self.assertEqual(done.stderr.count(f"{path}: is a copy of {file}"), 1, done.stderr)
            report = harness.viewer_json(self.database, "report")
            self.assertEqual(report["total_s"], before["total_s"])
            self.assertEqual(report["quality"]["traces_stopped"], 0)

    def test_the_marker_is_of_this_version_and_run(self):
        directory = self.traced(ranks=2)
        path = directory / "culprit.run"
        marker = json.loads(path.read_text())
        for text, expect, why in (
            (json.dumps(marker | {"version": 2}), 1, "written by a newer Culprit"),
            (json.dumps(marker | {"run_id": "0123"}), 3, "names run 0123"),
            (json.dumps(marker | {"format": "other"}), 3, "is no run marker"),
            (json.dumps(marker | {"run_id": 7}), 3, "is no run marker"),
            ("garbage", 3, "is no run marker"),
            ("[" * 10000, 3, "is no run marker"),
            ("", 3, "is no run marker"),
        ):
            path.write_text(text)
            done = self.prof_mpi(directory, expect)
            self.assert_one_line(done.stderr, f"{path}: ", why)
        for words in (("-o", directory, "true"),):
            done = harness.run([harness.HPCRUN, *words], expect=1)
            self.assert_one_line(done.stderr, "hpcrun-lite: ", "run marker")
        path.unlink()
        self.prof_mpi(directory, 0)


class Losses(Measured):
    def test_what_a_cut_file_lacks_is_told_by_rank_and_seconds(self):
        directory = self.killed()
        path = self.files(directory)[1]
        data = path.read_bytes()
        for size, why in (
            (1000, "; all of it, of rank 1, is missing"),
            (100_000, "and none of its threads (leave it out, or measure again); all of it, of rank 1, is missing"),
            (200_000, "rank 1: is cut off: only 200000 of its "),
        ):
            path.write_bytes(data[:size])
            done = self.prof_mpi(directory, 3)
            [line] = [line for line in done.stderr.splitlines() if path.name in line and "cut off" in line]
            self.assertIn(why, line)
            self.assertEqual(harness.viewer_json(self.database, "info")["ranks"], 2 if size < 200_000 else 3)
        self.assertRegex(line, r"missing are up to \d+\.\d of \d+\.\d s of thread 0")
        self.assertRegex(done.stderr, r"rank 2 was cut short: .* it was last seen \d+\.\d s after its start")

    def test_a_rank_without_its_measurement_is_a_loss_unless_it_was_not_wanted(self):
        for mpi in ("openmpi", "mpich"):
            program = harness.PROGRAMS / f"truth_point_to_point.{mpi}"
            for name, options, expect in ((f"all.{mpi}", (), 3), (f"some.{mpi}", ("--ranks", "0-1"), 0)):
                directory = self.measure(mpi, 3, program, self.here, 2, 5, name=name, options=options)
                self.prof_mpi(directory, 0)
                self.files(directory)[1].unlink()
                done = self.prof_mpi(directory, expect)
                if expect == 3:
                    self.assert_one_line(done.stderr, f"{directory}: the measurement of rank 1 of 3 is missing")

    def test_ranks_that_hpcrun_lite_did_not_start_are_no_loss(self):
        program = harness.PROGRAMS / "truth_point_to_point.mpich"
        directory = self.here / "run"
        words = [program, self.here, 2, 5]
        harness.run(["mpirun.mpich", "-n", 1, harness.HPCRUN, "-o", directory, *words, ":", "-n", 2, *words])
        self.assertEqual(self.prof_mpi(directory, 0).stderr, "")

    def test_several_programs_of_one_job_are_one_run(self):
        (self.here / "coupler").mkdir()
        for mpi in ("openmpi", "mpich"):
            program = harness.PROGRAMS / f"truth_point_to_point.{mpi}"
            coupler = shutil.copy(program, self.here / "coupler" / f"coupler.{mpi}")
            words = [self.here, 2, 5]
            here = self.here / mpi
            here.mkdir()
            launcher = harness.LAUNCHERS[mpi]
            parts = ["-n", 2, harness.HPCRUN, program, *words, ":", "-n", 1, harness.HPCRUN, coupler, *words]
            harness.run([*launcher, *parts], cwd=here)
            [directory] = here.iterdir()
            self.assertRegex(directory.name, rf"^culprit-(truth_point_to_point|coupler)\.{mpi}-[0-9a-f]{{12}}$")
            self.prof_mpi(directory, 0)
            text = harness.run([harness.VIEWER, self.database, "info"]).stdout
            self.assertIn(f"ranks 0-1 ran truth_point_to_point.{mpi}, rank 2 coupler.{mpi}", " ".join(text.split()))
            text = harness.run([harness.VIEWER, self.database, "report"]).stdout
            self.assertIn(f"Ranks 0-1 ran truth_point_to_point.{mpi}, rank 2 coupler.{mpi}.", " ".join(text.split()))

    def test_parts_of_a_job_that_are_measured_differently_start_and_end_together(self):
        for mpi in ("openmpi", "mpich"):
            words = [harness.PROGRAMS / f"truth_point_to_point.{mpi}", self.here, 2, 5]
            for name, options in (("traced", ["--trace"]), ("chosen", ["--ranks", "0"])):
                directory = self.here / f"{name}.{mpi}"
                measured = [harness.HPCRUN, "-o", directory]
                parts = ["-n", 1, *measured, *options, *words, ":", "-n", 2, *measured, *words]
                harness.run([*harness.LAUNCHERS[mpi], *parts], timeout=60)
                self.prof_mpi(directory, 0)

    def test_a_damaged_time_line_ends_no_merge(self):
        directory = self.killed()
        path = self.files(directory, ".trace")[0]
        data = path.read_bytes()
        for at in range(2 * 32768 + 64, min(len(data), 2 * 32768 + 1064), 37):
            changed = bytearray(data)
            changed[at] ^= 0x80
            path.write_bytes(changed)
            done = self.prof_mpi(directory, 3)
            self.assertIn(f"{path}: is damaged", done.stderr)


class Hostile(Measured):
    def test_what_a_time_line_says_ends_no_merge(self):
        """Any records, with right checksums: in the worst case the time line is left out."""
        directory = self.killed()
        choice = random.Random(4)
        for _ in range(FLIPS):
            path = choice.choice(self.files(directory, ".trace"))
            before = path.read_bytes()
            data = bytearray(before)
            for _ in range(choice.choice((1, 1, 3, 10))):
                slot, _, used = choice.choice(list(trace_bytes.blocks(data)))
                at = choice.choice((24, 32, trace_bytes.BLOCK_HEADER, trace_bytes.BLOCK_HEADER))  # base, last, records
                at += slot + choice.randrange(used if at == trace_bytes.BLOCK_HEADER else 8)
                data[at] ^= 1 << choice.randrange(8)
            trace_bytes.mend(data)
            path.write_bytes(data)
            self.prof_mpi(directory, 3)
            path.write_bytes(before)


class Flips(Measured):
    """Bits flipped all over a run: either nothing changes, or the file is named and the exit status says so."""

    def assert_told(self, directory, path, data, whole):
        status, lines, database = whole
        path.write_bytes(data)
        done = self.prof_mpi(directory, None)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        if self.database.read_bytes() == database:
            return
        reported = [line for line in done.stderr.splitlines() if line not in lines and path.name in line]
        self.assertTrue(done.returncode == 3 and reported, done.stderr)

    def flip_all_over(self, directory):
        done = self.prof_mpi(directory, None)
        whole = done.returncode, done.stderr.splitlines(), self.database.read_bytes()
        choice = random.Random(21)
        paths = [*self.files(directory), *self.files(directory, ".trace"), directory / "culprit.run"]
        for _ in range(FLIPS):
            path = choice.choice(paths)
            before = path.read_bytes()
            used = [at for at, byte in enumerate(before) if byte != 0]
            at = choice.choice(used) if choice.random() < 0.8 else choice.randrange(len(before))
            bit = choice.randrange(8)
            data = bytearray(before)
            data[at] ^= 1 << bit
            with self.subTest(file=path.name, at=at, bit=bit):
                self.assert_told(directory, path, data, whole)
            path.write_bytes(before)

    def test_sealed(self):
        self.flip_all_over(self.traced())

    def test_live(self):
        self.flip_all_over(self.killed())


if __name__ == "__main__":
    unittest.main()
