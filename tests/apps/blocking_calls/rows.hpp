// What is called, and how: a row is one call that blocks. The files hold rows by what they wait in.
#pragma once

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <functional>
#include <vector>

namespace blocking {

using std::chrono::milliseconds;

constexpr long kLimit = 60'000'000;         // ns that a timed call must last
constexpr timespec kShort{0, kLimit};       // that, relative
constexpr timespec kLong{20, 0};            // never reached: a call that is broken off or completed
constexpr milliseconds kLate{60};           // when someone else completes a call
constexpr std::size_t kLarge = 512 * 1024;  // more than a pipe or a socket holds

/// What a call did.
struct Outcome {
  long result;
  int error;
};

/// `result` of a call that sets errno.
inline Outcome plain(long result) {
  return {result, result == -1 ? errno : 0};
}
/// Of one that returns an error number.
inline Outcome code(int error) {
  return {error, 0};
}

enum class Kind { timed, broken, complete };

struct Row {
  Kind kind;
  const char* name;
  std::function<Outcome()> act;
};

std::vector<Row> sleeping();
std::vector<Row> polling();
std::vector<Row> looking();
std::vector<Row> waiting_for_signals();
std::vector<Row> semaphores();
std::vector<Row> messages();
std::vector<Row> receiving();
std::vector<Row> sending();
std::vector<Row> others();
/// By number.
std::vector<Row> numbered();
/// With arguments that the kernel cannot read.
std::vector<Row> unreadable();
/// nanosleep without the C library.
Outcome bare_system_call();

}  // namespace blocking
