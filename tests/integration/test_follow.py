"""`viewer-cli DIR --follow` on a program whose last rank has extra work (tests/apps/slow_rank.c): while it runs, each look names
that rank and its function; what it saw of the whole run is what merging finds; when the run ends, it is merged."""

import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest

import harness
from terminal import Terminal

RANKS = 4
LIFE = 400  # seconds after which the program ends itself, if the test does not end it before
PATIENCE = 300  # seconds until something must be there; the machine may be busy
EXTRA = re.compile(r"rank 3 (works|has no processor) in assemble at slow_rank\.c:\d+")


class Follow(harness.Workspace):
    mpi = None

    def setUp(self):
        super().setUp()
        self.stop = self.here / "stop"
        self.run_directory = self.here / "run"

    def start(self, *arguments):
        program = harness.PROGRAMS / f"slow_rank.{self.mpi}"
        command = [*harness.LAUNCHERS[self.mpi], "-n", RANKS, harness.HPCRUN, "-o", self.run_directory, program, LIFE, self.stop,
                   *arguments]
        self.job = subprocess.Popen([str(word) for word in command], env=harness.ENVIRONMENT, start_new_session=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=self.here)
        self.addCleanup(self.end)

    def end(self):
        """Lets the program end; returns what it wrote."""
        self.stop.touch()
        return self.job.communicate(timeout=PATIENCE)[0] if not self.job.stdout.closed else ""

    def follow(self, *options):
        command = [harness.VIEWER, self.run_directory, "--follow", *options]
        follower = subprocess.Popen([str(word) for word in command], env=harness.ENVIRONMENT, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, cwd=self.here)
        self.addCleanup(follower.stdout.close)
        self.addCleanup(follower.stderr.close)
        self.addCleanup(follower.wait)
        self.addCleanup(follower.kill)
        return follower

    def looks(self, follower, wanted):
        """Objects until `wanted` holds of one, which is the last."""
        end = time.monotonic() + PATIENCE
        for line in follower.stdout:
            found = json.loads(line)
            if wanted(found):
                return found
            self.assertLess(time.monotonic(), end, found)
        self.fail(f"ended: {follower.stderr.read()}")

    @staticmethod
    def seconds_in(part, name, state="work"):
        return sum(hot["seconds"] for hot in part["hot"] if hot["name"] == name and hot["state"] == state)

    def test_each_look(self):
        """It names the rank that is waited for, and at the end the run is merged."""
        follower = self.follow("--every", "0.5", "--format", "json")  # before the run: it waits for it
        self.start("mark")
        look = self.looks(follower, lambda found: self.seconds_in(found["run"], "assemble") > 5 and found["iterations"])
        self.assertRegex(look["run"]["diagnosis"], EXTRA)
        self.assertIn("ranks 0-2 wait in MPI_Allreduce (main at slow_rank.c:", look["run"]["diagnosis"])
        extra = next(hot for hot in look["run"]["hot"] if hot["name"] == "assemble")
        self.assertEqual(extra["ranks"], [3])
        states = {row["rank"]: row for row in look["run"]["ranks"]}
        for rank in range(3):
            self.assertEqual(states[rank]["state"], "wait")
        self.assertIn(states[3]["state"], ("work", "no-processor"))
        self.assertFalse(look["iterations"]["inferred"])
        self.end()
        last = look
        for line in follower.stdout:
            found = json.loads(line)
            if "ended" in found:
                break
            last = found
        self.assertTrue(found["ended"])
        self.assertEqual(follower.wait(timeout=PATIENCE), 0, follower.stderr.read())
        self.compare(last, self.here / found["database"])

    def compare(self, look, database):
        """What the last look saw of the run, and what merging finds of all of it: the look lacks less than a second of each
        rank, beside sampling error."""
        view = harness.viewer_json(database, "view", "calling-context", "--metrics", "REALTIME:sum")["roots"]
        merged = {"assemble": 0, "prepare": 0}
        metric = next(iter(view[0]["values"]))
        for node in harness.walk(view):
            if node["frame"]["name"] in merged and node["frame"]["kind"] == "procedure":
                merged[node["frame"]["name"]] += node["values"][metric]
        total = sum(root["values"][metric] for root in view)
        seen = {name: self.seconds_in(look["run"], name) for name in merged}
        all_seen = sum(row["seconds"] for row in look["run"]["ranks"])
        lacks = RANKS * 2.0  # a look may be a pause and the end of the run ago
        for name, seconds in merged.items():
            self.assertLess(seen[name], seconds + 0.1 + 0.02 * seconds, name)
            self.assertAlmostEqual(seen[name] / all_seen, seconds / total, delta=0.02 + lacks / total, msg=name)
        report = harness.viewer_json(database, "report")
        waited = sum(row["seconds"] * row["shares"]["wait"] for row in look["run"]["ranks"])
        self.assertAlmostEqual(waited / all_seen, report["idle_s"] / report["total_s"], delta=0.02 + lacks / total)

    def test_lines_of_text_and_the_report_behind_them(self):
        self.start()
        follower = self.follow("--every", "0.5")
        end = time.monotonic() + PATIENCE
        for line in follower.stdout:
            self.assertRegex(line, r"^\d+\.\d s  \d ranks?: |^\d+\.\d s  \d process(es)?: ")
            if "inferred from MPI_Allreduce (main at slow_rank.c:" in line and "assemble at slow_rank.c:" in line:
                break
            self.assertLess(time.monotonic(), end, line)
        self.assertIn("waiting", line)
        self.end()
        rest = follower.stdout.read()
        self.assertEqual(follower.wait(timeout=PATIENCE), 0, follower.stderr.read())
        self.assertIn("assemble", rest.partition("\n\n")[2] or rest)
        self.assertTrue((self.here / "run.db").exists())

    def test_a_file_that_is_named_is_not_replaced(self):
        self.start()
        mine = self.here / "mine.db"
        mine.write_text("mine")
        follower = self.follow("--every", "0.5", "-o", mine)
        stderr = follower.communicate(timeout=PATIENCE)[1]
        self.assertEqual(follower.returncode, 1, stderr)
        self.assertRegex(stderr, r"mine\.db: already exists")
        self.assertEqual(mine.read_text(), "mine")

    def test_a_killed_run_is_merged_too(self):
        self.start()
        follower = self.follow("--every", "0.5", "--format", "json")
        look = self.looks(follower, lambda found: len(found["run"]["ranks"]) == RANKS and found["run"]["ranks"][0]["rank"] == 0)
        for row in look["run"]["ranks"]:
            os.kill(int(row["process"].rpartition(":")[2]), signal.SIGKILL)
        last = [json.loads(line) for line in follower.stdout][-1]
        self.assertTrue(last["ended"])
        self.assertEqual(follower.wait(timeout=PATIENCE), 3, follower.stderr.read())

    def test_the_screen(self):
        self.start()
        folder = tempfile.mkdtemp(dir="/tmp", prefix="follow.")  # sockets need short paths
        self.addCleanup(lambda: subprocess.run(["rm", "-rf", folder]))
        for width, height in ((80, 24), (200, 60)):
            with self.subTest(width=width):
                command = f"cd {self.here}; {harness.VIEWER} run --follow --every 0.5; echo ended $?; sleep 1000"
                terminal = Terminal(folder, command, width, height)
                self.addCleanup(terminal.close)
                terminal.wait_for("Run so far:", "RANKS", "rank 3", "assemble at slow_rank.c", "CALL PATHS")
                terminal.keys("i")
                terminal.wait_for("hottest of the run first")
                terminal.keys("Space")
                terminal.wait_for("HELD")
                terminal.keys("?")
                terminal.wait_for("these keys")
                terminal.keys("x")
                if height == 60:
                    self.end()  # the run ends: the browser goes on
                    terminal.wait_for("run.db")
                terminal.keys("q")
                terminal.wait_for("ended 0")
                terminal.close()


class OpenMpi(Follow):
    mpi = "openmpi"
    test_each_look = harness.thorough(Follow.test_each_look)


class Mpich(Follow):
    mpi = "mpich"
    test_a_killed_run_is_merged_too = harness.thorough(Follow.test_a_killed_run_is_merged_too)


class CommandLine(harness.Workspace):
    def test_what_cannot_be_followed(self):
        file = self.here / "run.db"
        file.touch()
        done = harness.run([harness.VIEWER, file, "--follow"], expect=1)
        self.assert_one_line(done.stderr, "run.db", "not a directory")
        done = harness.run([harness.VIEWER, self.here, "report", "--follow"], expect=2)
        self.assert_one_line(done.stderr, "--follow")
        done = harness.run([harness.VIEWER, self.here, "--every", "1"], expect=2)
        self.assert_one_line(done.stderr, "--every")


del Follow  # only under an MPI

if __name__ == "__main__":
    unittest.main()
