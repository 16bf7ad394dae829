"""The programs that tools are compared on: how each is built, once for all tools and once by each that builds its own, and run."""

import pathlib
import shutil

import tools

TESTS = pathlib.Path(__file__).resolve().parent.parent
TRUTH, APPS = TESTS / "truth", TESTS / "apps"
BUILT = "programs"  # below the directory for what is measured


class Program:
    """`sources`: without them it is one that is installed; `ranks`: 0 without MPI; `arguments`: words after its name."""

    def __init__(self, name, title, *arguments, ranks=0, sources=()):
        self.name, self.title, self.arguments, self.sources, self.ranks = name, title, arguments, sources, ranks
        self.launcher = ["mpirun.openmpi", "--oversubscribe", "-n", ranks] if ranks else []
        self.files = {} if sources else {None: name}  # by who built them

    def refuses(self, tool):
        """Why a tool does not measure it; None where it does."""
        if tool.needs_mpi and not self.ranks:
            return "it measures calls of MPI"
        if tool.builder and not self.sources:
            return f"{tool.builder} measures what it has built"
        return None

    def build(self, out, chosen):
        """Returns the command lines."""
        if not self.sources:
            return []
        tools.ran.clear()
        (out / BUILT).mkdir(parents=True, exist_ok=True)
        compiler = ["mpicc.openmpi", "-pthread"] if self.ranks else ["gcc"]
        for tool in chosen:
            if tool.builder in self.files or self.refuses(tool):
                continue
            before, suffix = (tool.compiler(self.ranks > 0), f".{tool.builder}") if tool.builder else ([], "")
            file = self.files[tool.builder] = out / BUILT / (self.name + suffix)
            tools.run([*before, *compiler, "-O2", "-g", "-o", file, *self.sources], tool.name)
        return list(tools.ran)

    def words(self, tool, *further):
        return [self.files[tool.builder], *self.arguments, *further]

    def path(self, tool):
        """Of the file that runs."""
        return shutil.which(str(self.files[tool.builder]))


def shares(steps):
    """One thread, functions of known shares; 400 steps take some 10 s."""
    return Program("shares", "One thread, functions of known shares", steps, sources=[TESTS / "compare/shares.c"])


def lammps():
    return Program("lmp", "LAMMPS of Debian, 2 ranks", "-in", APPS / "melt.in", "-log", "none", "-screen", "none", "-var", "steps", "200", ranks=2)


def fixed_work():
    """With MPI, and with sources for those that build what they measure."""
    return Program("fixed_work", "Fixed work with MPI, 2 ranks", 50, 20, "even", ranks=2, sources=[APPS / "fixed_work.c"])


def waiting(name):
    """Takes further the directory of its logs, how often, and how many milliseconds a delay lasts."""
    sources = [TRUTH / f"{name}.c", TRUTH / "truth_log.c"]
    return Program(name, f"Waits that {name} logs, 2 ranks", ranks=2, sources=sources)
