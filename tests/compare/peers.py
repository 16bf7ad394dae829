"""The profilers that Debian does not have, of which each is compared where its prefix is given. Written after their documentation:

HPCToolkit   hpcrun's, hpcstruct's, hpcprof's manual pages; FORMATS.md. Shares from the database, samples and broken stacks from hpcrun's
             logs. Its first view is hpcviewer's; what is timed ends with the database.
Score-P      builds its programs. Without MPI it instruments every function, and scorep-score says the time of each; with MPI only MPI's
             calls. A profile is shown by scorep-score; a trace by other tools.
Scalasca     runs what Score-P built, and analyses its trace for wait states: scout's statistics (trace.stat) have a sum of each.
mpiP         preloaded; says the time in calls of MPI, in one text.
Caliper      preloaded, with a library of ours that makes it begin in programs without annotations. cali-query says the samples of each
             function; mpi-report the time in calls of MPI as averages over ranks, which have no sum here.
"""

import collections
import json
import pathlib
import re

import hpctoolkit_database
from tools import ENDS, Tool

HERE = pathlib.Path(__file__).resolve().parent
# Scalasca's names of waits for other ranks, without those that are parts of others (as in tools.py).
SCALASCA_WAITS = {
    "mpi_latesender", "mpi_latereceiver", "mpi_barrier_wait", "mpi_wait_nxn", "mpi_latebroadcast", "mpi_earlyreduce", "mpi_earlyscan",
    "mpi_rma_wait_at_create", "mpi_rma_wait_at_free", "mpi_rma_wait_at_fence", "mpi_rma_late_post", "mpi_rma_sync_late_post",
    "mpi_rma_comm_late_post", "mpi_rma_early_wait", "mpi_rma_early_transfer", "mpi_rma_sync_lock_competition",
    "mpi_rma_comm_lock_competition",
}  # fmt: skip


def need(name, option, *choices):
    """The first of the files that there is. Ends with one line where there is none."""
    for file in choices:
        if file.is_file():
            return file
    raise SystemExit(f"compare: {name}: {choices[0]}: not found (give --{option} the directory that {name} is installed in)")


class HPCToolkit(Tool):
    def __init__(self, prefix, rate=200, trace=False):
        self.prefix, self.rate, self.trace = prefix, rate, trace
        self.hpcrun, self.hpcstruct = (need("HPCToolkit", "hpctoolkit", prefix / "bin" / name) for name in ("hpcrun", "hpcstruct"))
        self.hpcprof = need("HPCToolkit", "hpctoolkit", prefix / "bin/hpcprof", prefix / "bin/hpcprof-mpi")
        self.name = f"HPCToolkit, {rate} Hz" + (", -t" if trace else "")

    def command(self, directory):
        options = ["-t"] if self.trace else []
        return [self.hpcrun, "-e", f"REALTIME@{1_000_000 // self.rate}", *options, "-o", directory / "measurements"]

    def first_view(self, directory):
        # With a cache, as its manual urges: libraries are analysed in the first run alone.
        self.output(self.hpcstruct, "-c", directory.parent / "hpcstruct_cache", directory / "measurements")
        return self.output(self.hpcprof, "-o", directory / "database", directory / "measurements")

    def samples(self, directory):
        """How many were recorded, and how many of them were not unwound to the end, by the logs of all processes."""
        recorded = errant = 0
        for log in directory.glob("measurements/*.log"):
            for found in re.findall(r"SUMMARY: samples: \d+ \(recorded: (\d+), blocked: \d+, errant: (\d+)", log.read_text(errors="replace")):
                recorded, errant = recorded + int(found[0]), errant + int(found[1])
        return recorded, errant

    def shares(self, directory):
        own = hpctoolkit_database.own_times(directory / "database", "REALTIME")
        return {name: value / own.total() for name, value in own.items()}, self.samples(directory)[0]

    def reached(self, directory):
        recorded, errant = self.samples(directory)
        return 1 - errant / recorded if recorded else None


class ScoreP(Tool):
    builder = "Score-P"

    def __init__(self, prefix, trace=False):
        self.prefix, self.trace = prefix, trace
        self.scorep, self.score = (need("Score-P", "scorep", prefix / "bin" / name) for name in ("scorep", "scorep-score"))
        self.name = "Score-P, " + ("trace" if trace else "profile")
        self.gives_shares = not trace

    def compiler(self, mpi):
        return [self.scorep, "--thread=none", *(["--mpp=mpi", "--nocompiler"] if mpi else ["--mpp=none"])]

    def command(self, directory):
        profile, trace = ("false", "true") if self.trace else ("true", "false")
        return ["env", f"SCOREP_EXPERIMENT_DIRECTORY={directory / 'scorep'}", f"SCOREP_ENABLE_PROFILING={profile}",
                f"SCOREP_ENABLE_TRACING={trace}"]  # fmt: skip

    def first_view(self, directory):
        return None if self.trace else self.output(self.score, "-r", directory / "scorep/profile.cubex")

    def regions(self, directory):
        """(type, region): seconds, of the table that follows those of the types: flt type max_buf[B] visits time[s] time[%] ... region."""
        text = self.first_view(directory).split("region\n", 1)[-1].split("\n\n", 1)[-1]
        found = re.findall(r"(?m)^\s+([A-Z]+)\s+[\d,]+\s+[\d,]+\s+([\d.]+)\s+[\d.]+\s+[\d.]+\s+(\S.*)$", text)
        return {(kind, region): float(seconds) for kind, seconds, region in found}

    def shares(self, directory):
        own = {region: seconds for (_, region), seconds in self.regions(directory).items()}
        return {region: seconds / sum(own.values()) for region, seconds in own.items()}, None

    def in_mpi(self, directory):
        if self.trace:
            return None
        return sum(seconds for (kind, region), seconds in self.regions(directory).items() if kind == "MPI" and region not in ENDS)


class Scalasca(Tool):
    name, builder, needs_mpi, gives_shares = "Scalasca", "Score-P", True, False

    def __init__(self, prefix, scorep):
        self.prefix, self.scorep = prefix, scorep
        self.scalasca, self.scout = (need("Scalasca", "scalasca", prefix / "bin" / name) for name in ("scalasca", "scout.mpi"))

    def compiler(self, mpi):
        return self.scorep.compiler(mpi)

    def words(self, directory, launcher, program):
        # The analysis is not part of the run that is measured, but of the time to the first view.
        settings = [f"SCAN_MPI_LAUNCHER={launcher[0]}", "SCAN_TRACE_ANALYZER=none"]
        self.launcher = launcher
        return ["env", *settings, self.scalasca, "-analyze", "-t", "-e", directory / "scorep", *launcher, *program]

    def first_view(self, directory):
        self.output(*self.launcher, self.scout, "--statistics", directory / "scorep/traces.otf2")
        return self.text(directory / "scorep/trace.stat")

    def waited(self, directory):
        header, *lines = self.text(directory / "scorep/trace.stat").splitlines()
        column = header.split().index("Sum")
        rows = [line.split() for line in lines]
        return sum(float(row[column]) for row in rows if row and row[0] in SCALASCA_WAITS)


class MpiP(Tool):
    name, needs_mpi, gives_shares = "mpiP", True, False

    def __init__(self, prefix):
        self.prefix = prefix
        self.library = need("mpiP", "mpip", prefix / "lib/libmpiP.so", prefix / "libmpiP.so")

    def command(self, directory):
        return ["env", f"LD_PRELOAD={self.library}", f"MPIP=-f {directory}"]

    def first_view(self, directory):
        return "".join(self.text(each) for each in sorted(directory.glob("*.mpiP")) or [directory / "*.mpiP"])

    def in_mpi(self, directory):
        """From the line of all ranks: * AppTime MPITime MPI%. Of MPI_Init's end to MPI_Finalize's begin, as everywhere here."""
        found = re.search(r"@--- MPI Time \(seconds\).*?^ +\* +\S+ +(\S+)", self.first_view(directory), re.MULTILINE | re.DOTALL)
        return float(found[1]) if found else None


def value(row, *keys, missing=0):
    return next((row[key] for key in keys if key in row), missing)


class Caliper(Tool):
    def __init__(self, prefix):
        self.prefix = prefix
        self.library = need("Caliper", "caliper", prefix / "lib/libcaliper.so", prefix / "lib64/libcaliper.so")
        self.query = need("Caliper", "caliper", prefix / "bin/cali-query")
        self.name = "Caliper, 200 Hz"

    def build_preload(self, out):
        """Builds what makes it begin; once, before all runs."""
        self.begin = out / "caliper_begin.so"
        self.output("gcc", "-shared", "-fPIC", "-o", self.begin, HERE / "caliper_begin.c", self.library, f"-Wl,-rpath,{self.library.parent}")

    def with_config(self, config):
        return ["env", f"LD_PRELOAD={self.library} {self.begin}", f"CALI_CONFIG={config}"]

    def words(self, directory, launcher, program):
        merged = "true" if launcher else "false"  # of all ranks: needs MPI
        options = f"output={directory / 'profile.cali'},output.format=cali,sample.frequency=200,use.mpi={merged}"
        return [*launcher, *self.with_config(f"sample-profile({options})"), *program]

    def ask(self, directory, form):
        query = f"select source.function#cali.sampler.pc as Function,sum(count) as Samples group by source.function#cali.sampler.pc format {form}"
        return self.output(self.query, "-q", query, directory / "profile.cali")

    def first_view(self, directory):
        return self.ask(directory, "table")

    def shares(self, directory):
        own = collections.Counter()
        for row in json.loads(self.ask(directory, "json")):  # whose keys are aliases, or in some versions attributes
            own[value(row, "Function", "source.function#cali.sampler.pc", missing="")] += int(value(row, "Samples", "sum#count", "count"))
        return {name: count / own.total() for name, count in own.items()}, own.total()


class CaliperMpi(Caliper):
    needs_mpi, gives_shares = True, False

    def __init__(self, prefix):
        super().__init__(prefix)
        self.name = "Caliper, mpi-report"

    def words(self, directory, launcher, program):
        return [*launcher, *self.with_config(f"mpi-report(output={directory / 'report.txt'})"), *program]

    def first_view(self, directory):
        return self.text(directory / "report.txt")


def given_tools(given):
    """Those whose prefixes were given on the command line."""
    chosen = []
    if given.hpctoolkit:
        chosen += [HPCToolkit(given.hpctoolkit), HPCToolkit(given.hpctoolkit, 1000), HPCToolkit(given.hpctoolkit, trace=True)]
    if given.scorep:
        chosen += [ScoreP(given.scorep), ScoreP(given.scorep, trace=True)]
    if given.scalasca:
        chosen.append(Scalasca(given.scalasca, ScoreP(given.scorep or given.scalasca)))
    if given.mpip:
        chosen.append(MpiP(given.mpip))
    if given.caliper:
        chosen += [Caliper(given.caliper), CaliperMpi(given.caliper)]
    return chosen
