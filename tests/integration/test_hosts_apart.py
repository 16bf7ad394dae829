"""Runs on hosts that share no memory, no /tmp and no clock that counts from the boot, but a network and directories: measured, merged and
looked at as on one host. Hosts that lose power, cables that are pulled, node-local output.

The clocks are hours apart, by time name spaces, so each host's is known exactly beside the others'. None of them drifts: no name space
makes a clock go wrong, and the time of day is one on all (test_several_hosts.py makes up clocks that drift)."""

import collections
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

import harness
import made_hosts
import test_stacks
import traces
from against_logs import truth
from test_communication import RANKS
from test_exact_waits import AgainstLogs, key_of_row, key_of_wait, restamped

HOSTS = ("a0", "a1", "a2")
OF_RANK = ("a0", "a1", "a1", "a2")
SLOTS = "a0:1,a1:2,a2:1"
AHEAD = 7200  # s
REPETITIONS, DELAY = 2, 20  # ms
FOR_ONE = ("late-sender", "late-sender-wrong-order", "late-receiver")  # waits for one rank, which clocks cannot mistake for another
BETWEEN_CLOCKS = 5 * 10**6  # ns: a process that loses its processor between the readings of its two clocks, each time
SLOW_COMPARISON = 10**6  # ns: one of hosts' clocks that takes longer lost its processor; a send may end as late before its receive is posted
PATIENCE = 120  # s
WHY_NOT = made_hosts.missing_apart()
PYTHON = "/usr/bin/python3"  # which has Debian's packages
LATE_FILES = pathlib.Path(__file__).resolve().parent / "late_files.py"
CLIENT = "/tmp/net"  # where a host's client has the server's files


def why_no_files():
    if not os.path.exists("/dev/fuse"):
        return "the kernel has no FUSE"
    done = subprocess.run([PYTHON, "-c", "import fusepy"], capture_output=True, check=False)
    return "without fusepy (Debian: python3-fusepy)" if done.returncode != 0 else ""


WHY_NO_FILES = why_no_files()
VARIABLES = {name: value for name, value in harness.ENVIRONMENT.items() if name.startswith("OMPI_") or name in ("LC_ALL", "XDG_CACHE_HOME")}
# MPICH 4.0 between hosts hangs in MPI_Finalize, measured or not, unless this is preloaded.
ANSWERS = harness.PROGRAMS / "libfinalize_answers.so"


def launcher(mpi, agent, slots, ranks, **variables):
    if mpi == "openmpi":
        words = ["mpirun.openmpi", "--mca", "plm_rsh_agent", agent, "--host", slots]
        return [*words, *(word for name, value in variables.items() for word in ("-x", f"{name}={value}")), "-n", ranks]
    variables = {"LD_PRELOAD": ANSWERS, **variables}
    words = ["mpiexec.mpich", "-launcher-exec", agent, "-hosts", slots]
    return [*words, *(word for name, value in variables.items() for word in ("-genv", name, value)), "-n", ranks]


def until(holds, what=""):
    """Waits until `holds()` is true, and returns that; `what` may be what has to run until then."""
    end = time.monotonic() + PATIENCE
    while not (found := holds()):
        if isinstance(what, subprocess.Popen) and what.poll() is not None:
            raise AssertionError(f"ended with {what.returncode}: {what.communicate()}")
        if time.monotonic() > end:
            raise AssertionError(f"after {PATIENCE} seconds: {what}")
        time.sleep(0.05)
    return found


class Place(harness.Workspace):
    """Hosts, all with one directory."""

    @classmethod
    def setUpClass(cls):
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="culprit-hosts-"))
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        cls.hosts = cls.enterClassContext(cls.make_hosts(cls.place))

    @staticmethod
    def make_hosts(place):
        directory = place / "hosts"
        directory.mkdir()
        return made_hosts.HostsApart(directory, *HOSTS, shared=(place, harness.PREFIX, harness.PROGRAMS), ahead=AHEAD)

    def setUp(self):
        self.skip_where_a_twin_runs()
        self.here = self.place / self.id().rpartition(".")[2]
        self.here.mkdir()

    def on(self, host, *words, **options):
        return harness.run(self.hosts.command(host, words, self.here, VARIABLES), timeout=PATIENCE, **options)

    def start(self, host, *words):
        command = self.hosts.command(host, words, self.here, VARIABLES)
        started = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.leave, started)
        return started

    @staticmethod
    def leave(started):
        started.kill()
        started.wait()
        started.stdout.close()
        started.stderr.close()

    def launcher(self, mpi, ranks=RANKS, slots=SLOTS, **variables):
        return launcher(mpi, self.hosts.agent, slots, ranks, **variables)

    def launch(self, mpi, *words, ranks=RANKS, slots=SLOTS, variables=None, **options):
        return self.on("a0", *self.launcher(mpi, ranks, slots, **(variables or {})), *words, **options)

    def info_of_one_run(self, directory):
        self.assertEqual(len(list(directory.rglob("*.culprit"))), RANKS)
        info = harness.viewer_json(directory.with_name(f"{directory.name}.db"), "info")
        self.assertEqual((info["ranks"], info["world_size"], info["hosts"], info["cut_short"]), (RANKS, RANKS, list(HOSTS), 0))
        return info

    def seconds_by_rank(self, database):
        values = harness.viewer_json(database, "threads", "<program root>", "--metric", "REALTIME:sum (I)")["values"]
        sums = collections.Counter()
        for value in values:
            sums[value["rank"]] += value["value"]
        return sums


@unittest.skipIf(WHY_NOT, WHY_NOT)
class HostsApart(Place):
    def error_of_comparisons(self, processes):
        """What is left of it, by what the tools know: half of the longest round trip. Each offset is within that of the true one."""
        errors = []
        for process in processes:
            pairs = [pair for pair in process.clocks if pair["reference"] != -1]
            self.assertEqual(len(pairs), 2, process.rank)
            ahead = self.hosts.ahead[OF_RANK[process.rank]] * 10**9
            for pair in pairs:
                errors.append(pair["round_trip"] // 2)
                self.assertAlmostEqual(pair["monotonic"] - pair["reference_ns"], ahead, delta=errors[-1] + 1, msg=f"rank {process.rank}")
        return max(errors)

    def without_hours(self, directory):
        """The tools' times without what the hosts are apart."""
        processes = traces.read(directory)
        for process in processes:
            ahead = self.hosts.ahead[OF_RANK[process.rank]] * 10**9
            for call in (call for thread in process.threads for call in thread):
                call["enter"] -= ahead
                call["exit"] -= ahead
        return processes

    def logs_without_hours(self, directory):
        logs = truth.read(directory)
        for log in logs:
            ahead = self.hosts.ahead[OF_RANK[log.rank]] * 10**9
            log.begin, log.end = log.begin - ahead, log.end - ahead
            for call in log.calls:
                call.enter -= ahead
                call.exit -= ahead if call.exit != truth.FOREVER else 0
        return logs

    def measure(self, mpi, name, output):
        logs = self.here / f"logs-{name}"
        logs.mkdir()
        program = harness.PROGRAMS / f"truth_point_to_point.{mpi}"
        self.launch(mpi, harness.HPCRUN, "--trace", "-o", output, program, logs, REPETITIONS, DELAY)

    def compare_waits(self, name, error):
        """Waits are those of the program's own log, but for this error at either end of each."""
        processes = self.without_hours(self.here / name)
        logs = self.logs_without_hours(self.here / f"logs-{name}")
        AgainstLogs(processes, logs)
        copies, _ = restamped(logs, processes)
        true, found, count = collections.Counter(), collections.Counter(), collections.Counter()
        for wait in truth.Truth(copies).waits:
            true[key_of_wait(wait)] += wait.nanoseconds
            count[key_of_wait(wait)] += 1
        for row in harness.viewer_json(self.here / f"{name}.db", "waits"):
            if row["exact"]:
                found[key_of_row(row)] += row["seconds"] * 1e9
                count[key_of_row(row)] = max(count[key_of_row(row)], row["count"])
        for key in {key for key in (*true, *found) if key[0] in FOR_ONE}:
            self.assertAlmostEqual(found[key], true[key], delta=2 * error * count[key], msg=key)
        # Nothing was compared with nothing.
        for pattern in FOR_ONE:
            self.assertGreater(sum(ns for key, ns in true.items() if key[0] == pattern), DELAY * 10**6)

    def sent(self, name):
        """Messages and bytes by sender and receiver."""
        rows = harness.viewer_json(self.here / f"{name}.db", "communication")["partners"]
        return {(row["from"], row["to"], row["messages"], row["bytes"]) for row in rows}

    def check(self, mpi):
        """A run into a directory that all hosts share: waits are right, though each host's clock is hours ahead of the one before,
        and prof-mpi gives the same bytes on one host and on all. The same, each host writing to its own /tmp, gathered as the user
        guide says: ranks that do not see each other's files do not compare their hosts' clocks, and the time of day, which is one
        here, replaces that."""
        self.against_clock(lambda: self.measure(mpi, "shared", "shared"), self.compare_shared)
        self.launch(mpi, harness.PROF_MPI, "shared", "-o", "across.db", ranks=3, slots="a0:1,a1:1,a2:1")
        self.assertEqual((self.here / "across.db").read_bytes(), (self.here / "shared.db").read_bytes())

        self.measure(mpi, "local", "/tmp/run")
        for host in HOSTS:
            self.on(host, "sh", "-c", f"mkdir -p local && cp /tmp/run/*/* local && rm -r /tmp/run; ls local > {host}")
        self.assertEqual([len((self.here / host).read_text().split()) for host in HOSTS], [2, 6, 8])  # and their traces
        done = harness.run([harness.PROF_MPI, self.here / "local"])
        self.assertIn("the hosts did not compare their clocks", done.stderr)
        self.info_of_one_run(self.here / "local")
        database = self.here / "local.db"
        self.assertIsNone(harness.viewer_json(database, "report")["quality"]["clock_error_s"])
        text = " ".join(harness.run([harness.VIEWER, database, "waits"]).stdout.split())
        self.assertIn("The hosts did not compare their clocks", text)
        self.compare_waits("local", BETWEEN_CLOCKS)
        self.assertEqual(self.sent("local"), self.sent("shared"))

    def compare_shared(self):
        database = self.merge(self.here / "shared")
        self.info_of_one_run(self.here / "shared")
        error = self.error_of_comparisons(traces.read(self.here / "shared"))
        quality = harness.viewer_json(database, "report")["quality"]
        self.assertAlmostEqual(quality["clock_error_s"] * 1e9, error, delta=2)
        if error > SLOW_COMPARISON:
            raise harness.LostProcessor(f"comparing the hosts' clocks took {2 * error / 1e6:.1f} ms")
        self.assertEqual(quality["clock_violations_left"], 0)
        self.compare_waits("shared", error + 1)

    def test_shared_and_local_openmpi(self):
        self.check("openmpi")

    def test_shared_and_local_mpich(self):
        self.check("mpich")


class OwnHosts(Place):
    """Each test with hosts of its own."""

    @classmethod
    def setUpClass(cls):
        pass

    def setUp(self):
        type(self).place = self.place = pathlib.Path(tempfile.mkdtemp(prefix="culprit-hosts-"))
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        self.hosts = self.enterContext(self.make_hosts(self.place))
        super().setUp()


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Failing(OwnHosts):
    @harness.thorough
    def test_looks_from_another_host(self):
        """stuck and stacks, on a host on which one rank runs, see the ranks of all."""
        run = self.here / "run"
        self.start("a0", *self.launcher("openmpi"), harness.HPCRUN, "-o", run, harness.PROGRAMS / "ranks_apart.openmpi", PATIENCE)
        begun = time.monotonic()

        def found():
            done = self.on("a0", harness.VIEWER, "stuck", run, "--format", "json", expect=None)
            said = json.loads(done.stdout) if done.stdout else {}
            return said if len(said.get("waiting", ())) == RANKS - 1 else None

        said = until(found)
        self.assertEqual({row["rank"] for row in said["waiting"]}, set(range(RANKS - 1)))
        for row in said["waiting"]:
            self.assertEqual(row["for"], [RANKS - 1])
            self.assertTrue(0 <= row["since_s"] <= time.monotonic() - begun, row)  # each by its own host's clock
        done = self.on("a0", harness.VIEWER, "stacks", run)
        for sentence in test_stacks.sentences(RANKS):
            self.assertIn(sentence, done.stdout)
        self.assertRegex(done.stdout, rf"(?m)^{RANKS} processes on {len(HOSTS)} hosts, ")

    def start_iterations(self, mpi):
        """Returns the launcher, all ranks being measured."""
        job = self.start("a0", *self.launcher(mpi), harness.HPCRUN, "-o", "run", harness.PROGRAMS / f"slow_rank.{mpi}", PATIENCE, "stop")
        until(lambda: len(list(self.here.glob("run/*/rank-*.culprit"))) == RANKS, job)
        return job

    def check_power_loss(self, mpi):
        """A host dies: what was measured until then is there, on that host as well, and the others' launcher ends them."""
        job = self.start_iterations(mpi)
        begun = time.monotonic()
        time.sleep(4)
        lasted = time.monotonic() - begun
        self.hosts.die("a2")
        out, err = job.communicate(timeout=PATIENCE)
        self.assertNotEqual(job.returncode, 0, out + err)
        self.assertNotIn("hpcrun-lite", err)
        until(lambda: self.on("a1", "sh", "-c", "pgrep slow_rank", expect=None).returncode == 1, "ranks run on")
        done = harness.run([harness.PROF_MPI, self.here / "run"], expect=3)
        self.assertRegex(done.stderr, r"cut short")
        for rank, seconds in self.seconds_by_rank(self.here / "run.db").items():
            self.assertGreater(seconds, lasted - 2, rank)  # one may be missing, one is for a busy machine
        info = harness.viewer_json(self.here / "run.db", "info")
        self.assertEqual((info["ranks"], info["hosts"]), (RANKS, list(HOSTS)))

    def test_power_loss_openmpi(self):
        self.check_power_loss("openmpi")

    @harness.thorough
    def test_power_loss_mpich(self):
        self.check_power_loss("mpich")

    def check_pulled_cable(self, mpi):
        """Nothing moves while the cable is out, and all goes on after: the run is complete, with the wait in it."""
        job = self.start_iterations(mpi)
        time.sleep(1)
        self.hosts.plug("a2", False)
        time.sleep(3)
        self.hosts.plug("a2")
        time.sleep(1)
        (self.here / "stop").touch()
        out, err = job.communicate(timeout=PATIENCE)
        self.assertEqual(job.returncode, 0, out + err)
        self.merge(self.here / "run")
        self.info_of_one_run(self.here / "run")
        for rank, seconds in self.seconds_by_rank(self.here / "run.db").items():
            self.assertGreater(seconds, 4.5, rank)
        self.assertGreater(harness.viewer_json(self.here / "run.db", "report")["idle_s"], 3 * (RANKS - 1))

    @harness.thorough
    def test_pulled_cable_openmpi(self):
        self.check_pulled_cable("openmpi")

    @harness.thorough
    def test_pulled_cable_mpich(self):
        self.check_pulled_cable("mpich")

    @harness.thorough
    def test_ended_while_cut_off(self):
        """SIGTERM ends ranks that wait for what never comes, at once."""
        job = self.start_iterations("openmpi")
        begun = time.monotonic()
        self.hosts.plug("a2", False)
        time.sleep(3)
        lasted = time.monotonic() - begun
        for path in self.here.glob("run/*/rank-*.culprit"):
            _, _, host, pid, _ = path.name.split("-")
            self.on(host, "kill", pid, expect=None)  # the launcher ends the others when one has ended
        for host in HOSTS:
            until(lambda host=host: self.on(host, "pgrep", "slow_rank", expect=None).returncode == 1, f"ranks run on {host}")
        job.kill()
        done = harness.run([harness.PROF_MPI, self.here / "run"], expect=3)
        self.assertIn("cut short", done.stderr)
        for rank, seconds in self.seconds_by_rank(self.here / "run.db").items():
            self.assertGreater(seconds, lasted - 2, rank)


@unittest.skipIf(WHY_NOT or WHY_NO_FILES, WHY_NOT or WHY_NO_FILES)
class LateFiles(OwnHosts):
    """Directories on a file system that behaves as a network's does: late_files.py."""

    def setUp(self):
        super().setUp()
        self.server, self.rules = self.place / "server", self.place / "rules.json"
        self.server.mkdir()

    def mount(self, **rules):
        self.change(**rules)
        for host in HOSTS:
            self.on(host, "mkdir", CLIENT)
            self.start(host, PYTHON, LATE_FILES, self.server, CLIENT, self.rules)
        for host in HOSTS:
            until(lambda host=host: self.on(host, "mountpoint", CLIENT, expect=None).returncode == 0, f"no files on {host}")

    def change(self, **rules):
        new = self.rules.with_suffix(".new")
        new.write_text(json.dumps(rules))
        new.rename(self.rules)

    def iterate(self, mpi, seconds, *options, **more):
        program = harness.PROGRAMS / f"slow_rank.{mpi}"
        return self.launch(mpi, harness.HPCRUN, *options, "-o", f"{CLIENT}/run", program, seconds, "never", **more)

    def start_iterations(self, mpi):
        """Returns the launcher, all ranks being measured."""
        program = harness.PROGRAMS / f"slow_rank.{mpi}"
        job = self.start("a0", *self.launcher(mpi), harness.HPCRUN, "--trace", "-o", f"{CLIENT}/run", program, PATIENCE, "stop")
        until(lambda: len(list(self.server.glob("run/*/rank-*.culprit"))) == RANKS, job)
        return job

    def check_slow(self, mpi):
        """What hosts write is seen late by others, and each operation takes its time: all is there, whatever host merges it."""
        self.mount(delay=0.01, stale="culprit.ranks")
        (self.server / "run").mkdir()
        self.on("a2", "stat", f"{CLIENT}/run/culprit.run", expect=1)  # it goes on to believe so
        program = harness.PROGRAMS / f"slow_rank.{mpi}"
        done = self.launch(mpi, harness.HPCRUN, "--trace", "-o", f"{CLIENT}/run", program, 2, "never")
        # On a busy machine Open MPI warns of a race of its own (plm:rsh, setpgid) with each host that it reaches.
        said = "\n".join(line for line in done.stderr.splitlines() if "plm:rsh: Warning: setpgid" not in line)
        self.assert_one_line(said, "hpcrun-lite: ", " samples, ", f" in {CLIENT}/run; ")
        self.assertNotIn("on rank 0", done.stderr)  # whose ranks all knew that all are measured
        shutil.copytree(self.server / "run", self.here / "run")
        alone = self.merge(self.here / "run")
        self.info_of_one_run(self.here / "run")
        self.assertGreater(harness.viewer_json(alone, "report")["quality"]["clock_error_s"], 0)
        self.launch(mpi, harness.PROF_MPI, f"{CLIENT}/run", ranks=3, slots="a0:1,a1:1,a2:1")
        self.assertEqual((self.server / "run.db").read_bytes(), alone.read_bytes())

    def test_slow_openmpi(self):
        self.check_slow("openmpi")

    @harness.thorough
    def test_slow_mpich(self):
        self.check_slow("mpich")

    def test_joined_late(self):
        """A host that believes that the directory has no run yet, and cannot make one, waits until it sees that of the others; but no
        run joins what others measured."""
        self.mount()
        (self.server / "run").mkdir()
        for unseen in ("run/culprit.run", "new"):
            name = unseen.partition("/")[0]
            self.on("a1", "stat", f"{CLIENT}/{unseen}", expect=1)
            for rank, host in enumerate(("a0", "a1")):
                job = ("env", "PMIX_NAMESPACE=1", f"OMPI_COMM_WORLD_RANK={rank}", "OMPI_COMM_WORLD_SIZE=2")
                self.on(host, *job, harness.HPCRUN, "-o", f"{CLIENT}/{name}", harness.PROGRAMS / "spin", 0.2)
            info = harness.viewer_json(self.merge(self.server / name), "info")
            self.assertEqual(info["hosts"], ["a0", "a1"], unseen)
        (self.server / "run" / "culprit.run").unlink()
        refused = self.on("a2", harness.HPCRUN, "-o", f"{CLIENT}/run", harness.PROGRAMS / "spin", 0.2, expect=1)
        self.assert_one_line(refused.stderr, "is not empty and no measurement")
        self.assertFalse((self.server / "run" / "culprit.run").exists())

    def check_cut_short(self, least):
        """prof-mpi says so of all ranks, and each has at least these seconds."""
        done = harness.run([harness.PROF_MPI, self.server / "run", "-o", self.here / "run.db"], expect=3)
        for rank in range(RANKS):
            self.assertRegex(done.stderr, f"rank {rank} was cut short")
        for rank, seconds in self.seconds_by_rank(self.here / "run.db").items():
            self.assertGreater(seconds, least, rank)
        return done

    @harness.thorough
    def test_full(self):
        """No space from the middle of the run on, of which clients hear when they have gone on: the program does not notice, and the
        tools say what is missing."""
        self.mount(delay=0.01)
        job = self.start_iterations("openmpi")
        begun = time.monotonic()
        time.sleep(4)
        lasted = time.monotonic() - begun
        self.change(delay=0.01, full=True)
        time.sleep(1)
        (self.here / "stop").touch()
        out, err = job.communicate(timeout=PATIENCE)
        self.assertEqual(job.returncode, 0, out + err)
        self.assertIn(f"the trace stopped because it could not be written on {RANKS} of {RANKS} ranks", err)
        self.check_cut_short(lasted - 3)

    @harness.thorough
    def test_power_loss(self):
        """What a client had not sent is lost with its host, and no more."""
        self.mount(delay=0.01)
        job = self.start_iterations("openmpi")
        begun = time.monotonic()
        time.sleep(5)
        lasted = time.monotonic() - begun
        self.hosts.die("a2")
        out, err = job.communicate(timeout=PATIENCE)
        self.assertNotEqual(job.returncode, 0, out + err)
        self.check_cut_short(lasted - 3)

    @harness.thorough
    def test_errors(self):
        """Operations fail at random: a run is refused at its start, or whatever is missing in the end is said. Nothing hangs, and no
        program notices."""
        self.mount(delay=0.005, errors=0.01)
        program = harness.PROGRAMS / "slow_rank.openmpi"
        for run in map(str, range(3)):
            done = self.launch("openmpi", harness.HPCRUN, "--trace", "-o", f"{CLIENT}/{run}", program, 2, "never", expect=None)
            if done.returncode != 0:
                self.assertRegex(done.stderr, r"(?m)^hpcrun-lite: output: ")
                continue
            merged = harness.run([harness.PROF_MPI, self.server / run, "-o", self.here / f"{run}.db"], expect=None)
            self.assertIn(merged.returncode, (0, 3), merged.stderr)
            if merged.returncode == 3:
                self.assertIn("prof-mpi: ", merged.stderr)
                continue
            seconds = self.seconds_by_rank(self.here / f"{run}.db")
            quality = harness.viewer_json(self.here / f"{run}.db", "report")["quality"]
            self.assertEqual(len(seconds), RANKS, merged.stderr + done.stderr)
            if quality["traced_ranks"] < RANKS:
                report = " ".join(harness.run([harness.VIEWER, self.here / f"{run}.db", "report"]).stdout.split())
                self.assertIn(f"{RANKS - quality['traced_ranks']} of {RANKS} ranks", report)
            for rank in range(RANKS):
                self.assertGreater(seconds[rank] + quality["dropped"], 1.5, f"rank {rank}: {done.stderr}")


if __name__ == "__main__":
    unittest.main()
