// Exceptions through many frames, rethrown, and out of constructors.
#include "part.hpp"

#include <stdexcept>
#include <string>

namespace stress {
namespace {

struct Cleanup {
  std::uint64_t& sum;
  explicit Cleanup(std::uint64_t& total) : sum(total) {}
  ~Cleanup() { fold(sum, 7); }
  Cleanup(const Cleanup&) = delete;
  Cleanup& operator=(const Cleanup&) = delete;
};

__attribute__((noinline)) std::uint64_t descend(std::uint64_t& sum, unsigned depth) {
  const Cleanup cleanup(sum);
  if (depth == 0) throw std::runtime_error(std::to_string(digest(sum, 100)));
  const std::uint64_t result = descend(sum, depth - 1);
  return result + depth;
}

__attribute__((noinline)) void catch_and_rethrow(std::uint64_t& sum, unsigned depth) {
  try {
    descend(sum, depth);
  } catch (const std::exception& error) {
    fold(sum, std::stoull(error.what()));
    throw;
  }
}

}  // namespace

std::uint64_t throw_and_catch() {
  std::uint64_t sum = 1;
  for (unsigned i = 0; i < 200; ++i) {
    try {
      catch_and_rethrow(sum, i % 40);
    } catch (const std::runtime_error& error) {
      fold(sum, error.what()[0] == '\0' ? 0 : 1);
    }
  }
  return sum;
}

}  // namespace stress
