# A recipe for Spack: put this file into packages/culprit of a repository of yours (spack repo create). Where your Spack has
# no zycore-c, zydis or robin-map, these need recipes of their own (all are built by CMake).
from spack.package import *

try:  # Spack 1.0 and later
    from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
except ImportError:  # before, spack.package has them
    pass


class Culprit(CMakePackage):
    """Finds the code which makes MPI programs wait: a sampling call-path profiler with post-mortem blame shifting."""

    homepage = "https://culprit.invalid"
    git = "https://culprit.invalid/culprit.git"
    maintainers("culprit")
    license("Apache-2.0")

    version("main", branch="main")

    generator("ninja")

    depends_on("cxx", type="build")
    depends_on("c", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi")
    depends_on("elfutils")
    depends_on("xz")
    depends_on("zycore-c")
    depends_on("zydis")
    depends_on("libunwind")
    depends_on("boost+serialization+graph+math+regex")
    depends_on("robin-map")
    depends_on("cli11")
    depends_on("fmt@9:")
    depends_on("nlohmann-json")
    depends_on("re2")
    depends_on("muparser")
    depends_on("ncurses")
    depends_on("source-highlight")
    depends_on("xxhash")
    depends_on("zstd")
    depends_on("protobuf")
    depends_on("zlib-api")
    depends_on("otf2")

    def cmake_args(self):
        mpi = "OPENMPI" if self.spec["mpi"].name == "openmpi" else "MPICH"
        return [
            self.define("CULPRIT_TESTS", False),
            self.define("CULPRIT_UNITY", True),
            self.define("CMAKE_COMPILE_WARNING_AS_ERROR", False),
            self.define(f"CULPRIT_MPICC_{mpi}", self.spec["mpi"].mpicc),
        ]
