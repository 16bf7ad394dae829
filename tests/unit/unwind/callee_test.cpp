#include "unwind/callee.hpp"

#include "modules.hpp"

#include <cstdlib>

#include <catch2/catch.hpp>

namespace culprit::unwind::testing::callee_test {
namespace {

std::uint64_t returned_to = 0;
volatile int sum = 0;
using Function = int (*)();
Function volatile by_pointer;

[[gnu::noinline]] int called_by_name() {
  returned_to = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
  sum = sum + 1;
  return sum;
}
[[gnu::noinline]] void calls() {
  called_by_name();
  sum = sum + 1;
}
[[gnu::noinline]] void calls_by_pointer() {
  by_pointer();
  sum = sum + 1;
}
/// The C library has it in a register.
int compare(const void* /*a*/, const void* /*b*/) {
  returned_to = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
  return 0;
}

std::uint64_t address(Function function) {
  return reinterpret_cast<std::uint64_t>(function);
}
std::uint64_t place(std::uint64_t earlier) {
  return place_in_callee(find_loaded_module, nullptr, returned_to, earlier);
}

}  // namespace

TEST_CASE("A call instruction names the function that was called") {
  calls();
  CHECK(place(0) == address(called_by_name));
  CHECK(place(address(called_by_name) + 4) == address(called_by_name) + 4);
  CHECK(place(reinterpret_cast<std::uint64_t>(&calls)) == address(called_by_name));
}

TEST_CASE("A call by a register names none, and is not believed to be of its own module's functions") {
  by_pointer = called_by_name;
  calls_by_pointer();
  CHECK(place(0) == 0);
  CHECK(place(address(called_by_name)) == 0);
  CHECK(place_in_callee(find_loaded_module, nullptr, 1, 0) == 0);
}

TEST_CASE("What another module calls by a register is believed to be where an earlier call came from") {
  int values[] = {2, 1, 3};
  std::qsort(values, 3, sizeof(int), compare);
  const std::uint64_t earlier = address(called_by_name) + 4;
  CHECK(place_in_callee(find_loaded_module, nullptr, returned_to, earlier) == earlier);
  CHECK(place_in_callee(find_loaded_module, nullptr, returned_to, 0) == 0);
}

}  // namespace culprit::unwind::testing::callee_test
