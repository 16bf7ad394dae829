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

}  // namespace culprit::launcher
