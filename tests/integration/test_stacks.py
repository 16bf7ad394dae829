"""Looks at processes that nobody prepared (`viewer-cli stacks`): it names functions, lines and ranks, and no process notices."""

import collections
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import harness
import made_hosts

APPS = pathlib.Path(__file__).resolve().parent.parent / "apps"
TRACE = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
for tid in os.listdir(f"/proc/{sys.argv[1]}/task"):
    libc.ptrace(0x4206, int(tid), None, None)  # PTRACE_SEIZE
print("traces", flush=True)
sys.stdin.read()
"""
PATIENCE = 200  # seconds until a program has got to where it stays
KILLS = 60
UNTIL_KILL = 0.06  # seconds: a look of undisturbed takes a few milliseconds


def line_of(source, mark):
    """The line that is marked so."""
    for number, text in enumerate((APPS / source).read_text().splitlines(), 1):
        if re.search(rf"/[/*] here: {mark}\b", text):
            return number
    raise AssertionError(f"no line of {source} is marked {mark}")


def stacks(*arguments, expect=0, **options):
    return harness.run([harness.VIEWER, "stacks", *arguments], expect=expect, **options)


def stacks_json(*arguments, expect=0):
    return json.loads(stacks(*arguments, "--format", "json", expect=expect).stdout)


def paths(found):
    """Each thread's innermost nodes, as (location, path) with names from the root on."""
    def below(node, path):
        path = [*path, node["frame"]]
        inner = set()
        for child in node["children"]:
            inner |= {(each["process"], each["thread"]) for each in child["locations"]}
            yield from below(child, path)
        for location in node["locations"]:
            if (location["process"], location["thread"]) not in inner:
                yield location, path
    for root in found["roots"]:
        yield from below(root, [])


def states(pid):
    """The states of a process's threads."""
    found = []
    for stat in pathlib.Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            found.append(stat.read_text().rpartition(")")[2].split()[0])
        except OSError:
            pass
    return found


class Running:
    """A program of ours that runs until its standard input ends."""

    def __init__(self, name, *arguments):
        self.process = subprocess.Popen([str(harness.PROGRAMS / name), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.pid = self.process.pid

    def __enter__(self):
        assert self.process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def end(self):
        """Lets it end, and returns what it says then."""
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err


def sentences(ranks):
    """What is said of the ranks of ranks_apart."""
    solve, load = line_of("ranks_apart.c", "solve"), line_of("ranks_apart.c", "load_mesh")
    who = "rank 0 stands" if ranks == 2 else f"ranks 0-{ranks - 2} stand"
    return (f"- {who} in MPI_Allreduce under solve at ranks_apart.c:{solve}\n",
            f"- rank {ranks - 1} stands in read under load_mesh at ranks_apart.c:{load}\n")


class Job:
    """Ranks of ranks_apart, or of another program that hangs, measured or not."""

    def __init__(self, mpi, ranks, directory=None, before=(), options=(), program="ranks_apart", arguments=(240,)):
        self.program = harness.PROGRAMS / f"{program}.{mpi}"
        measured = [harness.HPCRUN, "-o", directory] if directory else []
        command = [*harness.LAUNCHERS[mpi], *options, "-n", ranks, *before, *measured, self.program, *arguments]
        self.mark = tempfile.mkdtemp(prefix="culprit-stacks-")
        self.launcher = subprocess.Popen([str(word) for word in command], env=dict(harness.ENVIRONMENT, CULPRIT_TEST_MARK=self.mark),
                                         start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.launcher.poll() is None:
            os.killpg(self.launcher.pid, signal.SIGKILL)
        self.launcher.wait()
        while self.kill_rest():  # ranks in groups of their own
            time.sleep(0.05)
        shutil.rmtree(self.mark, ignore_errors=True)

    def kill_rest(self):
        """Whether processes of the job were there."""
        found = False
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (process / "environ").read_bytes():
                    found = True
                    os.kill(int(process.name), signal.SIGKILL)
            except OSError:
                pass
        return found

    def when_in_place(self, ranks, *arguments):
        """The first looks that all show all ranks where they stay."""
        end = time.monotonic() + PATIENCE
        while True:
            done = stacks(*arguments, expect=None)
            in_all_looks = not re.search(r"(?m)^main .* looks$", done.stdout)
            if in_all_looks and all(sentence in done.stdout for sentence in sentences(ranks)):
                return done
            assert time.monotonic() < end, f"{done.stdout}\n{done.stderr}"
            time.sleep(0.2)


class Ranks(harness.Workspace):
    def check_text(self, text, ranks):
        solve = line_of("ranks_apart.c", "solve")
        for sentence in sentences(ranks):
            self.assertIn(sentence, text)
        self.assertRegex(text, rf"(?m)^main +ranks 0-{ranks - 1}$")
        self.assertRegex(text, rf"solve › MPI_Allreduce \(ranks_apart.c:{solve}\) +ranks 0-{ranks - 2}\n")

    def check_json(self, found, ranks):
        self.assertEqual((found["processes"], found["looks"], found["unseen"]), (ranks, 3, []))
        inner = {"rank": set(), "place": set()}
        for location, path in paths(found):
            if location["role"] != "main":
                continue
            self.assertEqual(path[0]["kind"], "root")
            self.assertRegex(location["process"], r"^.+:\d+$")
            names = [frame["name"] for frame in path]
            place = ("solve", "MPI_Allreduce") if location["rank"] < ranks - 1 else ("load_mesh", "read")
            self.assertIn("main", names)
            self.assertEqual(names[names.index("main") + 1], place[0])
            self.assertIn(place[1], names)
            inner["rank"].add(location["rank"])
        self.assertEqual(inner["rank"], set(range(ranks)))

    def check_job(self, mpi):
        with Job(mpi, 4) as job:
            self.check_text(job.when_in_place(4, "--job", job.launcher.pid).stdout, 4)
            self.check_json(stacks_json("--job", job.launcher.pid), 4)
            ranks = sorted({int(location["process"].rpartition(":")[2])
                            for location, _ in paths(stacks_json("--job", job.launcher.pid))})
            self.check_text(stacks(*ranks).stdout, 4)  # the same by their numbers

    def test_a_job_is_found_by_its_launcher_openmpi(self):
        self.check_job("openmpi")

    def test_a_job_is_found_by_its_launcher_mpich(self):
        self.check_job("mpich")

    def check_shells(self, mpi):
        script = self.here / "start.sh"
        script.write_text('#!/bin/sh\n"$@"\nexit $?\n')
        script.chmod(0o755)
        with Job(mpi, 2, before=[script]) as job:
            self.assertIn("\n2 processes, ", job.when_in_place(2, "--job", job.launcher.pid).stdout)

    def test_shells_around_ranks_are_left_out_openmpi(self):
        self.check_shells("openmpi")

    def test_shells_around_ranks_are_left_out_mpich(self):
        self.check_shells("mpich")

    def check_finalize(self, mpi):
        """Rank 1 is in MPI_Finalize, where our wrapper adds up totals by MPI_Allreduce first."""
        with Job(mpi, 3, directory=self.here / "run1", program="hangs", arguments=("finalize", 240)) as job:
            end = time.monotonic() + PATIENCE
            while "rank 1 stands in MPI_Finalize under main at hangs.c:" not in (text := stacks("--job", job.launcher.pid, expect=None).stdout):
                self.assertLess(time.monotonic(), end, text)
                time.sleep(0.2)
            self.assertIn("ranks 0, 2 stand in MPI_Barrier under one_finalizes", text)
            self.assertNotIn("MPI_Allreduce", text)
            self.assertNotIn("MPI_Allreduce", harness.run([harness.VIEWER, "stacks", "--job", job.launcher.pid, "--format", "json"]).stdout)

    def test_finalize_openmpi(self):
        self.check_finalize("openmpi")

    def test_finalize_mpich(self):
        self.check_finalize("mpich")

    def check_measured(self, mpi):
        run = self.here / "run1"
        with Job(mpi, 4, directory=run) as job:
            self.check_text(job.when_in_place(4, run).stdout, 4)
            found = json.loads(harness.run([harness.VIEWER, run, "stacks", "--format", "json"]).stdout)
            self.check_json(found, 4)
            for location, path in paths(found):  # neither our wrappers nor our own threads
                self.assertFalse([frame for frame in path if frame["module"].startswith("libculprit")], location)
        done = stacks(run, expect=1)
        self.assert_one_line(done.stderr, "viewer-cli: stacks: ", "run1", "no process of it runs on this host")

    def test_the_processes_of_a_measurement_openmpi(self):
        self.check_measured("openmpi")

    def test_the_processes_of_a_measurement_mpich(self):
        self.check_measured("mpich")

    def test_lammps(self):
        command = [*harness.LAUNCHERS["openmpi"], "-n", "2", shutil.which("lmp"), "-in", APPS / "melt.in", "-log", "none", "-screen",
                   "none", "-var", "steps", "1000000"]
        job = subprocess.Popen([str(word) for word in command], env=harness.ENVIRONMENT, cwd=self.here, start_new_session=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + PATIENCE
            # Before, Open MPI loads libraries and closes them again, and nobody knows what was where.
            main = []
            while len(main) < 2 or not all("LAMMPS_NS::Run::command(int, char**)" in names for _, names in main):
                self.assertLess(time.monotonic(), end)
                done = stacks("--job", job.pid, "--format", "json", expect=None)
                found = paths(json.loads(done.stdout)) if done.stdout else []
                main = [(path[0]["kind"], [frame["name"] for frame in path]) for location, path in found if location["role"] == "main"]
            self.assertEqual({kind for kind, _ in main}, {"root"}, main)
        finally:
            os.killpg(job.pid, signal.SIGTERM)
            job.wait()


class Threads(harness.Workspace):
    WHERE = {"load_mesh": ("read", 5), "rest": ("sleep", 6), "take_lock": ("lock", 3), "compute": ("inlined", 1), "wait_for_end": (None, 1)}

    def when_in_place(self, pid):
        end = time.monotonic() + PATIENCE
        while True:
            found = stacks_json(pid)
            threads = {name: [] for name in self.WHERE}
            number = collections.Counter((location["process"], location["thread"]) for location, _ in paths(found))
            for location, path in paths(found):
                stays = number[location["process"], location["thread"]] == 1
                for frame in path:
                    if frame["name"].rpartition("::")[2].partition("(")[0] in threads and stays:
                        threads[frame["name"].rpartition("::")[2].partition("(")[0]].append((location, path))
            if all(len(threads[name]) == number for name, (_, number) in self.WHERE.items() if name != "compute"):
                return found, threads
            self.assertLess(time.monotonic(), end, {name: len(each) for name, each in threads.items()})

    def test_functions_lines_and_inlined_code_of_sixteen_threads(self):
        with Running("placed_threads") as program:
            found, threads = self.when_in_place(program.pid)
            self.assertEqual((found["processes"], found["threads"]), (1, 16))
            self.assertEqual({root["frame"]["name"] for root in found["roots"]}, {"<program root>", "<thread root>"})
            for name in ("load_mesh", "rest", "take_lock"):
                line = line_of("placed_threads.cpp", self.WHERE[name][0])
                for location, path in threads[name]:
                    self.assertIsNone(location["rank"])
                    at = [frame["line"] for frame in path if name in frame["name"]]
                    self.assertEqual(at, [line])
            deep = [path for _, path in threads["rest"] if any("descend" in frame["name"] for frame in path)]
            self.assertEqual([sum("descend" in frame["name"] for frame in path) for path in deep], [201])
            self.assertEqual([sum("keep_array" in frame["name"] for frame in path) for path in deep], [1])
            interrupted = [[frame["name"].partition("(")[0] for frame in path] for _, path in threads["wait_for_end"]]
            self.assertEqual([sum(name in ("main", "be_interrupted", "handle") for name in path) for path in interrupted], [3])
            inlined = [frame for _, path in paths(found) for frame in path if frame["kind"] == "inlined" and "advance" in frame["name"]]
            self.assertTrue(inlined)
            self.assertIn(line_of("placed_threads.cpp", "inlined"), {frame["line"] for frame in inlined})
            text = stacks(program.pid).stdout
            self.assertRegex(text, r"threads \S.* stand in read under .*load_mesh")
            self.assertRegex(text, r"(?m)^1 process, 16 threads, 3 looks, 300 ms apart; no thread was stopped for longer than [\d.]+ .?s\.$")
            self.assertRegex(text, r"descend.* × 201")
            one = stacks(program.pid, "--looks", 1).stdout
            self.assertRegex(one, r"main thread is in (__libc_)?read under .*wait_for_end")

    def test_a_process_that_was_stopped_stays_stopped(self):
        with Running("placed_threads") as program:
            os.kill(program.pid, signal.SIGSTOP)
            while set(states(program.pid)) != {"T"}:
                time.sleep(0.01)
            done = stacks(program.pid, "--format", "json")
            self.assertEqual(json.loads(done.stdout)["threads"], 16)
            self.assert_one_line(done.stderr, f"process {program.pid} (placed_threads): is stopped by a signal (kill -CONT {program.pid} ")
            self.assertEqual(set(states(program.pid)), {"T"})
            os.kill(program.pid, signal.SIGCONT)
            while "T" in states(program.pid):
                time.sleep(0.01)
            self.assertEqual(program.end()[0], 0)

    def test_calls_see_no_error_and_signals_arrive(self):
        with Running("undisturbed", "signals") as program:
            for looks, every in ((200, 0), (60, 0.01), (10, 0.1)):
                stacks_json(program.pid, "--looks", looks, "--every", every)
            status, out, err = program.end()
            self.assertEqual(status, 0, out + err)
            self.assert_undisturbed(out)

    def assert_undisturbed(self, out):
        calls = re.findall(r"(?m)^call (\S+) (\d+) (\d+) (\d+) (\S+)$", out)
        self.assertGreater(len(calls), 14)
        for name, number, errors, early, error in calls:
            self.assertGreater(int(number), 0, name)
            self.assertEqual((int(errors), int(early)), (0, 0), f"{name}: {error}")

    def test_who_is_killed_meanwhile_leaves_no_thread_stopped_and_loses_no_signal(self):
        with Running("undisturbed", "signals") as program:
            chance = random.Random(7)
            for _ in range(KILLS):
                viewer = subprocess.Popen([str(harness.VIEWER), "stacks", str(program.pid), "--looks", "1000", "--every", "0"],
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(chance.uniform(0, UNTIL_KILL))
                viewer.kill()
                viewer.wait()
                end = time.monotonic() + PATIENCE
                while set(states(program.pid)) & {"t", "T"}:
                    self.assertLess(time.monotonic(), end, states(program.pid))
            status, out, err = program.end()
            self.assertEqual(status, 0, out + err)


def on_hosts(mpi, agent, far, near=True):
    """Options of a launcher: two ranks on each host that is far, and one here."""
    hosts = ",".join([*([f"{socket.gethostname()}:1"] if near else []), *(f"{name}:2" for name in far)])
    if mpi == "openmpi":
        return ["--mca", "plm_rsh_agent", agent, "--host", hosts]
    return ["-launcher-exec", agent, "-hosts", hosts, "-genv", "UCX_TLS", "tcp,self"]


@unittest.skipUnless(made_hosts.available(), "needs root, to make hosts")
class OtherHosts(harness.Workspace):
    """Jobs on this host and on two that are made up."""

    def hosts(self):
        directory = self.here / "hosts"
        directory.mkdir()
        return made_hosts.Hosts(directory, "far1", "far2")

    def check_all(self, done):
        for sentence in sentences(5):
            self.assertIn(sentence, done.stdout)
        self.assertRegex(done.stdout, r"(?m)^main +ranks 0-4$")
        self.assertRegex(done.stdout, r"(?m)^5 processes on 3 hosts, \d+ threads, 3 looks, ")
        self.assertEqual((done.stderr, done.returncode), ("", 0))

    def check_job(self, mpi):
        with self.hosts() as hosts, Job(mpi, 5, options=on_hosts(mpi, hosts.agent, hosts.names)) as job:
            self.check_all(job.when_in_place(5, "--job", job.launcher.pid))
            found = stacks_json("--job", job.launcher.pid)
            ranks = {(each["process"].partition(":")[0], each["rank"]) for each, _ in paths(found) if each["role"] == "main"}
            self.assertEqual(ranks, {(socket.gethostname(), 0), ("far1", 1), ("far1", 2), ("far2", 3), ("far2", 4)})
            here = stacks("--job", job.launcher.pid, "--here")
            self.assertIn("rank 0 stands in MPI_Allreduce", here.stdout)
            self.assertIn("\n1 process, ", here.stdout)
            name = re.search(r"viewer-cli stacks --job (\w+:[\w:.-]+)\)", here.stderr)
            self.assert_one_line(here.stderr, "4 of 5 ranks are not here: they have ended, or run on other hosts (on each of them: ")
            far = harness.run([hosts.agent, "far2", harness.VIEWER, "stacks", "--job", name.group(1)])
            self.assertIn("\n2 processes, ", far.stdout)

    def check_dead_host(self, mpi):
        with self.hosts() as hosts, Job(mpi, 5, options=on_hosts(mpi, hosts.agent, hosts.names)) as job:
            job.when_in_place(5, "--job", job.launcher.pid)
            name = re.search(r"viewer-cli stacks --job (\w+:[\w:.-]+)\)", stacks("--job", job.launcher.pid, "--here").stderr)
            hosts.die("far2")
            done = stacks("--job", job.launcher.pid, expect=None)
            if job.launcher.poll() is None:  # Open MPI may end the job already
                self.assertEqual(done.returncode, 3)
                # Its other ranks may be ended at this very moment.
                others = "\n".join(line for line in done.stderr.splitlines() if not line.endswith("has ended (look at others)"))
                self.assert_one_line(others, "viewer-cli: stacks: host far2: ", f"(look there: viewer-cli stacks --job {name.group(1)})")
                # It ends the rank beside it first: then the other host's alone are left.
                self.assertTrue("on 2 hosts" in done.stdout or "ranks 1, 2 stand in MPI_Allreduce" in done.stdout, done.stdout)

    def test_a_dead_host_openmpi(self):
        self.check_dead_host("openmpi")

    @harness.thorough  # its launcher may say nothing of a host that it does not reach, for half a minute
    def test_a_dead_host_mpich(self):
        self.check_dead_host("mpich")

    def test_a_job_on_several_hosts_openmpi(self):
        self.check_job("openmpi")

    def test_a_job_on_several_hosts_mpich(self):
        self.check_job("mpich")

    def check_launcher_alone(self, mpi):
        """The launcher's host has no rank: a login node."""
        with self.hosts() as hosts:
            with Job(mpi, 4, options=on_hosts(mpi, hosts.agent, hosts.names, near=False)) as job:
                self.assertIn("\n4 processes on 2 hosts, ", job.when_in_place(4, "--job", job.launcher.pid).stdout)

    def test_all_ranks_elsewhere_openmpi(self):
        self.check_launcher_alone("openmpi")

    @harness.thorough
    def test_all_ranks_elsewhere_mpich(self):
        self.check_launcher_alone("mpich")

    def check_measured(self, mpi):
        run = self.here / "run1"
        with self.hosts() as hosts, Job(mpi, 5, directory=run, options=on_hosts(mpi, hosts.agent, hosts.names)) as job:
            self.check_all(job.when_in_place(5, run))

    @harness.thorough
    def test_a_measurement_on_several_hosts_openmpi(self):
        self.check_measured("openmpi")

    def test_a_measurement_on_several_hosts_mpich(self):
        self.check_measured("mpich")


class Slurm(harness.Workspace):
    """srun's tasks are not below it: Slurm's commands are made up, and say whose they are."""

    def test_tasks_of_srun(self):
        bin_directory = self.here / "bin"
        bin_directory.mkdir()
        shutil.copy("/bin/bash", bin_directory / "srun")
        environment = dict(harness.ENVIRONMENT, PATH=f"{bin_directory}:{os.environ['PATH']}")
        # It consists of two processes, and within a batch script both have the number of its task.
        launcher = subprocess.Popen(["srun", "-c", "SLURM_PROCID=0 srun -c read; true"], env=environment, stdin=subprocess.PIPE,
                                    executable=str(bin_directory / "srun"))  # fmt: skip
        own = socket.gethostname()
        step = (f"StepId=4711.0 UserId=0 StartTime=now TimeLimit=UNLIMITED State=RUNNING Partition=p NodeList={own} Nodes=1 CPUs=2 Tasks=2 "
                f"Name=sleep Network=(null) SrunHost:Pid={own}:{launcher.pid}")
        scontrol = bin_directory / "scontrol"
        scontrol.write_text(f'#!/bin/sh\ncase "$*" in *step*) echo "{step}";; *hostnames*) echo {own};; esac\n')
        scontrol.chmod(0o755)
        tasks = [subprocess.Popen(["sleep", "600"], start_new_session=True,
                                  env=dict(environment, SLURM_JOB_ID="4711", SLURM_STEP_ID=step, SLURM_PROCID=str(rank), SLURM_NTASKS="2"))
                 for rank, step in ((0, "0"), (1, "0"), (0, "1"))]
        try:
            done = stacks("--job", launcher.pid, env=environment, expect=None)
            end = time.monotonic() + PATIENCE
            while "ranks 0, 1 stand in" not in done.stdout:
                self.assertLess(time.monotonic(), end, done.stdout + done.stderr)
                done = stacks("--job", launcher.pid, env=environment, expect=None)
            self.assertIn("\n2 processes, ", done.stdout)  # not that of another step
            self.assertEqual(done.stderr, "")
            self.assertIn("\n1 process, ", stacks("--job", "slurm:4711.1").stdout)
            self.assertIn("\n3 processes, ", stacks("--job", "slurm:4711").stdout)
        finally:
            launcher.stdin.close()  # which ends its second process
            for each in (launcher, *tasks):
                each.kill()
                each.wait()


class Changes(harness.Workspace):
    """Processes that change while they are looked at."""

    def test_a_thread_that_executes_a_program(self):
        with Running("unsteady", "exec") as program:
            for _ in range(10):
                done = stacks(program.pid, "--looks", 100, "--every", 0.001, expect=None)
                self.assertIn(done.returncode, (0, 1), done.stderr)  # 1: there was none at that moment
                self.assertNotIn("not permitted", done.stderr)
            status, out, err = program.end()  # nobody holds it
            self.assertEqual(status, 0, err)
            self.assertRegex(out, r"^execs [1-9]")

    def test_a_thread_that_has_just_begun(self):
        """Nobody called it, but what made it says so only some instructions later."""
        with Running("newborn") as program:
            found = stacks_json(int(program.process.stdout.readline()))
            begun = {location["thread"]: (path[0]["kind"], path[-1]["name"]) for location, path in paths(found)}
            self.assertEqual(len(begun), 2)
            self.assertEqual({kind for kind, _ in begun.values()}, {"root", "thread-root"})
            # Only libc's debugging symbols, where they are installed, have its name.
            self.assertTrue({"clone3", "<unknown in libc.so.6>"} & {name for _, name in begun.values()}, begun)
            self.assertEqual(program.end()[0], 0)

    def test_a_thread_that_stops_late(self):
        with Running("unsteady", "vfork") as program:
            end = time.monotonic() + PATIENCE
            done = stacks(program.pid, "--looks", 2, "--every", 0.05)
            while "uninterruptible sleep" not in done.stderr:
                self.assertLess(time.monotonic(), end)
                done = stacks(program.pid, "--looks", 2, "--every", 0.05)
            self.assert_one_line(done.stderr, f"viewer-cli: stacks: process {program.pid} (unsteady): thread ", "a child of vfork")
            self.assertIn("main thread stands in", done.stdout)
            stacks_json(program.pid, "--looks", 40, "--every", 0.05)  # it wakes between looks
            status, out, err = program.end()
            self.assertEqual((status, err), (0, ""))
            self.assertRegex(out, r"^children [1-9]")

    def test_a_terminal_that_stops_us_leaves_no_thread_stopped(self):
        """Ctrl-Z: between looks, when nobody waits for us."""
        with Running("undisturbed", "signals") as program:
            chance = random.Random(11)
            for _ in range(KILLS // 3):
                viewer = subprocess.Popen([str(harness.VIEWER), "stacks", str(program.pid), "--looks", "1000", "--every", "0.002"],
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0)
                time.sleep(chance.uniform(0, UNTIL_KILL))
                os.kill(viewer.pid, signal.SIGTSTP)
                # Asked of the kernel, not of /proc: to end a process whose threads were read there can take seconds.
                stopped = os.waitid(os.P_PID, viewer.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
                self.assertEqual((stopped.si_code, stopped.si_status), (os.CLD_STOPPED, signal.SIGTSTP))
                self.assertEqual(set(states(program.pid)) & {"t", "T"}, set())
                os.kill(viewer.pid, signal.SIGCONT)
                time.sleep(0.01)
                viewer.kill()
                viewer.wait()
            status, out, err = program.end()
            self.assertEqual(status, 0, out + err)

    def test_a_program_whose_file_is_replaced(self):
        """Without build-id only the kernel knows which file it was."""
        program = self.here / "program"
        harness.run(["objcopy", "--remove-section", ".note.gnu.build-id", harness.PROGRAMS / "placed_threads", program])
        with Running(program) as running:
            program.unlink()
            shutil.copy("/bin/sleep", program)
            for location, path in paths(stacks_json(running.pid)):
                if location["role"] == "main":
                    main = [frame for frame in path if frame["name"] == "main"]
                    self.assertEqual([frame["module"] for frame in main], ["program"], path)
                    self.assertTrue(main[0]["file"].endswith("placed_threads.cpp"))


class Refusals(harness.Workspace):
    def test_who_is_not_there_and_what_is_no_process(self):
        self.assert_one_line(stacks(4194304, expect=1).stderr, "viewer-cli: stacks: process 4194304: there is none on this host (")
        self.assert_one_line(stacks(self.here / "run1", expect=1).stderr, "run1: neither a process nor a measurement directory (")
        self.assert_one_line(stacks(self.here, expect=1).stderr, "viewer-cli: stacks: ", str(self.here))
        self.assert_one_line(stacks("--job", 4194304, expect=1).stderr, "no such process on this host (")
        self.assert_one_line(stacks("--job", os.getpid(), expect=1).stderr, "is a rank (")
        gone = stacks(4194304, 4194305, expect=1).stderr.splitlines()
        self.assertEqual([line.split(": ")[2] for line in gone], ["process 4194304", "process 4194305"])
        with Running("placed_threads") as program:
            some = stacks(program.pid, 4194304, expect=3)
            self.assert_one_line(some.stderr, "viewer-cli: stacks: process 4194304: there is none on this host (")
            self.assertIn("1 process, ", some.stdout)
        for words in ([], ["12", "x"], ["--job", "1", "2"], ["1", "--looks", "0"], ["1", "--every", "-1"], ["--format", "csv", "1"],
                      ["1", "--depth", "1"], ["1", "-o", "x"]):
            self.assert_one_line(stacks(*words, expect=2).stderr, "viewer-cli: ")

    def test_a_process_that_another_traces(self):
        with Running("placed_threads") as program:
            # A process of its own: who has died of a traced process waits for its tracer.
            tracer = subprocess.Popen([sys.executable, "-c", TRACE, str(program.pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            try:
                self.assertEqual(tracer.stdout.readline(), "traces\n")
                done = stacks(program.pid, expect=1)
                self.assert_one_line(done.stderr, f"process {program.pid} (placed_threads): not permitted: process {tracer.pid} ",
                                     "traces it already (end that first)")
                with Running("placed_threads") as other:  # some can be looked at
                    found = stacks_json(program.pid, other.pid, expect=3)
                    self.assertEqual((found["processes"], len(found["unseen"])), (1, 1))
            finally:
                tracer.kill()
                tracer.communicate()

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root, to become another user")
    def test_another_users_process(self):
        tool = self.here / "viewer-cli"  # the prefix may lie where others may not read
        shutil.copy(harness.VIEWER, tool)
        tool.chmod(0o755)
        self.here.chmod(0o755)
        with Running("placed_threads") as program:
            done = harness.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", tool, "stacks", program.pid], expect=1)
            self.assert_one_line(done.stderr, "not permitted: it belongs to root, you are ", "(run viewer-cli as that user or as root)")
            self.assertEqual(set(states(program.pid)) & {"t", "T"}, set())
            done = harness.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", tool, "stacks", "--job", os.getpid()], expect=1)
            self.assert_one_line(done.stderr, "not permitted: it belongs to root, you are ")

    @unittest.skipUnless(made_hosts.available() and shutil.which("setpriv"), "needs root, to hide processes and to become another user")
    def test_a_process_that_proc_hides(self):
        tool = self.here / "viewer-cli"
        shutil.copy(harness.VIEWER, tool)
        tool.chmod(0o755)
        self.here.chmod(0o755)
        script = 'mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"'
        with Running("placed_threads") as program:
            done = harness.run(["unshare", "-m", "sh", "-c", script, "sh", tool, "stacks", program.pid], expect=1)
            self.assert_one_line(done.stderr, f"process {program.pid}: not permitted: it belongs to another user, and /proc hides it (run ")

    def test_ranks_on_other_hosts_are_counted(self):
        command = "env OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 sleep 600 & wait"
        launcher = subprocess.Popen(["sh", "-c", command], start_new_session=True)
        try:
            end = time.monotonic() + PATIENCE
            done = stacks("--job", launcher.pid, expect=None)
            while "nanosleep" not in done.stdout:
                self.assertLess(time.monotonic(), end, done.stderr)
                done = stacks("--job", launcher.pid, expect=None)
            self.assert_one_line(done.stderr, "3 of 4 ranks are not here: they have ended, or run on other hosts (on each of them: viewer-cli stacks --job $(pgrep")
            self.assertIn("rank 1 ", done.stdout)
        finally:
            os.killpg(launcher.pid, signal.SIGKILL)
            launcher.wait()


if __name__ == "__main__":
    unittest.main()
