#pragma once

#include <optional>
#include <string>

namespace culprit::launcher {

inline constexpr const char* kParanoidFile = "/proc/sys/kernel/perf_event_paranoid";

/// What the kernel's setting of who may count what is; nothing where it cannot be read.
std::optional<int> read_paranoid(const std::string& file = kParanoidFile);

/// Why perf_event_open(2) failed with `error`, and what to do, as the end of a line. `in_kernel`: the event
/// happens in the kernel only. `paranoid` as read_paranoid gives it.
std::string explain_refusal(int error, bool in_kernel, std::optional<int> paranoid);

}  // namespace culprit::launcher
