#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

// What /proc says of processes of this host. All of it may be out of date when it is read.
namespace culprit::stacks {

struct ProcessEntry {
  pid_t pid = 0, parent = 0;
  pid_t session = 0;        ///< the process that leads its session
  std::string name;         ///< of the program, as the kernel keeps it: 15 bytes, spelled for printing
  char state = '?';         ///< R, S, D, T, t, Z, …
  std::uint64_t start = 0;  ///< ticks since the host was started
};

/// Nothing where there is no such process, or it is a zombie.
std::optional<ProcessEntry> find_process(pid_t pid);
/// The same of one thread.
std::optional<ProcessEntry> find_thread(pid_t pid, pid_t tid);
/// All processes that /proc shows.
std::vector<ProcessEntry> all_processes();
/// The threads of a process, in the order of their start; empty where it is gone.
std::vector<pid_t> threads_of(pid_t pid);
/// The process that a thread belongs to; the number itself where there is no such thread.
pid_t process_of_thread(pid_t tid);

/// The environment that a process was started with; empty where it may not be read.
class Environment {
 public:
  explicit Environment(pid_t pid);
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const;
  /// A whole number from 0 on; nothing where there is none.
  [[nodiscard]] std::optional<std::int32_t> number(std::string_view name) const;
  /// NAME=VALUE each.
  [[nodiscard]] std::vector<std::string> all() const;

 private:
  std::string text_;  // NAME=VALUE, each with a zero behind it
};

/// The rank that the launcher gave to a process, or that of the rank that started it.
std::optional<std::int32_t> rank_of(const Environment& environment);
/// How many ranks its job has.
std::optional<std::int32_t> ranks_of_job(const Environment& environment);

/// Whether it has loaded an MPI library.
bool uses_mpi(pid_t pid);
/// Whether a thread of it still has memory: not one of the kernel's, nor a process that is about to end.
bool has_memory(pid_t pid);
/// Whether it has loaded the library that measures; true where its mappings may not be read.
bool is_measured(pid_t pid);
/// Whether it is a thread of the kernel, which has no memory of its own.
bool is_of_kernel(pid_t pid);

/// The arguments of a process, the name of its program first; empty where they may not be read.
std::vector<std::string> command_line_of(pid_t pid);
/// Its real user.
std::optional<uid_t> owner_of(pid_t pid);

/// A field of /proc/PID/status, without its name: `Uid`, `TracerPid`.
std::string status_field(pid_t pid, std::string_view name);

/// What a process is called in messages: `process 4711 (lmp)`.
std::string label_of(pid_t pid);

/// A whole file of /proc; empty where it cannot be read.
std::string read_text(const std::string& path);

}  // namespace culprit::stacks
