#pragma once

#include "database/database.hpp"
#include "exchange/communicator.hpp"
#include "merge/values/partition.hpp"
#include "waits/timeline/event.hpp"

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace culprit::merge {

/// What time lines show of one thread at one context.
struct TraceValue {
  std::uint32_t thread = 0;  ///< in the database
  database::ContextId context = 0;
  std::uint32_t metric = 0;  ///< of TraceValues::names
  std::uint64_t value = 0;   ///< in the metric's unit

  friend auto operator<=>(const TraceValue&, const TraceValue&) = default;  // NOLINT(modernize-use-nullptr)
};

/// Waits by pattern, direct and indirect ones, delay costs, the critical path, calls and bytes as metrics of
/// the threads that this rank accumulates.
struct TraceValues {
  std::vector<std::string> names;             ///< of what occurs in the run; the same on every rank
  std::vector<database::ContextId> contexts;  ///< that any thread has values at, ascending; likewise
  std::vector<TraceValue> values;             ///< in order

  [[nodiscard]] std::span<const TraceValue> of(std::uint32_t thread) const;
};

/// What a metric of these names means, for the user.
std::string describe_trace_metric(const std::string& name);
/// Of such a metric: `ns`, `count` or `bytes`.
std::string unit_of_trace_metric(const std::string& name);

/// Gathers them from what the analyses found, wherever it lies.
class TraceValueCollector {
 public:
  /// `threads`: of each time line, its thread in the database, on every rank.
  TraceValueCollector(const Partition& partition, std::span<const std::uint32_t> threads)
      : partition_(partition), threads_(threads) {}

  void add_wait(waits::Location location, database::ContextId context, metrics::WaitPattern pattern,
                std::uint64_t ns);
  /// Of waits, parts and completions left out: whose delayer did not itself wait, and what its waits passed
  /// on.
  void add_direct(waits::Location location, database::ContextId context, std::uint64_t direct_ns,
                  std::uint64_t indirect_ns);
  void add_cost(waits::Location location, database::ContextId context, std::uint64_t short_term_ns,
                std::uint64_t long_term_ns);
  void add_critical(waits::Location location, database::ContextId context, std::uint64_t ns);
  void add_calls(waits::Location location, database::ContextId context, std::uint64_t calls,
                 std::uint64_t bytes_sent, std::uint64_t bytes_received);

  /// Collective: every rank gets those of the threads that it accumulates.
  TraceValues take(exchange::Communicator& comm);

 private:
  void add(waits::Location location, database::ContextId context, std::uint32_t metric, std::uint64_t value);

  const Partition& partition_;
  std::span<const std::uint32_t> threads_;
  std::vector<std::pair<int, TraceValue>> found_;  // with the rank that is to have it
};

}  // namespace culprit::merge
