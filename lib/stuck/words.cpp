// Spells what the rules found: times, ranks, messages, places. A thread's place is the innermost frame of the
// program, outside of MPI and the C library: that is the line which its user can change.
#include "stuck/words.hpp"

#include <cmath>

namespace culprit::stuck {

std::string span_of_time(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  if (seconds < 0) seconds = 0;
  if (seconds < 9.95) {
    const auto tenths = static_cast<long>(std::lround(seconds * 10));
    return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10)) + " s";
  }
  if (seconds < 2 * kMinute) return std::to_string(std::lround(seconds)) + " s";
  const auto minutes = static_cast<long>(seconds / kMinute);
  if (seconds < 2 * kHour) return std::to_string(minutes) + " min";
  return std::to_string(minutes / 60) + " h" +
         (minutes % 60 == 0 ? "" : " " + std::to_string(minutes % 60) + " min");
}

std::string rank_ranges(std::span<const std::int32_t> ranks, std::size_t most) {
  std::string text;
  std::size_t parts = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (parts++ == most) return text + " and " + std::to_string(ranks.size() - i) + " more";
    if (!text.empty()) text += ", ";
    text += std::to_string(ranks[i]);
    if (end - i == 2) text += ", " + std::to_string(ranks[end - 1]);
    if (end - i > 2) text += "-" + std::to_string(ranks[end - 1]);
    i = end;
  }
  return text;
}

std::string name_of(const Process& process) {
  return process.rank >= 0 ? "rank " + std::to_string(process.rank)
                           : process.host + ":" + std::to_string(process.pid);
}

std::string ranks_in_words(std::span<const std::int32_t> ranks) {
  if (ranks.empty()) return "no rank";
  return (ranks.size() == 1 ? "rank " : "ranks ") + rank_ranges(ranks);
}

namespace {

/// The C library's own code says less than who called it.
bool is_of_c_library(const Frame& frame) {
  return frame.module.starts_with("libc.so") || frame.module.starts_with("libc-") ||
         frame.module.starts_with("libpthread") || frame.module.starts_with("ld-linux") ||
         frame.module == "[vdso]";
}

/// The innermost frame of the program; null where there is none.
const Frame* innermost_of_program(const std::vector<Frame>& path) {
  const Frame* innermost = nullptr;
  for (const Frame& frame : path) {
    if (frame.mpi) break;
    if (!is_of_c_library(frame)) innermost = &frame;
  }
  return innermost;
}

/// Where a frame is inside a Python function, that is the line which its user can change: unless C code of
/// the program's own lies between, with known lines. Modules of Python's packages have none, as a rule.
const Frame* place_in_python(const std::vector<Frame>& path, const Frame* innermost) {
  const Frame* const first = path.data();
  const Frame* python = innermost;
  while (python != first && !python->python) --python;
  if (!python->python || python == innermost) return innermost;
  const std::string& interpreter = python[1].module;
  for (const Frame* at = innermost; at != python; --at) {
    if (at->line != 0 && at->module != interpreter) return at;
  }
  return python;
}

/// What the program has called there of the C library; empty: nothing.
std::string called_library(const std::vector<Frame>& path) {
  const Frame* const program = innermost_of_program(path);
  if (program == nullptr || program == &path.back()) return "";
  const Frame& next = program[1];
  return is_of_c_library(next) ? next.name : "";
}

}  // namespace

std::string place_of(const std::vector<Frame>& path) {
  const Frame* innermost = innermost_of_program(path);
  if (innermost == nullptr) return "";
  innermost = place_in_python(path, innermost);
  if (innermost->line == 0 || innermost->file.empty()) return innermost->name;
  const std::size_t slash = innermost->file.rfind('/');
  return innermost->name + " at " + innermost->file.substr(slash == std::string::npos ? 0 : slash + 1) + ":" +
         std::to_string(innermost->line);
}

std::string context_in_words(const Picture& picture, std::uint64_t id) {
  if (id == kWorldContext) return "MPI_COMM_WORLD";
  const auto context = picture.contexts.find(id);
  if (id == 0 || context == picture.contexts.end()) return "an unknown communicator";
  const char* const what = context->second.kind == ContextKind::window ? "a window"
                           : context->second.kind == ContextKind::file ? "a file"
                                                                       : "a communicator";
  std::vector<std::int32_t> known;
  for (const std::int32_t rank : context->second.members) {
    if (rank >= 0) known.push_back(rank);
  }
  return std::string(what) + (known.empty() ? "" : " of " + ranks_in_words(known));
}

std::string message_in_words(const Message& message) {
  const bool sent = message.kind == CallKind::send;
  const std::string tag = message.tag == kAnyTag ? "any tag" : "tag " + std::to_string(message.tag);
  const std::string peer = message.peer == kAnySource ? "any rank"
                           : message.peer < 0         ? "an unknown rank"
                                                      : "rank " + std::to_string(message.peer);
  return "a message with " + tag + (sent ? " to " : " from ") + peer;
}

std::string whereabouts(const Thread& thread) {
  const std::string place = place_of(thread.path);
  if (thread.inside) return "in " + thread.call.name + (place.empty() ? "" : " (" + place + ")");
  if (place.empty()) return "outside of MPI";
  const std::string called = called_library(thread.path);
  return called.empty() ? "in " + place : "in " + called + " (" + place + ")";
}

std::string whereabouts(const Process* process) {
  if (process == nullptr) return "not measured";
  if (process->life == Life::died) return "dead";
  if (process->life == Life::ended) return "at its end";
  if (process->life == Life::stopped) return "stopped by a signal";
  return process->threads.empty() ? "outside of MPI" : whereabouts(process->threads.front());
}

}  // namespace culprit::stuck
