#pragma once

#include "stuck/picture.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// What several looks at several processes showed. Made by looks.hpp; tests make it themselves.
namespace culprit::stacks {

using stuck::Frame;

/// A thread that was looked at.
struct Location {
  std::int32_t rank = -1;    ///< -1: of a process that is no rank
  std::uint32_t thread = 0;  ///< 0: the main thread; others by the order of their start
  std::string role;          ///< `main`, or the function that the thread was started with
  std::string host;
  std::uint64_t pid = 0;
};

/// A call path from the root on.
struct Path {
  enum class Root : std::uint8_t { program, thread, partial } root = Root::program;
  std::vector<Frame> frames;
};

inline constexpr std::size_t kNotSeen = static_cast<std::size_t>(-1);

struct Observation {
  std::vector<Location> locations;  ///< ranks first, by rank; of a process its threads side by side
  std::vector<Path> paths;          ///< each once
  /// seen[location][look] is an index into paths, or kNotSeen.
  std::vector<std::vector<std::size_t>> seen;
  /// busy[location]: its registers changed from look to look, so that it runs. Empty: unknown.
  std::vector<bool> busy;
  std::size_t looks = 0;
  std::size_t processes = 0;            ///< that were looked at
  std::vector<std::uint64_t> stops_ns;  ///< of each look: how long a thread was stopped at most
  std::vector<std::string> unseen;      ///< `what: why (what to do)`, of processes
  std::vector<std::string> missed;      ///< the same, of threads, and of what is stopped: worth a note only
};

/// Adds what was seen on another host, of a process that is there already nothing.
void join(Observation& observation, Observation other);

/// Whether a frame begins every thread, whatever the program does: `_start`, `start_thread`.
bool is_start_up(const Frame& frame);
/// Whether its code is the C library's, or the kernel's within the process.
bool is_of_c_library(const Frame& frame);
/// Whether its code came with the system, the compiler or MPI, not with the program.
bool is_of_system(const Frame& frame);

}  // namespace culprit::stacks
