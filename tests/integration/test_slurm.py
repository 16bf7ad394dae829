"""Measures and merges under Slurm: steps with either of its interfaces for MPI and without, launchers of MPI in an allocation, arrays,
requeued and heterogeneous jobs, measured scripts, node-local output, jobs that meet their time limit, and prof-mpi as a step."""

import json
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

import harness
import slurm_cluster
from test_communication import RANKS, RING

# The nodes' network is the loopback device. MPICH 4.0 over UCX's TCP may hang in MPI_Finalize, measured or not, so it uses memory.
BETWEEN_NODES = {"OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_oob_tcp_if_include": "lo", "UCX_TLS": "sm,self"}
INTERFACES = {"openmpi": "--mpi=pmix", "mpich": "--mpi=pmi2"}
TWO_NODES = ("-w", "n0,n1", f"-n{RANKS}", f"--ntasks-per-node={RANKS // 2}")
RUNNING = {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING"}
WHY_NOT = slurm_cluster.missing()
BEATS = """
import sys, time
with open(sys.argv[1], "w", 1) as log:
    while True:
        print(time.monotonic(), file=log)
        time.sleep(0.02)
"""


def traffic(mpi):
    return harness.PROGRAMS / f"traffic.{mpi}"


class Login:
    """What a user does, in a directory: `here`."""

    def __init__(self, cluster, here):
        self.cluster, self.here = cluster, here

    def run(self, *words, **options):
        environment = dict(harness.ENVIRONMENT, **BETWEEN_NODES, **self.cluster.variables)
        return harness.run(self.cluster.on_login(words, self.here), env=environment, timeout=200, **options)

    def submit(self, options, *lines):
        """Submits a batch script of these lines; options of a further component follow a colon. Returns the job's number."""
        script = self.here / "script.sh"
        script.write_text("\n".join(("#!/bin/bash", *(" ".join(map(str, line)) for line in lines), "")))
        return self.run("sbatch", "--parsable", "-o", self.here / "out.%j", *options, script).stdout.strip()

    def states(self, job):
        """Of all its tasks or components."""
        return set(re.findall(r"\bJobState=(\w+)", self.run("scontrol", "-o", "show", "job", job).stdout))

    def said(self):
        return "".join(path.read_text(errors="replace") for path in sorted(self.here.glob("out.*")))

    def end(self, job):
        """Waits until it has ended, and returns how."""
        slurm_cluster.until(lambda: not self.states(job) & RUNNING, lambda: f"job {job}: {self.states(job)}\n{self.said()}")
        return self.states(job)


class LimitedJob:
    """A job whose time is up: a task that ends at SIGTERM, one that ignores it, and two ranks."""

    def __init__(self, login):
        self.login = login
        (login.here / "beats.py").write_text(BEATS)
        one, measured, program = "srun -N1 -n1 --exact", f"{harness.HPCRUN} -o", f"{sys.executable} beats.py"
        lines = ((one, measured, "hears", program, "hears.log &"),
                 (one, f"sh -c 'trap \"\" TERM; exec {measured} deaf {program} deaf.log' &"),
                 ("srun -N2 -n2 --exact", INTERFACES["mpich"], measured, "ranks", harness.PROGRAMS / "ranks_apart.mpich 600 &"),
                 ("wait",))  # fmt: skip
        self.job = login.submit(TWO_NODES, *lines)
        slurm_cluster.until(self.is_measured, login.said)
        # Limits are minutes, and it has run longer than none.
        login.run("scontrol", "update", f"JobId={self.job}", "TimeLimit=0")

    def beats(self, name):
        """When the program wrote."""
        log = self.login.here / f"{name}.log"
        return [float(line) for line in log.read_text().split()[:-1]] if log.exists() else []

    def is_measured(self):
        ranks = len(list(self.login.here.glob("ranks/*/*.culprit")))
        return ranks == 2 and all(len(self.beats(name)) > 100 for name in ("hears", "deaf"))


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Slurm(harness.Workspace):
    @classmethod
    def setUpClass(cls):
        place = pathlib.Path(tempfile.mkdtemp(prefix="culprit-slurm-"))
        cls.addClassCleanup(shutil.rmtree, place, ignore_errors=True)
        for name in ("cluster", "limited"):
            (place / name).mkdir()
        cls.cluster = cls.enterClassContext(slurm_cluster.Cluster(place / "cluster", "n0", "n1", "n2"))
        # Slurm looks at limits twice a minute: the other cases run meanwhile.
        cls.limited = LimitedJob(Login(cls.cluster, place / "limited"))

    def setUp(self):
        super().setUp()
        self.login = Login(self.cluster, self.here)

    def srun(self, *words, **options):
        return self.login.run("srun", *words, **options)

    def batch(self, options, *lines):
        """Runs a batch script to its end."""
        states = self.login.end(self.login.submit(options, ("set -e",), *lines))
        self.assertEqual(states, {"COMPLETED"}, self.login.said())

    def ranks_by_node(self, directory):
        names = sorted(path.name for path in directory.rglob("*.culprit"))
        found = [re.match(r"rank-(\d+)-(n\d)-", name) for name in names]
        self.assertTrue(all(found), names)
        return sorted((int(match[1]), match[2]) for match in found)

    def check_traffic(self, directory, mpi, nodes=("n0", "n1"), database=None):
        """One run of all ranks, two of them on each of two nodes, or all on one; what they sent is what the program sent."""
        per_node = RANKS // len(nodes)
        self.assertEqual(self.ranks_by_node(directory), [(rank, nodes[rank // per_node]) for rank in range(RANKS)])
        database = database or self.merge(directory)
        info = harness.viewer_json(database, "info")
        self.assertEqual((info["ranks"], info["world_size"], info["hosts"], info["cut_short"]), (RANKS, RANKS, list(nodes), 0))
        self.assertIn({"openmpi": "Open MPI", "mpich": "MPICH"}[mpi], info["mpi"])
        partners = harness.viewer_json(database, "communication")["partners"]
        ring = {(rank, (rank + 1) % RANKS, RING) for rank in range(RANKS)}
        self.assertLessEqual(ring, {(row["from"], row["to"], row["bytes"]) for row in partners if row["members"] == RANKS})

    def check_step(self, mpi):
        self.srun(INTERFACES[mpi], *TWO_NODES, harness.HPCRUN, "-o", "run", traffic(mpi))
        self.check_traffic(self.here / "run", mpi)

    def test_a_step_openmpi(self):
        self.check_step("openmpi")

    def test_a_step_mpich(self):
        self.check_step("mpich")

    def test_tasks_without_mpi_are_one_run(self):
        self.srun("--mpi=none", *TWO_NODES, harness.HPCRUN, "-o", "run", harness.PROGRAMS / "spin", 0.1)
        info = harness.viewer_json(self.merge(self.here / "run"), "info")
        self.assertEqual((info["threads"], info["hosts"]), (RANKS, ["n0", "n1"]))

    def test_each_step_and_each_task_of_an_array_is_a_run(self):
        small = (harness.HPCRUN, traffic("mpich"))
        self.batch(("--array=0-1", *TWO_NODES),
                   ("srun", INTERFACES["mpich"], harness.HPCRUN, "-o", "run$SLURM_ARRAY_TASK_ID", traffic("mpich")),
                   ("srun", INTERFACES["mpich"], *small),
                   ("srun", INTERFACES["mpich"], *small))  # fmt: skip
        for task in (0, 1):
            self.check_traffic(self.here / f"run{task}", "mpich")
        unnamed = sorted(self.here.glob("culprit-traffic.mpich-*"))
        self.assertEqual([len(self.ranks_by_node(directory)) for directory in unnamed], [RANKS] * 4)
        runs = {json.loads((run / "culprit.run").read_text())["run_id"] for run in (*unnamed, self.here / "run0", self.here / "run1")}
        self.assertEqual(len(runs), 6)
        refused = self.srun(INTERFACES["mpich"], "-n1", harness.HPCRUN, "-o", "run0", traffic("mpich"), expect=1)
        self.assertIn("holds another run", refused.stderr)

    def test_a_requeued_job_is_another_run(self):
        job = self.login.submit(("--requeue", *TWO_NODES),
                                ("srun", INTERFACES["mpich"], harness.HPCRUN, harness.PROGRAMS / "fixed_work.mpich"),
                                ("touch done; [ $SLURM_RESTART_COUNT ] || sleep 600",))  # fmt: skip
        slurm_cluster.until((self.here / "done").exists, self.login.said)
        self.login.run("scontrol", "requeue", job)
        self.assertEqual(self.login.end(job), {"COMPLETED"}, self.login.said())
        runs = sorted(self.here.glob("culprit-*"))
        self.assertEqual([len(self.ranks_by_node(run)) for run in runs], [RANKS] * 2)

    def test_a_measured_script(self):
        """What it starts are runs of their own."""
        script = self.here / "inner.sh"
        script.write_text(f"#!/bin/bash\nset -e\nsrun {INTERFACES['openmpi']} {traffic('openmpi')}\nmpirun.openmpi {traffic('openmpi')}\n")
        script.chmod(0o755)
        self.batch(TWO_NODES, (harness.HPCRUN, "-o", "run", script))
        runs = sorted(self.here.glob("run-*"))
        self.assertEqual(len(runs), 2)
        for run in runs:
            self.check_traffic(run, "openmpi")

    def check_launcher(self, mpi, launcher):
        """Open MPI starts ranks of other nodes by Slurm, and its own itself; MPICH starts all by Slurm."""
        line = (launcher, "-n", RANKS, harness.HPCRUN, "-o")
        self.batch(TWO_NODES,
                   (*line, "run", traffic(mpi)),
                   (*line, "again", traffic(mpi)),
                   (launcher, "-n", RANKS, harness.PROF_MPI, "run"))  # fmt: skip
        self.check_traffic(self.here / "run", mpi, database=self.here / "run.db")
        self.check_traffic(self.here / "again", mpi)

    def test_mpirun_in_an_allocation(self):
        self.check_launcher("openmpi", "mpirun.openmpi")

    def test_mpiexec_in_an_allocation(self):
        self.check_launcher("mpich", "mpiexec.mpich")

    def test_a_heterogeneous_job(self):
        line = ("srun", INTERFACES["mpich"])
        self.batch(("-w", "n0", "-n2", ":", "-w", "n1", "-n2"),
                   (*line, "--het-group=0,1", harness.HPCRUN, "-o", "run", traffic("mpich")),
                   (*line, "--het-group=0", harness.HPCRUN, "-o", "first", harness.PROGRAMS / "fixed_work.mpich", "&"),
                   (*line, "--het-group=1", harness.HPCRUN, "-o", "second", harness.PROGRAMS / "fixed_work.mpich", "&"),
                   ("wait",))  # fmt: skip
        nodes = sorted({node for _, node in self.ranks_by_node(self.here / "run")})
        self.check_traffic(self.here / "run", "mpich", nodes)
        for component, node in zip(("first", "second"), nodes):
            self.assertEqual(self.ranks_by_node(self.here / component), [(0, node), (1, node)])

    def test_several_programs_in_one_step(self):
        """srun --multi-prog: ranks of different commands are one run."""
        measured = f"{harness.HPCRUN} -o run {traffic('mpich')}"
        (self.here / "programs").write_text(f"0-1 {measured}\n2 env LANG=C {measured}\n3 {measured}\n")
        self.srun(INTERFACES["mpich"], *TWO_NODES, "--multi-prog", "programs")
        self.check_traffic(self.here / "run", "mpich")

    def test_node_local_output_is_gathered(self):
        self.batch(TWO_NODES,
                   ("srun", INTERFACES["mpich"], harness.HPCRUN, "--trace", "-o", "$TMPDIR/run", traffic("mpich")),
                   ("mkdir run",),
                   ("srun -n2 --ntasks-per-node=1 sh -c 'cp $TMPDIR/run/*/* run'",))  # fmt: skip
        for node in ("n0", "n1"):
            own = self.cluster.here / "tmp" / node / "run"
            self.assertEqual({name for _, name in self.ranks_by_node(own)}, {node})
        self.check_traffic(self.here / "run", "mpich")

    def test_prof_mpi_as_a_step(self):
        self.srun(INTERFACES["mpich"], *TWO_NODES, harness.HPCRUN, "-o", "run", traffic("mpich"))
        self.check_traffic(self.here / "run", "mpich")
        for interface in INTERFACES.values():
            self.srun(interface, "-N2", "-n3", harness.PROF_MPI, "run", "-o", "step.db", "--force")
            self.assertEqual((self.here / "step.db").read_bytes(), (self.here / "run.db").read_bytes(), interface)
        refused = self.srun("--mpi=none", "-n3", harness.PROF_MPI, "run", "-o", "none.db", expect=1)
        said = [line for line in refused.stderr.splitlines() if not line.startswith("srun: ")]
        self.assert_one_line("\n".join(said), "prof-mpi: ", "3 copies", "--mpi=pmix")

    def check_beats(self, name):
        """Returns the program's last sign of life."""
        directory = self.limited.login.here / name
        done = harness.run([harness.PROF_MPI, directory], expect=3)
        self.assertIn("cut short", done.stderr)
        recorded = harness.viewer_json(directory.with_name(f"{name}.db"), "report")["total_s"]
        beats = self.limited.beats(name)
        # One second may be missing; another one for a machine that is too busy to wake up the recorder.
        self.assertGreater(recorded, beats[-1] - beats[0] - 2)
        return beats[-1]

    def test_time_limit(self):
        """Slurm sends SIGTERM, and SIGKILL a second later (KillWait): all but the last second is there."""
        login = self.limited.login
        self.assertEqual(login.end(self.limited.job), {"TIMEOUT"}, login.said())
        self.assertLess(self.check_beats("hears"), self.check_beats("deaf"))
        harness.run([harness.PROF_MPI, login.here / "ranks"], expect=3)
        info = harness.viewer_json(login.here / "ranks.db", "info")
        self.assertEqual((info["ranks"], info["cut_short"]), (2, 2))


if __name__ == "__main__":
    unittest.main()
