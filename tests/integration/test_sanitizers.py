"""Programs that gcc's and clang's sanitizers watch are measured as others are: they start, end as they end unmeasured, and
what the sanitizers find in them is the same."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

import harness

APPS = pathlib.Path(__file__).resolve().parent.parent / "apps"
SOURCE = APPS / "sanitized.c"
# Each program meets the sampler at another moment each time.
TIMES = 10 if harness.THOROUGH else 3
# ThreadSanitizer sleeps for a second in each process that ends, unless set not to: once per program is enough.
AT_ONCE = dict(harness.ENVIRONMENT, TSAN_OPTIONS="atexit_sleep_ms=0")
# What each finds, by the word for the mistake.
FINDS = {
    "address": {"leak": "detected memory leaks", "overflow": "heap-buffer-overflow"},
    "leak": {"leak": "detected memory leaks"},
    "thread": {"race": "data race"},
    "undefined": {"undefined": "signed integer overflow"},
    "memory": {},
}
STATIC = {"address": "-static-libasan", "thread": "-static-libtsan", "undefined": "-static-libubsan"}


def variants():
    """Compiler, language, sanitizer and further flags of each program."""
    compilers = (("gcc", "c"), ("clang++", "c++"), ("g++", "c++"), ("clang", "c"))
    for compiler, language in compilers if harness.THOROUGH else compilers[:2]:
        for sanitizer in FINDS:
            if sanitizer == "memory" and not compiler.startswith("clang"):
                continue
            yield compiler, language, sanitizer, ()
            if sanitizer in STATIC and compiler == "gcc":
                yield compiler, language, sanitizer, (STATIC[sanitizer],)


class Sanitizers(harness.Workspace):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="culprit-test-")
        cls.addClassCleanup(directory.cleanup)
        cls.programs, cls.directory = {}, pathlib.Path(directory.name)

    def build(self, *variant):
        """The program, built once for all tests; None where the compiler, or this sanitizer of it, is not there."""
        if variant not in self.programs:
            self.programs[variant] = self.compile(self.directory / f"program-{len(self.programs)}", *variant)
        return self.programs[variant]

    def compile(self, program, compiler, language, sanitizer, flags, source=SOURCE):
        if shutil.which(compiler) is None:
            return None
        command = [compiler, "-x", language, f"-fsanitize={sanitizer}", *flags, "-O1", "-g", "-pthread"]
        done = subprocess.run([*command, "-o", program, source], capture_output=True, text=True)
        return program if done.returncode == 0 else None

    def measure_one(self, program, *arguments, expect=0, env=None):
        directory = self.here / "run"
        shutil.rmtree(directory, ignore_errors=True)
        command = [harness.HPCRUN, "-o", directory, program, *arguments]
        return harness.run(command, cwd=self.here, expect=expect, timeout=300, env=env or harness.ENVIRONMENT)

    def for_each(self, test):
        """Calls test(sanitizer, program) for each program that can be built."""
        for variant in variants():
            with self.subTest(variant=variant):
                program = self.build(*variant)
                if program is not None:
                    test(variant[2], program)

    def run_and_be_sampled(self, sanitizer, program):
        expected = harness.run([program], cwd=self.here, env=AT_ONCE)
        for time in range(TIMES if sanitizer in ("address", "thread") else 1):
            done = self.measure_one(program, env=AT_ONCE if time else None)
            self.assertEqual(done.stdout, expected.stdout)
            self.assert_one_line(done.stderr, "hpcrun-lite: ", " samples, ")
        if sanitizer in ("address", "thread"):
            self.show_the_program()

    def test_programs_without_mistakes_run_and_are_sampled(self):
        self.for_each(self.run_and_be_sampled)

    def show_the_program(self):
        """What was sampled last is the program."""
        harness.run([harness.PROF_MPI, "--force", self.here / "run"])
        view = harness.viewer_json(self.here / "run.db", "view", "flat")
        names = {node["frame"]["name"] for node in harness.walk(view["roots"])}
        self.assertIn("compute", {name.partition("(")[0] for name in names})
        self.assertLess(harness.viewer_json(self.here / "run.db", "info")["partial"], 10)

    def find_the_same(self, sanitizer, program):
        for mistake, words in FINDS[sanitizer].items():
            expected = harness.run([program, mistake], cwd=self.here, expect=None, env=AT_ONCE)
            self.assertIn(words, expected.stderr)
            done = self.measure_one(program, mistake, expect=expected.returncode, env=AT_ONCE)
            self.assertIn(words, done.stderr)

    def test_mistakes_are_found_as_without_the_sampler(self):
        self.for_each(self.find_the_same)

    def test_options_of_the_user_stay(self):
        program = self.build("gcc", "c", "address", ())
        if program is None:
            self.skipTest("no AddressSanitizer")
        environment = dict(harness.ENVIRONMENT, ASAN_OPTIONS="detect_leaks=0:exitcode=77")
        self.measure_one(program, "leak", env=environment)
        self.measure_one(program, "overflow", env=environment, expect=77)

    def test_under_mpi(self):
        # Measured or not, Open MPI's processes leak, and MPICH's die of ThreadSanitizer and, where there is a driver of OpenCL, which
        # hwloc loads, of AddressSanitizer.
        environment = dict(AT_ONCE, ASAN_OPTIONS="detect_leaks=0", HWLOC_COMPONENTS="-opencl")
        for mpi, sanitizer in (("openmpi", "thread"), ("openmpi", "address"), ("mpich", "address")):
            with self.subTest(mpi=mpi, sanitizer=sanitizer):
                program = self.build(f"mpicc.{mpi}", "c", sanitizer, ("-w",), APPS / "mpi_exchange.c")
                if program is None:
                    continue
                expected = harness.launch(mpi, 2, [program], env=environment)
                for options in ((), ("--trace",)):
                    directory = self.here / "run"
                    shutil.rmtree(directory, ignore_errors=True)
                    command = [harness.HPCRUN, "-o", directory, *options, program]
                    done = harness.launch(mpi, 2, command, env=environment)
                    self.assertEqual(sorted(done.stdout.splitlines()), sorted(expected.stdout.splitlines()))
                    self.assertNotIn("WARNING: ThreadSanitizer", done.stderr)


if __name__ == "__main__":
    unittest.main()
