#pragma once

// What launcher and runtime keep in a measurement directory beside the measurements.
namespace culprit::runtime {

/// One byte per rank, kRegistered at the place of each rank whose launcher ran: whether all ranks are
/// measured.
inline constexpr const char* kRegister = "culprit.ranks";
inline constexpr char kRegistered = 'r';

/// Creates the marker file of a run, exclusively and complete at once. Returns 0, or an errno; EEXIST where
/// there is one. Async-signal-safe.
int write_marker(const char* path, const char* run_id);

}  // namespace culprit::runtime
