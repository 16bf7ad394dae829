#pragma once

#include "runtime/recording/call_path.hpp"
#include "runtime/state/thread.hpp"

#include <cstddef>

// Which files the program reads and writes (hpcrun-lite --files): a sample in a system call of the C
// library's input and output lies in a frame with the file's name, as in a region that its caller had begun.
namespace culprit::runtime {

/// Different files in a process that have names of their own; all others are one.
inline constexpr std::size_t kNamedFiles = 64;

/// From now on files are named. Takes the loader's lock: for the constructor, before any thread is sampled.
void name_files();

/// As current_path. Where files are named and `start` is in a call that reads or writes one, with the file's
/// frame above that of the call: costs some µs then. Async-signal-safe.
measurement::NodeIndex current_path_with_file(Thread* thread, const unwind::Registers& start,
                                              WalkFlaws& flaws);

/// Says in the measurement if there were more.
void note_file_names();

}  // namespace culprit::runtime
