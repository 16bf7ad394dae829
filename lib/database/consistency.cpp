#include "database/consistency.hpp"

#include "database/format.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace culprit::database {
namespace {

void require(bool holds, const char* otherwise) {
  if (!holds) throw Inconsistent(otherwise);
}

void check_strings(const std::vector<std::string>& strings) {
  require(!strings.empty() && strings.front().empty(), "string 0 is not the empty string");
  const auto misplaced = std::ranges::adjacent_find(strings, std::greater_equal<>());
  require(misplaced == strings.end(), "strings are not sorted and unique");
}

/// Pre-order: every node lies within its parent, which is the innermost scope open at that place.
template <class Node>
void check_tree(const std::vector<Node>& nodes, const char* otherwise) {
  require(!nodes.empty() && nodes[0].parent == kNone && nodes[0].end == nodes.size(), otherwise);
  std::uint32_t open = 0;
  for (std::uint32_t i = 1; i < nodes.size(); ++i) {
    while (nodes[open].end <= i) open = nodes[open].parent;
    const Node& node = nodes[i];
    require(node.parent == open && node.end > i && node.end <= nodes[open].end, otherwise);
    open = i;
  }
}

template <class Node>
void check_names(const std::vector<Node>& nodes, std::size_t strings) {
  for (const Node& node : nodes) {
    require(node.name < strings && node.file < strings && node.module < strings,
            "a scope's string does not exist");
    require(node.kind <= ContextKind::region, "a scope is of unknown kind");
  }
}

void check_trees(const Experiment& e) {
  check_tree(e.contexts, "the contexts are no tree in pre-order");
  check_tree(e.flat, "the flat scopes are no tree in pre-order");
  check_names(e.contexts, e.strings.size());
  check_names(e.flat, e.strings.size());
  for (const Context& context : e.contexts) {
    require(context.flat == kNone || context.flat < e.flat.size(), "a context's flat scope does not exist");
    require(context.flags <= (kFrontier | kInWait | kMoves | kRunTime), "a context has unknown flags");
  }
}

void check_summaries(const Experiment& e, const std::vector<Summary>& summaries, std::size_t scopes) {
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    const Summary& summary = summaries[i];
    require(summary.role < e.roles.size() && summary.metric < e.metrics.size(),
            "a summary's role or metric does not exist");
    require(i == 0 || std::pair(summaries[i - 1].role, summaries[i - 1].metric) <
                          std::pair(summary.role, summary.metric),
            "summaries are out of order");
    require(std::ranges::adjacent_find(summary.entries, std::greater_equal<>(), &SummaryEntry::scope) ==
                    summary.entries.end() &&
                (summary.entries.empty() || summary.entries.back().scope < scopes),
            "a summary's scopes are out of order or do not exist");
  }
}

void check_blame(const Experiment& e, std::size_t locations) {
  require(e.balance.size() == e.roles.size(), "balance is not stated for every role");
  for (const std::vector<Balance>& of_role : e.balance) {
    require(of_role.size() == e.contexts.size(), "balance is not stated for every context");
    require(std::ranges::all_of(of_role, [](Balance b) { return b <= Balance::undecided; }),
            "a balance is of unknown kind");
  }
  require(e.blame.size() == e.roles.size(), "blame is not stated for every role");
  for (const std::vector<BlameRow>& rows : e.blame) {
    require(std::ranges::adjacent_find(rows, std::greater_equal<>(), &BlameRow::context) == rows.end() &&
                (rows.empty() || rows.back().context < e.contexts.size()),
            "rows of blame are out of order or of contexts that do not exist");
  }
  for (const Suspect& suspect : e.suspects) {
    require(suspect.role < e.roles.size() && suspect.balanced < e.contexts.size() &&
                suspect.suspect < e.contexts.size(),
            "a suspect's role or context does not exist");
    const auto is_context = [&](ContextId x) { return x < e.contexts.size(); };
    require(is_context(suspect.named) && std::ranges::all_of(suspect.scopes, is_context) &&
                std::ranges::all_of(suspect.explained, is_context, &Explained::balanced),
            "a suspect's scope does not exist");
    require(std::ranges::is_sorted(suspect.scopes, std::ranges::less_equal()),
            "a suspect's scopes are out of order");
    require(std::ranges::all_of(suspect.locations, [=](std::uint32_t l) { return l < locations; }),
            "a suspect's location does not exist");
  }
}

void check_waits(const Experiment& e, std::size_t locations) {
  const auto one_of = [](std::uint32_t index, std::size_t count) { return index == kNone || index < count; };
  for (const Wait& wait : e.waits) {
    require(wait.location < locations && wait.context < e.contexts.size() &&
                one_of(wait.cause_location, locations) && one_of(wait.cause_context, e.contexts.size()),
            "a wait's location or context does not exist");
    require(wait.direct_ns.value_or(0) <= wait.ns, "a wait is direct for longer than it takes");
  }
}

/// Whether each segment has a value of each metric, and all a beginning or none.
bool has_values(const Variation::Row& row, std::size_t metrics) {
  const std::size_t segments = row.sos_ns.size();
  if (!row.begin_ns.empty() && (row.begin_ns.size() != segments || !std::ranges::is_sorted(row.begin_ns)))
    return false;
  return row.values.size() == (segments == 0 ? 0 : metrics) &&
         std::ranges::all_of(row.values, [=](const auto& values) { return values.size() == segments; }) &&
         (row.contexts.empty() || row.contexts.size() == row.values.size());
}

}  // namespace

bool is_sound(const TraceAnalyses& trace, std::size_t locations, std::size_t contexts, std::size_t metrics) {
  const auto somewhere = [=](ContextId context) { return context == kNone || context < contexts; };
  const bool causes = std::ranges::all_of(trace.causes, [=](const Cause& cause) {
    return cause.location < locations && cause.scope.context < contexts && somewhere(cause.waits_in);
  });
  const bool critical = std::ranges::all_of(trace.critical, [=](const CriticalScope& one) {
    return one.scope.context < contexts &&
           std::ranges::all_of(one.shares, [=](const auto& share) { return share.location < locations; });
  });
  const bool hotspots = std::ranges::all_of(trace.hotspots, [=](const Hotspot& hotspot) {
    return hotspot.location < locations && hotspot.waiter < locations && hotspot.context < contexts &&
           hotspot.waiter_context < contexts;
  });
  const bool variations = std::ranges::all_of(trace.variations, [&](const Variation& variation) {
    return somewhere(variation.context) &&
           std::ranges::all_of(variation.outliers,
                               [&](const Variation::Outlier& one) {
                                 return somewhere(one.context) &&
                                        (one.location == kNone || one.location < locations);
                               }) &&
           std::ranges::all_of(variation.rows, [&](const Variation::Row& row) {
             return has_values(row, trace.metrics.size()) &&
                    std::ranges::all_of(row.contexts, [&](const auto& of_metric) {
                      return of_metric.size() == row.sos_ns.size() &&
                             std::ranges::all_of(of_metric, somewhere);
                    });
           });
  });
  const bool known = std::ranges::all_of(trace.metrics, [=](std::uint32_t one) { return one < metrics; });
  const bool map = std::ranges::all_of(trace.time_map.rows, [&](const TimeMap::Row& row) {
    return std::ranges::all_of(row.contexts, somewhere);
  });
  return causes && critical && hotspots && variations && known && map &&
         trace.critical_begin_ns <= trace.critical_end_ns;
}

void check_consistency(const Experiment& e, const EachLocation& each_location) {
  check_strings(e.strings);
  check_trees(e);
  std::size_t locations = 0;
  each_location([&](const Location& location) {
    require(location.role < e.roles.size(), "a location's role does not exist");
    require(location.host.size() <= format::kMaxHostName, "a host's name is too long");
    ++locations;
  });
  check_summaries(e, e.context_summaries, e.contexts.size());
  check_summaries(e, e.flat_summaries, e.flat.size());
  check_blame(e, locations);
  check_waits(e, locations);
  require(is_sound(e.trace, locations, e.contexts.size(), e.metrics.size()),
          "results of time lines refer to something that does not exist");
  require(is_sound(e.machine, locations),
          "what is said of the machine refers to something that does not exist");
  require(is_sound(e.varying_gaps, e.roles.size(), e.contexts.size()),
          "gaps that vary refer to something that does not exist");
  require(is_sound(e.communication, locations, e.contexts.size()),
          "what MPI calls moved refers to something that does not exist");
  require(
      std::ranges::adjacent_find(e.sources, std::greater_equal<>(), &SourceFile::path) == e.sources.end() &&
          (e.sources.empty() || e.sources.back().path < e.strings.size()),
      "sources are out of order or their paths do not exist");
}

}  // namespace culprit::database
