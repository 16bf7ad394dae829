#include "merge/rules/run_time_libraries.hpp"

#include <catch2/catch.hpp>

namespace run_time_libraries_test {

using culprit::merge::is_run_time_library;

TEST_CASE("run-time libraries are known by name, wherever they lie; what a user chose is not one") {
  for (const char* path :
       {"[vdso]", "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libm-2.28.so", "/lib64/ld-linux-x86-64.so.2",
        "/opt/gcc/lib64/libgomp.so.1.0.0", "/opt/intel/lib/libiomp5.so", "/usr/lib/libstdc++.so.6",
        "/usr/lib/libgfortran.so.5", "libpthread-2.31.so", "/usr/bin/python3.11",
        "/opt/conda/lib/libpython3.13.so.1.0"})
    CHECK(is_run_time_library(path));
  for (const char* path :
       {"", "/home/me/app", "/usr/lib/x86_64-linux-gnu/liblammps.so.0", "/usr/lib/libblas.so.3",
        "/usr/lib/libmpi.so.40", "/home/me/libcmath.so", "/home/me/libmesh.so.2", "/opt/libc.so.d/app",
        "/home/me/python3_like", "/usr/lib/python3/dist-packages/mpi4py/MPI.cpython-311-x86_64-linux-gnu.so",
        "<python>"})
    CHECK_FALSE(is_run_time_library(path));
}

}  // namespace run_time_libraries_test
