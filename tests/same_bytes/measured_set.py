"""What the check of same bytes is made on: the programs, how each is measured, and the measurements made from others."""

import dataclasses

TRACE = ("--trace",)
HOSTS_APART = {"CULPRIT_WRONG_CLOCKS": "2,50000000000,100000"}  # made-up hosts, ns ahead, ns of drift a second

# Name: (compiler, its last words, in the folder of sources). Those of an MPI are built under both and called NAME.MPI.
LOG = "truth/truth_log.c"
MPI_PROGRAMS = {
    "stencil": ("mpicxx", "-std=c++20 apps/stencil.cpp"),
    "threads": ("mpicxx", "-std=c++20 -fopenmp apps/threads.cpp"),
    "sor": ("mpicc", "apps/sor.c -lm"),
    "sor_marked": ("mpicc", "-DMARKED -Iinterface apps/sor.c -lm"),
    "deep": ("mpicxx", "-std=c++20 -O1 apps/deep.cpp"),
    "baton": ("mpicc", "apps/baton.c"),
    "dies": ("mpicc", "apps/dies.c"),
    "every_operation": ("mpicc", "apps/every_operation.c"),
    "worlds": ("mpicc", "apps/worlds.c"),
    "counted_iterations": ("mpicc", "-Iinterface apps/counted_iterations.c"),
    "masters": ("mpicc", "same_bytes/masters.c"),
    "truth_fortran": ("mpifort", f"-cpp -DUSE_F08 {LOG} truth/truth_log.f90 truth/fortran.f90"),
} | {
    f"truth_{name}": ("mpicc", f"truth/{name}.c {LOG} -lm")
    for name in ("point_to_point", "requests", "collectives", "active_target", "passive_target", "mixed", "chain")
}
PROGRAMS = {
    "truth_openmp_waits": ("gcc", f"-fopenmp truth/openmp_waits.c {LOG}"),
    "truth_thread_locks": ("gcc", f"truth/thread_locks.c {LOG}"),
}


@dataclasses.dataclass(frozen=True)
class Run:
    """One measured run, in a directory of its own."""

    name: str
    command: str  # words; the program is one of those above, or one of the system's
    ranks: int = 4
    mpi: str | None = "openmpi"  # None: without a launcher
    options: tuple = TRACE  # of hpcrun-lite
    environment: dict = dataclasses.field(default_factory=dict)
    files: tuple = ()  # to be found in the working directory, from the sources
    before: tuple = ()  # commands
    needs: str | None = None  # a program without which the run is left out
    ends_well: bool = True
    merging: str = ""  # options of prof-mpi
    merged_on: tuple = (1, 2, 5)  # ranks


LAMMPS = "lmp -in melt.in -log none -screen none -var steps"
OPENFOAM = {"WM_PROJECT_DIR": "/usr/share/openfoam"}  # where Debian keeps what its own script would set
TRUTH = ". 3 10"  # where the log goes, repetitions, delay in ms

RUNS = (
    # Programs of others.
    Run("lammps", f"{LAMMPS} 120", files=("apps/melt.in",)),
    Run("lammps-sampled", f"{LAMMPS} 120", ranks=2, files=("apps/melt.in",),
        options=("-e", "REALTIME@f1000", "-e", "CPUTIME")),
    Run("hpcc", "hpcc", ranks=2, files=("apps/hpccinf.txt",)),
    Run("openfoam", "icoFoam -parallel", environment=OPENFOAM, files=("same_bytes/cavity/*",),
        before=("blockMesh", "decomposePar"), needs="icoFoam"),
    # Halos and masters.
    Run("halos", "stencil 300 64 256", ranks=8),
    Run("halos-sampled", "stencil 100 512 512", options=()),
    Run("halos-mpich", "stencil 200 64 256", mpi="mpich", merging="--no-loops --no-source"),
    # More events than the analysis keeps in memory: the rest is spilled.
    Run("halos-long", "stencil 4500000 4 4", ranks=2, options=("--trace", "--trace-limit", "16G"), merged_on=(1, 2)),
    Run("masters", "masters 4 20000", ranks=8),
    Run("masters-mpich", "masters 3 5000", ranks=6, mpi="mpich"),
    # Deep call paths.
    Run("deep", "deep 2", ranks=2, options=()),
    # One-sided communication: a solver; all kinds of waits, from time stamps and approximated.
    Run("sor-post", "sor post 200 300 0.5", ranks=9, merging="--segment exchange_by_post"),
    Run("sor-fence", "sor fence 200 300 0.5", ranks=9),
    Run("sor-marked", "sor_marked post 200 200 0.5", merging="--segment exchange_by_post"),
    Run("active-target", f"truth_active_target {TRUTH}"),
    Run("active-target-mpich", f"truth_active_target {TRUTH}", mpi="mpich"),
    Run("active-target-sampled", f"truth_active_target {TRUTH}", options=()),
    Run("passive-target", f"truth_passive_target {TRUTH}"),
    Run("passive-target-mpich", f"truth_passive_target {TRUTH}", mpi="mpich"),
    Run("passive-target-sampled", f"truth_passive_target {TRUTH}", mpi="mpich", options=()),
    # All other operations, communicators, threads, iterations.
    Run("mixed", f"truth_mixed {TRUTH}"),
    Run("point-to-point", f"truth_point_to_point {TRUTH}", mpi="mpich"),
    Run("requests", f"truth_requests {TRUTH}"),
    Run("collectives", f"truth_collectives {TRUTH}", mpi="mpich"),
    Run("collectives-sampled", f"truth_collectives {TRUTH}", options=(), merging="--balance paper"),
    Run("chain", f"truth_chain {TRUTH}", ranks=3),
    Run("fortran", f"truth_fortran {TRUTH}"),
    Run("every-operation", "every_operation .", mpi="mpich"),
    Run("worlds", "worlds connect", ranks=2),
    Run("threads", "threads 40", ranks=2, environment={"OMP_NUM_THREADS": "3"}),
    Run("openmp-waits", f"truth_openmp_waits {TRUTH}", ranks=1, mpi=None, environment={"OMP_WAIT_POLICY": "passive"}),
    Run("thread-locks", f"truth_thread_locks {TRUTH}", ranks=1, mpi=None),
    Run("iterations", "counted_iterations 14 2 1", mpi="mpich", options=("--trace", "-e", "CPUTIME")),
    # Hosts whose clocks are apart.
    Run("clocks", f"truth_point_to_point {TRUTH}", environment=HOSTS_APART),
    Run("baton", "baton", ranks=18, environment={"CULPRIT_WRONG_CLOCKS": "18,5000000000,0"}),
    # Processes that end badly.
    Run("killed", "dies KILL", ranks=3, mpi="mpich", ends_well=False),
    Run("aborted", "dies MPI", ranks=3, ends_well=False),
)


@dataclasses.dataclass(frozen=True)
class Damaged:
    """A copy of a measurement in which something is wrong, at places that are always the same."""

    name: str
    source: str
    damage: str  # a function of damage.py
    rank: int = 0


DAMAGED = (
    Damaged("mixed-cut", "mixed", "cut_trace", rank=1),
    Damaged("mixed-missing", "mixed", "remove_trace", rank=2),
    Damaged("mixed-flipped", "mixed", "flip_bit_of_trace", rank=3),
    Damaged("mixed-half-lost", "mixed", "remove_measurement", rank=1),
    Damaged("sor-post-flipped", "sor-post", "flip_bit_of_trace", rank=4),
    Damaged("masters-cut", "masters", "cut_trace", rank=0),
    Damaged("masters-flipped", "masters", "flip_bit_of_trace", rank=1),
    Damaged("collectives-flipped", "collectives", "flip_bit_of_trace", rank=3),
    Damaged("killed-cut", "killed", "cut_measurement", rank=1),
    Damaged("clocks-forgotten", "clocks", "forget_clocks"),
    Damaged("baton-forgotten", "baton", "forget_clocks"),
)


@dataclasses.dataclass(frozen=True)
class Generated:
    """More ranks than can be run, from a measurement's trees (tests/bench/make_measurements)."""

    name: str
    source: str
    shape: tuple  # ranks, threads; of model trees also nodes, depth, groups


GENERATED = (
    Generated("generated-1000", "halos-sampled", (1000,)),
    Generated("generated-model", "deep", (200, 2, 1500, 40, 8)),
)

SHOWN = (
    "report --format json",
    "info --format json",
    "efficiency --format json",
    *(
        f"{command} --format {form}"
        for command in ("waits", "causes", "critical-path", "hotspots", "variation", "blame", "suspects", "hot-path")
        for form in ("json", "csv")
    ),
    "view calling-context --format csv",
    "view callers --format csv --depth 6",
    "view flat --format json",
    "export json",
)

COMPARED = (
    ("lammps", "lammps-sampled"),
    ("halos", "halos-mpich"),
    ("active-target", "active-target-mpich"),
    ("halos-sampled", "generated-1000"),
    ("mixed", "mixed-cut"),
)
