#!/usr/bin/env python3
"""Checks that what CMake looks for is among what the RPM spec and the Spack recipe install before they build, that the recipe
gives CMake the MPI that it was given, and that all files that have to state the version state CMake's. Neither Fedora nor Spack is
needed: the recipe runs with stand-ins for the modules of Spack."""

import itertools
import pathlib
import re
import runpy
import sys
import types
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("lib", "hpcrun-lite", "prof-mpi", "viewer-cli", "python")
# What CMake asks for, and the packages of Fedora and of Spack that have it.
PACKAGES = {
    "PkgConfig": ("pkgconf-pkg-config", "pkgconfig"),
    "libdw": ("elfutils-devel", "elfutils"),
    "libelf": ("elfutils-libelf-devel", "elfutils"),
    "liblzma": ("xz-devel", "xz"),
    "libxxhash": ("xxhash-devel", "xxhash"),
    "libzstd": ("libzstd-devel", "zstd"),
    "libunwind-generic": ("libunwind-devel", "libunwind"),
    "zycore": ("zycore-c-devel", "zycore-c"),
    "zydis": ("zydis-devel", "zydis"),
    "fmt": ("fmt-devel", "fmt"),
    "Boost": ("boost-devel", "boost"),
    "boost_regex": ("boost-devel", "boost"),
    "CLI11": ("cli11-devel", "cli11"),
    "nlohmann_json": ("json-devel", "nlohmann-json"),
    "Protobuf": ("protobuf-devel", "protobuf"),
    "ZLIB": ("zlib-devel", "zlib-api"),
    "Curses": ("ncurses-devel", "ncurses"),
    "source-highlight": ("source-highlight-devel", "source-highlight"),
    "otf2": ("otf2-devel", "otf2"),
    "tsl": ("robin-map-devel", "robin-map"),
}
# Headers or libraries that no find command asks for.
UNASKED = {"re2": ("re2-devel", "re2"), "muparser": ("muParser-devel", "muparser")}
# Part of the compiler; and what only the page of `export html` needs, which is left out without it.
OF_NO_PACKAGE = {"Threads", "ESBUILD", "D3_MODULES"}
# Where the version stands first in files that CMake does not write.
VERSIONS = {
    "CHANGELOG.md": r"^## (\S+)",
    "packaging/culprit.spec": r"^Version: +(\S+)",
    "python/culprit/__init__.py": r'^__version__ = "(.+)"',
}


def asked_for():
    """The names in CMake's find commands of the tools, without variables and options."""
    text = "".join(path.read_text() for folder in FOLDERS for path in sorted((ROOT / folder).rglob("CMakeLists.txt")))
    names = set(re.findall(r"find_package\((\w+)", text))
    for modules in re.findall(r"pkg_check_modules\(\w+ REQUIRED IMPORTED_TARGET ([^)]+)\)", text):
        names.update(modules.split())
    for variable, words in re.findall(r"find_(?:library|program|path)\((\w+)((?: [^ )]+)+)", text):
        names.add(variable if variable in OF_NO_PACKAGE else re.sub(r"^NAMES |/.*", "", words.strip()).split()[0])
    return names - OF_NO_PACKAGE


class Recipe:
    """The stand-in for Spack: notes what the recipe depends on, and what it gives to CMake. From version 1.0 on, Spack has build
    systems in a module of their own, before in spack.package."""

    CMAKE = "spack_repo.builtin.build_systems.cmake"

    def __init__(self, mpi, since_1_0):
        self.mpi, self.since_1_0, self.depends = mpi, since_1_0, set()

    def modules(self):
        """By name."""
        recipe = self

        class CMakePackage:
            spec = {"mpi": types.SimpleNamespace(name=recipe.mpi, mpicc=f"/prefix/of/{recipe.mpi}/bin/mpicc")}

            @staticmethod
            def define(name, value):
                return f"-D{name}={value}"

        package = types.ModuleType("spack.package")
        for directive in ("maintainers", "license", "version"):
            setattr(package, directive, lambda *_, **__: None)
        package.depends_on = lambda what, **_: recipe.depends.add(re.match(r"[\w-]+", what).group())
        cmake = types.ModuleType(self.CMAKE) if self.since_1_0 else package
        cmake.CMakePackage, cmake.generator = CMakePackage, lambda *_, **__: None
        return {"spack.package": package, cmake.__name__: cmake}

    def run(self):
        made = self.modules()
        for name in list(made):
            parents = name.split(".")[:-1]
            made |= {".".join(parents[:end]): types.ModuleType(parents[end - 1]) for end in range(1, len(parents) + 1)}
        with unittest.mock.patch.dict(sys.modules, made):
            package = runpy.run_path(str(ROOT / "packaging" / "spack" / "package.py"))["Culprit"]
        return package().cmake_args()


def version_in(file, pattern):
    return re.search(pattern, (ROOT / file).read_text(), re.M)[1]


def other_versions():
    version = version_in("CMakeLists.txt", r"^project\(culprit VERSION (\S+)")
    for file, pattern in VERSIONS.items():
        if (stated := version_in(file, pattern)) != version:
            yield f"{file}: version {stated}, but CMakeLists.txt has {version} (the changelog begins with the version that is next)"


def complaints():
    yield from other_versions()
    spec = set(re.findall(r"\S+", " ".join(re.findall(r"^BuildRequires:(.*)", (ROOT / "packaging" / "culprit.spec").read_text(), re.M))))
    mpis = (("openmpi", "OPENMPI"), ("mpich", "MPICH"), ("mvapich2", "MPICH"))
    for (mpi, variable), since_1_0 in itertools.product(mpis, (False, True)):
        recipe = Recipe(mpi, since_1_0)
        if f"-DCULPRIT_MPICC_{variable}=/prefix/of/{mpi}/bin/mpicc" not in recipe.run():
            yield f"packaging/spack/package.py: CMake is not given the compiler wrapper of {mpi}"
    wanted = {name: PACKAGES.get(name) for name in asked_for()} | UNASKED
    for name, packages in sorted(wanted.items()):
        if packages is None:
            yield f"packaging/check_recipes.py: {name}: CMake looks for it (say in PACKAGES which packages have it)"
            continue
        if packages[0] not in spec:
            yield f"packaging/culprit.spec: {packages[0]}: missing (CMake looks for {name})"
        if packages[1] not in recipe.depends:
            yield f"packaging/spack/package.py: {packages[1]}: missing (CMake looks for {name})"


def main():
    found = list(complaints())
    print("\n".join(found) or "recipes: they install what CMake looks for, and all files state one version")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
