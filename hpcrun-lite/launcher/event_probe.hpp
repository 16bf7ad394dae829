#pragma once

#include "runtime/events/event_list.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace culprit::launcher {

/// Why the PAPI events of `list` cannot be sampled together here: "EVENT: why (what to do)"; empty where they
/// can. Starts them for a moment, in a process of its own.
std::string find_papi_problem(const runtime::EventList& list);

/// What PAPI offers here.
struct PapiOffer {
  struct Event {
    std::string name, description;
  };
  std::vector<Event> presets;  ///< those that can be sampled
  std::string why_none;        ///< where there is none: the reason
};
PapiOffer list_papi_events();

/// What `work` returns, called in a process of its own, so that whatever it loads, opens, prints or breaks
/// leaves no trace in this one. Nothing where that process crashed or could not be started.
std::optional<std::string> in_separate_process(const std::function<std::string()>& work);

inline constexpr const char* kParanoidFile = "/proc/sys/kernel/perf_event_paranoid";

/// What the kernel's setting of who may count what is; nothing where it cannot be read.
std::optional<int> read_paranoid(const std::string& file = kParanoidFile);

/// Why perf_event_open(2) failed with `error`, and what to do, as the end of a line. `in_kernel`: the event
/// happens in the kernel only. `paranoid` as read_paranoid gives it.
std::string explain_refusal(int error, bool in_kernel, std::optional<int> paranoid);

}  // namespace culprit::launcher
