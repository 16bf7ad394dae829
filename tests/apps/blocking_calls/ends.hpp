// What calls of all files wait for.
#pragma once

#include "rows.hpp"

namespace blocking {

void require(bool good, const char* what);

timespec later(clockid_t clock, timespec by);

/// In a thread of its own, after a while.
void after(milliseconds delay, std::function<void()> act);

struct Ends {
  int ends[2];
  [[nodiscard]] int in() const { return ends[0]; }
  [[nodiscard]] int out() const { return ends[1]; }
};

Ends make_pipe();

/// Writes `count` bytes slowly.
void supply(int descriptor, std::size_t count);

}  // namespace blocking
