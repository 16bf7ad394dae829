#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

// What a tool puts right when a signal ends it: unfinished files are removed, the terminal is given back. A
// fault because a file that is mapped was changed by somebody else becomes one line and exit status 1.
namespace culprit::files {

/// What a line says behind "tool: what: " where memory has run out.
inline constexpr const char* kOutOfMemory =
    "out of memory (use more nodes or a machine with more memory, or raise the limit: ulimit -v)";

/// From here on. `tool`, a literal, begins the lines that are printed. Once, by main() before it starts
/// threads; under MPI after MPI_Init, which installs handlers of its own. Signals that are ignored stay so,
/// and those that somebody else handles, but for faults. A write beyond the limit on file sizes is from now
/// on an error (EFBIG) and no signal; the tool reports an exception that nothing catches in one line.
void put_right_at_death(const char* tool);

/// Puts everything right and ends the process by the signal. Async-signal-safe.
[[noreturn]] void die_of(int signal) noexcept;

/// Puts everything right and ends the process with exit status 1 and one line: for libraries that end it
/// themselves where there is no memory. Async-signal-safe.
[[noreturn]] void end_without_memory() noexcept;

/// Names a file that is removed when the process dies before done(), or before this ends. Of more than 64 at
/// one time, the last stay.
class Unfinished {
 public:
  explicit Unfinished(const std::filesystem::path& path);
  ~Unfinished() { done(); }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

  void done() noexcept;

 private:
  std::string path_;
  std::size_t slot_ = std::numeric_limits<std::size_t>::max();
};

/// What gives the terminal back, async-signal-safe; null: nothing to give back.
void restore_terminal_by(void (*restore)() noexcept) noexcept;

/// While it lives, pages of files that this thread finds gone (the file was truncated) read as zeros. For
/// what maps files for itself, as libelf does, and survives any bytes. One at a time on a thread.
class LostPages {
 public:
  LostPages();
  ~LostPages();
  LostPages(const LostPages&) = delete;
  LostPages& operator=(const LostPages&) = delete;

  /// How many there were: what was read means nothing if there was one.
  [[nodiscard]] std::uint64_t count() const noexcept;
};

}  // namespace culprit::files
