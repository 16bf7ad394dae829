#include "closing.hpp"

#include "files/write_failure.hpp"

#include <cerrno>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include <catch2/catch.hpp>

using namespace culprit::prof_mpi;

namespace {

template <class Error>
std::string cause(const Error& error) {
  CommandLine line;
  line.options.measurement = "run1";
  return cause_of(std::make_exception_ptr(error), line);
}

}  // namespace

TEST_CASE("whatever is thrown becomes one line", "[closing]") {
  CHECK(cause(std::runtime_error("read: f: why (what to do)")) == "read: f: why (what to do)");
  CHECK(cause(std::runtime_error("two\nlines")) == "two\\nlines");
  CHECK_THAT(cause(std::bad_alloc()), Catch::Contains("run1: out of memory"));
  CHECK_THAT(cause(std::system_error(EAGAIN, std::generic_category())),
             Catch::Contains("merge: run1: Resource temporarily unavailable (") && Catch::Contains("ulimit"));
  CHECK_THAT(cause(culprit::files::WriteFailure("run1.db", ENOSPC)),
             Catch::Contains("write: run1.db: No space left on device ("));
  CHECK_THAT(cause(42), Catch::Contains("run1: failed"));
}

TEST_CASE("a result with problems is degraded", "[closing]") {
  culprit::merge::Outcome outcome;
  CHECK(status_of(outcome) == 0);
  outcome.problems.emplace_back("run1/x: cut short");
  CHECK(status_of(outcome) == 3);
}
