"""What an installation offers to programs: culprit.h is found by CMake's find_package and by pkg-config wherever the prefix was moved
to, and the preloaded libraries define the symbols that are listed, and no others, in the program that they are loaded into. The
list of the runtime is packaging/symbols, that of the wrappers the table of MPI calls. RPMs hold all that is installed."""

import os
import pathlib
import re
import shutil
import sys
import tarfile
import unittest

import harness

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import mpi_table  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SYMBOLS = ROOT / "packaging" / "symbols"
SPEC = ROOT / "packaging" / "culprit.spec"
SECTION = {"__start_culprit_real_call", "__stop_culprit_real_call"}  # bounds that the linker defines
PROGRAM = """#include <culprit.h>
int main(void) {
  culprit_region_begin("region");
  culprit_region_end("region");
  return 0;
}
"""
# Where compiled programs expect what the sampler offers: members stay where they are.
MEMBERS = ("size", "start", "stop", "region_begin", "region_end", "iteration", "region_begin_outside", "region_end_outside")
LAYOUT = "#include <culprit.h>\n#include <stddef.h>\n" + "".join(
    f'_Static_assert(offsetof(struct culprit_interface, {name}) == {8 * place}, "{name}");\n' for place, name in enumerate(MEMBERS)
) + f'_Static_assert(CULPRIT_FIRST_SIZE_ == {8 * len(MEMBERS)}, "every sampler has these");\n'  # fmt: skip
SAMPLER = """#include <culprit.h>
#include <stdio.h>
static void begin(const char* name, const void* frame, const void* caller) { (void)frame, (void)caller, puts(name); }
const struct culprit_interface culprit_rt_interface = {.size = sizeof(struct culprit_interface), .region_begin = begin};
"""
PROJECT = """cmake_minimum_required(VERSION 3.16)
project(consumer C CXX)
find_package(Culprit 0.1 REQUIRED)
if(NOT EXISTS "${Culprit_FORTRAN_SOURCE}")
  message(FATAL_ERROR "no Fortran module at '${Culprit_FORTRAN_SOURCE}'")
endif()
add_executable(in_c program.c)
add_executable(in_cxx program.cpp)
foreach(program in_c in_cxx)
  target_link_libraries(${program} PRIVATE Culprit::culprit)
endforeach()
"""
MPIS = """cmake_minimum_required(VERSION 3.25)
project(mpis CXX)
include(%s/find_mpi.cmake)
message(STATUS "found: ${CULPRIT_MPIS}.")
"""
FORTRAN = """program p
use culprit
call culprit_region_begin('region')
call culprit_region_end('region')
end program
"""


def defined_by(library):
    """The names of its dynamic symbols, without versions and what every library has."""
    lines = harness.run(["nm", "-D", "--defined-only", harness.PREFIX / "lib" / "culprit" / f"libculprit-{library}.so"]).stdout.splitlines()
    names = {line.split()[-1].partition("@")[0] for line in lines}
    return {name for name in names if name not in ("__gmon_start__", "GLIBC_2.3.2")}


class Packaging(harness.Workspace):
    def setUp(self):
        super().setUp()
        # Away from where it was installed.
        self.prefix = self.here / "moved"
        for part in ("include", "share"):
            shutil.copytree(harness.PREFIX / part, self.prefix / part)

    def test_find_package(self):
        source = self.here / "source"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(PROJECT)
        for name in ("program.c", "program.cpp"):
            (source / name).write_text(PROGRAM)
        build = self.here / "build"
        harness.run(["cmake", "-G", "Ninja", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}"])
        harness.run(["cmake", "--build", build])
        for program in ("in_c", "in_cxx"):
            harness.run([build / program])
        refused = harness.run(
            ["cmake", "-G", "Ninja", "-S", self.another_version(source), "-B", self.here / "other", f"-DCMAKE_PREFIX_PATH={self.prefix}"], expect=1)
        self.assertIn("Culprit", refused.stderr)

    def another_version(self, source):
        other = self.here / "other-source"
        shutil.copytree(source, other)
        (other / "CMakeLists.txt").write_text(PROJECT.replace("Culprit 0.1", "Culprit 9.0"))
        return other

    def test_pkg_config(self):
        environment = dict(os.environ, PKG_CONFIG_PATH=str(self.prefix / "share" / "pkgconfig"))
        flags = harness.run(["pkg-config", "--cflags", "--libs", "culprit"], env=environment).stdout.split()
        (self.here / "program.c").write_text(PROGRAM)
        harness.run(["cc", "-Wall", "-Wextra", "-Werror", self.here / "program.c", *flags, "-o", self.here / "program"])
        harness.run([self.here / "program"])
        module = harness.run(["pkg-config", "--variable=fortran_source", "culprit"], env=environment).stdout.strip()
        (self.here / "program.f90").write_text(FORTRAN)
        harness.run(["gfortran", f"-J{self.here}", module, self.here / "program.f90", *flags, "-o", self.here / "program_f"])
        harness.run([self.here / "program_f"])

    def test_layout_of_the_interface(self):
        (self.here / "layout.c").write_text(LAYOUT)
        harness.run(["cc", "-c", f"-I{self.prefix / 'include'}", self.here / "layout.c", "-o", self.here / "layout.o"])

    def test_program_of_a_later_header(self):
        """An older sampler lacks what that appends, and does all else."""
        header = (self.prefix / "include" / "culprit.h").read_text()
        last = f"void (*{MEMBERS[-1]})(const char* name);"
        self.assertEqual(header.count(last), 1)
        (self.here / "later").mkdir()
        (self.here / "later" / "culprit.h").write_text(header.replace(last, last + " void (*appended)(void);"))
        (self.here / "sampler.c").write_text(SAMPLER)
        (self.here / "program.c").write_text(PROGRAM)
        harness.run(["cc", "-shared", "-fPIC", f"-I{self.prefix / 'include'}", self.here / "sampler.c", "-o", self.here / "sampler.so"])
        harness.run(["cc", f"-I{self.here / 'later'}", self.here / "program.c", "-o", self.here / "program"])
        done = harness.run([self.here / "program"], env=dict(os.environ, LD_PRELOAD=str(self.here / "sampler.so")))
        self.assertEqual(done.stdout, "region\n")

    def test_environment_module(self):
        shutil.copytree(harness.PREFIX / "bin", self.prefix / "bin")
        script = f"""
            . /etc/profile.d/modules.sh
            module use {self.prefix}/share/modulefiles
            module load culprit && command -v viewer-cli && echo "$PKG_CONFIG_PATH" | tr : '\\n' | head -1
            echo "$MANPATH"
            module unload culprit && command -v viewer-cli
            echo "${{MANPATH-unset}}"
            MANPATH=/own module load culprit && echo "$MANPATH"
            exit 0
        """
        found = harness.run(["bash", "-c", script], env={"PATH": "/usr/bin:/bin"}).stdout.split()
        pages = str(self.prefix / "share" / "man")
        self.assertEqual(found, [str(self.prefix / "bin" / "viewer-cli"), str(self.prefix / "share" / "pkgconfig"),
                                 pages + ":", "unset", f"{pages}:/own:"])  # fmt: skip

    def test_documents(self):
        """What the help and the manual pages refer to is installed."""
        documents = self.prefix / "share" / "doc" / "culprit" / "docs"
        helped = "".join(harness.run([harness.VIEWER, command, "--help"]).stdout for command in ("report", "stuck", "stacks", "waits"))
        named = set(re.findall(r"share/doc/culprit/docs/([\w-]+\.md)", helped))
        self.assertIn("diagnosis.md", named)
        for name in named | {"README.md"}:
            self.assertTrue((documents / name).is_file(), name)
        self.assertFalse((documents / "man").exists())
        for tool in ("hpcrun-lite", "prof-mpi", "viewer-cli"):
            page = (self.prefix / "share" / "man" / "man1" / f"{tool}.1").read_text()
            self.assertIn("share/doc/culprit/docs", page.replace("\\", ""))

    def rpms(self):
        """Made by the spec of what is installed, without compiling."""
        name = f"culprit-{re.search(r'^Version: +(.+)', SPEC.read_text(), re.M)[1]}"
        with tarfile.open(self.here / f"{name}.tar.gz", "w:gz") as archive:
            for file in ("LICENSE", "README.md", "CHANGELOG.md"):
                archive.add(ROOT / file, f"{name}/{file}")
        macros = {
            "_topdir": self.here / "rpm", "_sourcedir": self.here, "_rpmdir": self.here, "_build_id_links": "none", "_binary_payload": "w0.ufdio",
            "__os_install_post": "%{nil}", "python3_sitelib": "/usr/lib/python3/dist-packages", "cmake": "true", "cmake_build": "true",
            "cmake_install": f"mkdir -p %{{buildroot}} && cp -r {harness.PREFIX} %{{buildroot}}/usr",
        }  # fmt: skip
        defined = [word for macro, value in macros.items() for word in ("--define", f"{macro} {value}")]
        harness.run(["rpmbuild", "-bb", "--nodeps", *defined, SPEC])
        return {path.name.removesuffix(".rpm").rsplit("-", 2)[0]: path for path in self.here.glob("*/culprit*.rpm")}

    @unittest.skipUnless(shutil.which("rpmbuild"), "rpmbuild is not installed")
    def test_rpms(self):
        """The spec lists each file, and what needs an MPI is in a package of that MPI."""
        rpms = self.rpms()
        self.assertEqual(rpms.keys(), {"culprit", "culprit-openmpi", "culprit-mpich"})
        listed = {name: harness.run(["rpm", "-qlp", path]).stdout.split() for name, path in rpms.items()}
        needed = {name: harness.run(["rpm", "-qp", "--requires", path]).stdout for name, path in rpms.items()}
        for mpi, other in (("openmpi", "mpich"), ("mpich", "openmpi")):
            self.assertEqual(listed[f"culprit-{mpi}"], [f"/usr/lib/culprit/prof-mpi-{mpi}"])
            self.assertRegex(needed[f"culprit-{mpi}"], rf"(?m)^{mpi}\b")
            self.assertNotIn(other, needed[f"culprit-{mpi}"])
        self.assertNotIn("mpi", needed["culprit"])

    def found_mpis(self, *options):
        """What a build finds where no program of the system is seen, so that Debian's names of the wrappers are not either."""
        source, build = self.here / "mpis", self.here / "mpis-build"
        source.mkdir(exist_ok=True)
        (source / "CMakeLists.txt").write_text(MPIS % ROOT)
        blind = ["-DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF", "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF"]
        tools = [f"-DCMAKE_CXX_COMPILER={shutil.which('c++')}", f"-DCMAKE_MAKE_PROGRAM={shutil.which('ninja')}"]
        said = harness.run(["cmake", "-G", "Ninja", "-S", source, "-B", build, *blind, *tools, *options])
        return said.stdout.partition("found: ")[2].partition(".")[0], said.stdout + said.stderr

    def test_mpi_under_a_plain_name(self):
        """As in Fedora and in prefixes of one's own: mpicc is the one MPI there, and not the other."""
        for mpi in ("openmpi", "mpich"):
            with self.subTest(mpi):
                directory = self.here / mpi
                directory.mkdir()
                # Open MPI's wrapper looks by its own name for what it is to do.
                (directory / "mpicc").write_text(f'#!/bin/sh\nexec {shutil.which(f"mpicc.{mpi}")} "$@"\n')
                (directory / "mpicc").chmod(0o755)
                found, said = self.found_mpis(f"-DCMAKE_PROGRAM_PATH={directory}", "--fresh")
                self.assertEqual(found, mpi, said)
                self.assertIn("is of another MPI", said)
        # What is said then is what helps, in the same build.
        found, said = self.found_mpis(f"-DCULPRIT_MPICC_OPENMPI={self.here / 'openmpi' / 'mpicc'}")
        self.assertEqual(found, "openmpi;mpich", said)

    def test_no_mpi(self):
        found, said = self.found_mpis()
        self.assertEqual(found, "")
        self.assertIn("No MPI was found", said)

    def test_symbols_of_the_runtime(self):
        listed = set((SYMBOLS / "libculprit-runtime.txt").read_text().split())
        self.assertEqual(defined_by("runtime"), listed, "change packaging/symbols only where the change is meant")

    def test_symbols_of_the_wrappers(self):
        for mpi in ("openmpi", "mpich"):
            with self.subTest(mpi):
                calls = mpi_table.wrapped(f"mpicc.{mpi}")
                self.assertEqual(defined_by(mpi) - SECTION, {prefix + name for name in calls for prefix in ("MPI_", "PMPI_")})


if __name__ == "__main__":
    unittest.main()
