#include "runtime/pace/own_work.hpp"

#include <catch2/catch.hpp>

namespace culprit::runtime {
namespace {

unwind::Frame ours() {
  unwind::Frame frame;
  frame.own = true;
  return frame;
}

}  // namespace

TEST_CASE("the clock that our code reads is work for us, as our code is") {
  const unwind::Frame other;
  const unwind::Frame code[] = {ours(), other};
  CHECK(works_for_us(code, 2, false));
  const unwind::Frame clock[] = {other, other, ours(), other};  // vdso, C library
  CHECK(works_for_us(clock, 4, true));
  CHECK(works_for_us(clock + 1, 3, true));
  CHECK_FALSE(works_for_us(clock, 2, true));
}

TEST_CASE("what MPI does below a wrapper of ours is the program's, also where it reads the clock") {
  const unwind::Frame other;
  const unwind::Frame call[] = {other, ours()};
  CHECK_FALSE(works_for_us(call, 2, false));
  const unwind::Frame clock_of_mpi[] = {other, other, other, ours()};
  CHECK_FALSE(works_for_us(clock_of_mpi, 4, true));
  CHECK_FALSE(works_for_us(nullptr, 0, false));
}

}  // namespace culprit::runtime
