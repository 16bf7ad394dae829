#include "findings/mpi_calls.hpp"

#include "text/shorten.hpp"
#include "views/column.hpp"
#include "views/frame.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

namespace culprit::viewer {
namespace {

using database::CallTraffic;
using database::ContextId;

/// The threads that made calls at these contexts.
std::vector<std::uint32_t> callers_of(const views::Figures& figures, std::vector<ContextId> contexts) {
  std::vector<std::uint32_t> locations;
  const std::optional<std::uint32_t> metric = views::metric_named(figures.experiment(), "calls");
  if (!metric) return locations;
  std::ranges::sort(contexts);
  const std::vector<std::uint64_t> values = figures.per_thread(contexts, *metric, true);
  for (std::uint32_t location = 0; location < values.size(); ++location) {
    if (values[location] != 0) locations.push_back(location);
  }
  return locations;
}

}  // namespace

bool counted_without_trace(const database::Contents& experiment) {
  return experiment.trace().traced == 0 && !experiment.communication().calls.empty();
}

std::string mpi_call_name(const database::Contents& experiment, ContextId context) {
  if (experiment.contexts[context].kind == database::ContextKind::root) return "further call paths";
  return without_parameters(label(views::frame_of(experiment, experiment.contexts[context])));
}

std::vector<MpiCall> mpi_calls(const views::Figures& figures) {
  const database::Contents& experiment = figures.experiment();
  std::map<std::string, MpiCall> by_name;
  std::map<std::string, std::vector<ContextId>> contexts;
  for (const CallTraffic& call : experiment.communication().calls) {
    const std::string name = mpi_call_name(experiment, call.context);
    MpiCall& sum = by_name[name];
    sum.name = name;
    sum.calls += call.calls;
    sum.messages += call.messages;
    sum.bytes += call.message_bytes;
    sum.sent += call.sent_bytes;
    sum.received += call.received_bytes;
    sum.ns += call.ns;
    sum.longest_ns = std::max(sum.longest_ns, call.longest_ns);
    if (call.context != 0) contexts[name].push_back(call.context);
  }
  std::vector<MpiCall> list;
  for (auto& [name, call] : by_name) {
    if (const auto places = contexts.find(name); places != contexts.end())
      call.locations = callers_of(figures, std::move(places->second));
    list.push_back(std::move(call));
  }
  std::ranges::stable_sort(list, std::ranges::greater(), &MpiCall::ns);
  return list;
}

}  // namespace culprit::viewer
