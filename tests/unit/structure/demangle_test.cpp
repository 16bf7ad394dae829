#include "structure/structure.hpp"

#include <string>

#include <catch2/catch.hpp>

using culprit::structure::demangle;

TEST_CASE("C++ names come out as the user wrote them") {
  CHECK(demangle("_ZN9LAMMPS_NS9PairLJCut7computeEii") == "LAMMPS_NS::PairLJCut::compute(int, int)");
  CHECK(demangle("_ZNSt6vectorIiSaIiEE9push_backEOi") ==
        "std::vector<int, std::allocator<int> >::push_back(int&&)");
  CHECK(demangle("_ZN3lib12_GLOBAL__N_16Worker3runERNS0_5PlateE") == "lib::Worker::run(lib::Plate&)");
  CHECK(demangle("_ZN4core3fmt5write17h0123456789abcdefE") == "core::fmt::write");
}

TEST_CASE("Fortran module procedures come out with their module") {
  CHECK(demangle("__solver_MOD_iterate") == "solver::iterate");
  CHECK(demangle("solver_mp_iterate_") == "solver::iterate");
  CHECK(demangle("iterate_") == "iterate_");
}

TEST_CASE("parts are readable, copies bear the name of what they copy") {
  CHECK(demangle("solve.part.0") == "solve [part]");
  CHECK(demangle("solve.constprop.2") == "solve");
  CHECK(demangle("solve.isra.0.cold") == "solve [cold part]");
  CHECK(demangle("_Z5solvePd.part.1.constprop.0") == "solve(double*) [part 1]");
  CHECK(demangle("solve._omp_fn.0") == "solve [OpenMP region 0]");
  CHECK(demangle("_Z5solvePd._omp_fn.3") == "solve(double*) [OpenMP region 3]");
  CHECK(demangle("__solver_MOD_iterate._omp_fn.1") == "solver::iterate [OpenMP region 1]");
  CHECK(demangle("main.omp_outlined") == "main [OpenMP region 0]");
  CHECK(demangle(".omp_outlined..3") == "[OpenMP region 3]");
  CHECK(demangle("state.lto_priv.0") == "state");
}

TEST_CASE("what is no mangled name stays") {
  for (const char* name :
       {"", "main", "MPI_Send", "inner.0", "_Z", "_ZN", "__MOD_", "_start", "@plt", "a.b.c", "."})
    CHECK(demangle(name) == name);
  CHECK(demangle("memcpy@@GLIBC_2.14") == "memcpy");
  const std::string endless = "_Z" + std::string(100000, 'P');
  CHECK(demangle(endless) == endless);
}
