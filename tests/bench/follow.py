"""What `viewer-cli DIR --follow` takes of a processor while a run of many ranks goes on: the CPU time of a follower of SHORT
seconds, which attributes all code anew, and of one of LONG seconds after it, which finds that in the structure cache.
"""

import os
import pathlib
import signal
import subprocess
import time

RANKS = int(os.environ.get("CULPRIT_BENCH_RANKS", "64"))
APPS = pathlib.Path(__file__).resolve().parent.parent / "apps"
INTERFACE = APPS.parent.parent / "hpcrun-lite" / "interface"
SHORT, LONG = 10, 40


def measure(bench, environment):
    program = bench.here / "slow_rank"
    subprocess.run(["mpicc.openmpi", "-O2", "-g", f"-I{INTERFACE}", APPS / "slow_rank.c", "-o", program], check=True)
    runs = {"slow_rank": [program, 1000, bench.here / "stop"],
            "LAMMPS melt": ["lmp", "-in", APPS / "melt.in", "-var", "steps", 100000000, "-log", "none", "-screen", "none"]}
    print(f"follow: {RANKS} ranks, a look every 2 s; CPU time of the follower")
    figures = {}
    for name, command in runs.items():
        directory = bench.fresh("followed")
        launch = ["mpirun.openmpi", "--oversubscribe", "-n", RANKS, bench.hpcrun, "-q", "-o", directory, *command]
        job = subprocess.Popen([str(word) for word in launch], env=environment, start_new_session=True, cwd=bench.here,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(20)  # all ranks are up, oversubscribed as they are
            short, _ = follow(bench, environment, directory, SHORT)
            long, lines = follow(bench, environment, directory, LONG)
        finally:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
        figures[name] = {"start_s": short, "share": long / LONG, "lines": lines}
        print(f"  {name:<12} cold, {SHORT} s: {short:.2f} s   then, {LONG} s: {100 * figures[name]['share']:.2f} % of a processor   {lines} looks", flush=True)
    bench.save("follow", figures)


def follow(bench, environment, directory, seconds):
    """CPU seconds, and how many lines it wrote."""
    out = bench.here / "lines.txt"
    with out.open("w") as file:
        follower = subprocess.Popen([bench.viewer, directory, "--follow"], env=environment, stdout=file)
        time.sleep(seconds)
        follower.send_signal(signal.SIGINT)
        _, _, usage = os.wait4(follower.pid, 0)
        follower.returncode = 0
    return usage.ru_utime + usage.ru_stime, len(out.read_text().splitlines())
