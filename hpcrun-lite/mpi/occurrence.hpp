#pragma once

#include "runtime/api.hpp"
#include "unwind/walker.hpp"

#include <cstdint>
#include <ctime>

namespace culprit::mpi {

/// CLOCK_MONOTONIC in ns.
inline std::uint64_t monotonic_time() {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * kSecond + static_cast<std::uint64_t>(time.tv_nsec);
}

/// One MPI call as it happened, the same for the accumulators and for the time line: to read the clock and to
/// walk the call path is most of what they cost, so that is done by who needs it first, and by nobody else.
class Occurrence {
 public:
  /// When the call was entered: to be asked for before the real call, if at all, and then at any time.
  [[nodiscard]] std::uint64_t entered() { return once(entered_); }
  /// When it was left: to be asked for after the real call.
  [[nodiscard]] std::uint64_t left() { return once(left_); }
  /// In the wrapper, whose frame the call path's walk is then to start in: its registers, and where it
  /// returns to.
  [[gnu::always_inline]] void begin(const unwind::Registers& here, const void* site) {
    path_.pc = here.pc;
    path_.sp = here.sp;
    path_.bp = here.bp;
    path_.bx = here.bx;
    path_.site = reinterpret_cast<std::uintptr_t>(site);
  }
  /// For the runtime's functions.
  [[nodiscard]] CulpritPath* path() { return &path_; }

  /// Most calls have nothing of theirs recorded: what is not needed to know so is left as it is.
  Occurrence() {
    path_.tree = 0;
    path_.pc = 0;
  }
  Occurrence(const Occurrence&) = delete;
  Occurrence& operator=(const Occurrence&) = delete;

 private:
  static std::uint64_t once(std::uint64_t& time) {
    if (time == 0) time = monotonic_time();
    return time;
  }

  std::uint64_t entered_ = 0, left_ = 0;  ///< 0: not read yet
  CulpritPath path_;
};

/// A clock that is set wrong, so that comparisons of hosts can be tested on one.
struct WrongClock {
  bool set = false;
  std::int64_t ahead_ns = 0;
  std::int64_t fast_ppb = 0;  ///< gains so much per second from `since_ns` on
  std::uint64_t since_ns = 0;

  [[nodiscard]] std::uint64_t show(std::uint64_t time) const {
    const auto passed = static_cast<std::int64_t>(time - since_ns);
    return time + static_cast<std::uint64_t>(ahead_ns + passed / 1'000 * fast_ppb / 1'000'000);
  }
};
inline constinit WrongClock wrong_clock;

/// A monotonic_time as all that traces hold has it.
inline std::uint64_t host_time(std::uint64_t time) {
  if (wrong_clock.set) [[unlikely]]
    return wrong_clock.show(time);
  return time;
}

inline std::uint64_t host_time() {
  return host_time(monotonic_time());
}

}  // namespace culprit::mpi
