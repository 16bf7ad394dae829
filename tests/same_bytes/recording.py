"""Records the set: the tools, programs and measurements, below one directory that stays where it is, since measurements name
their programs by paths and prof-mpi copies the sources that these were compiled from."""

import json
import pathlib
import shlex
import shutil
import subprocess
import tempfile

import damage
import measured_set
import replay

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCES = {"apps": "tests/apps", "truth": "tests/truth", "same_bytes": "tests/same_bytes", "interface": "hpcrun-lite/interface"}
LAUNCHERS = {"openmpi": ["mpirun.openmpi", "--oversubscribe", "-n"], "mpich": ["mpiexec.mpich", "-n"], None: []}
FLAGS = ["-O2", "-g", "-w", "-pthread"]
DIGESTS, MEASUREMENTS, MARK = "digests", "measurements", "about-same-bytes"
EXPLANATION = """Recorded by ./dev same-bytes record (tests/same_bytes): tools, programs, their measurements, and digests of what
was made of these. Later builds are compared with it. It cannot be moved: measurements name their programs by paths. What the
tools gave then can be made again with those in tools/bin.
"""


class RecordingError(Exception):
    """What cannot be recorded, and why."""


def claim(directory, again):
    """Empties the directory for a new recording."""
    if directory.exists() and any(directory.iterdir()):
        if not (directory / MARK).exists():
            raise RecordingError(f"{directory}: holds something else (name another directory)")
        if (directory / DIGESTS).exists() and not again:
            raise RecordingError(f"{directory}: a set is recorded there (--again replaces it)")
        shutil.rmtree(directory)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / MARK).write_text(EXPLANATION)


class Recording:
    def __init__(self, build, directory):
        self.build, self.directory = build, directory
        self.sources, self.programs = directory / "sources", directory / "programs"
        self.tools, self.measurements = directory / "tools", directory / MEASUREMENTS
        self.environment = replay.environment(directory / "home")
        self.left_out = []

    def run(self, command, ends_well=True, **options):
        options.setdefault("env", self.environment)
        out, err, status = replay.run(command, **options)
        if status is None or (status == 0) != ends_well:
            said = (out + err).decode(errors="replace")
            raise RecordingError(f"{shlex.join(map(str, command))}: exit status {status}\n{said}")

    def copy(self):
        """The tools without debug information, which would lead to sources that change; and the programs' sources."""
        self.run(["cmake", "--install", self.build, "--strip", "--prefix", self.tools])
        for name, folder in SOURCES.items():
            shutil.copytree(ROOT / folder, self.sources / name, ignore=shutil.ignore_patterns("__pycache__"))
        self.measurements.mkdir()

    def compile(self):
        self.programs.mkdir()
        for name, (compiler, words) in measured_set.MPI_PROGRAMS.items():
            for mpi in ("openmpi", "mpich"):
                self.compile_one(f"{compiler}.{mpi}", f"{name}.{mpi}", words)
        for name, (compiler, words) in measured_set.PROGRAMS.items():
            self.compile_one(compiler, name, words)

    def compile_one(self, compiler, name, words):
        with tempfile.TemporaryDirectory(dir=self.programs) as modules:  # of Fortran
            modules_go = ["-J", modules] if "fort" in compiler else []
            self.run([compiler, *FLAGS, *modules_go, "-o", self.programs / name, *words.split()], cwd=self.sources)

    def program(self, run):
        """The words of a run's command; its program is one of ours, or one of the system's."""
        name, *arguments = run.command.split()
        ours = self.programs / (f"{name}.{run.mpi}" if run.mpi else name)
        return [ours if ours.exists() else shutil.which(name), *arguments]

    def measure(self, run):
        if run.needs and shutil.which(run.needs) is None:
            self.left_out.append(replay.Entry(("left-out", run.name, f"{run.needs} is not installed")))
            return
        here = self.directory / "runs" / run.name
        here.mkdir(parents=True)
        for pattern in run.files:
            for file in self.sources.glob(pattern):
                (shutil.copytree if file.is_dir() else shutil.copy)(file, here / file.name)
        environment = self.environment | run.environment
        for command in run.before:
            self.run([command], cwd=here, env=environment)
        launcher = [*LAUNCHERS[run.mpi], str(run.ranks)] if run.mpi else []
        measure = [self.tools / "bin" / "hpcrun-lite", "-q", *run.options, "-o", self.measurements / run.name]
        self.run([*launcher, *measure, *self.program(run)], run.ends_well, cwd=here, env=environment)

    def damage(self, damaged):
        copy = self.measurements / damaged.name
        shutil.copytree(self.measurements / damaged.source, copy)
        getattr(damage, damaged.damage)(copy, damaged.rank)

    def generate(self, generated):
        generator = self.build / "tests" / "bench" / "make_measurements"
        self.run([generator, self.measurements / generated.source, self.measurements / generated.name, *generated.shape])


def commands(names):
    """All that is done with the measurements, without digests."""
    runs = {run.name: run for run in measured_set.RUNS}
    for name in names:
        run = runs.get(name, measured_set.Run(name, ""))  # damaged and generated ones are merged as most are
        for ranks in run.merged_on:
            yield replay.Entry(("merge", name, str(ranks), *run.merging.split()))
        for words in measured_set.SHOWN:
            yield replay.Entry(("show", f"{name}.1.db", *words.split()))
    for one, other in measured_set.COMPARED:
        if one in names and other in names:
            yield replay.Entry(("show", f"{one}.1.db", "diff", f"{other}.1.db", "--format", "json"))


def wrong(entries, said):
    """Lines of what the tools must never do, whatever was recorded before."""
    first = {}
    for entry in entries:
        if entry.kind == "merge" and first.setdefault(entry.name, entry).digest != entry.digest:
            yield f"{entry.name}: the databases made on {first[entry.name].words[2]} and {entry.words[2]} ranks differ"
        good = {"merge": ("0", "3"), "show": ("0", "1")}  # 1: a table that needs a trace
        if entry.status not in good.get(entry.kind, (replay.NOTHING,)):
            yield f"{shlex.join(entry.words)}: exit status {entry.status}: {said.get(entry.words)}"


def libraries(again, names, own):
    """Those of the system that were measured, with their digests."""
    found = set()
    for name in names:
        out, _, _ = replay.run([again.bin / "viewer-cli", f"{name}.1.db", "info", "--format", "json"], **again.options)
        found |= {pathlib.Path(module["path"]) for module in json.loads(out)["modules"]}
    for path in sorted(found):
        if path.is_file() and own not in path.parents:
            yield replay.Entry(("library", str(path)), replay.digest_of(path))


def commit():
    """Of the tools, as far as it tells."""
    described = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return described.stdout.strip() or "an unknown commit"


def record(build, directory, again, jobs, say):
    """All entries, and lines of what is wrong with them."""
    claim(directory, again)
    recording = Recording(build, directory)
    recording.copy()
    recording.compile()
    for run in measured_set.RUNS:
        say(f"measuring {run.name}")
        recording.measure(run)
    for damaged in measured_set.DAMAGED:
        recording.damage(damaged)
    for generated in measured_set.GENERATED:
        recording.generate(generated)
    names = sorted(path.name for path in recording.measurements.iterdir())
    say("merging and showing")
    with tempfile.TemporaryDirectory(prefix="culprit-same-bytes-") as scratch:
        tools = replay.Replay(recording.tools, recording.measurements, scratch)
        entries = tools.entries(list(commands(names)), jobs)
        entries += [*libraries(tools, names, directory), *recording.left_out]
    lines = [f"# What the tools of {commit()} gave. See tests/same_bytes/replay.py.", *(entry.line() for entry in entries)]
    (directory / DIGESTS).write_text("\n".join(lines) + "\n")
    return entries, list(wrong(entries, tools.said))
