// Makes metrics of what the time lines show at each context and thread (docs/algorithms.md 7, 8): waits by
// pattern, direct and indirect waiting, delay costs, the critical path, calls and bytes. They are summed and
// shown as sampled metrics are. Each value goes to the rank of the analysis that accumulates its thread. All
// ranks get the metrics and contexts that occur anywhere, and so the same columns. Cost: a sort of the values
// before and after one all-to-all exchange.
#include "merge/values/trace_values.hpp"

#include "exchange/message_exchange.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>
#include <utility>

namespace culprit::merge {
namespace {

using metrics::WaitPattern;

// Metrics are numbered: the patterns, then these.
constexpr std::uint32_t kDirect = metrics::kWaitPatterns, kIndirect = kDirect + 1, kShortTerm = kIndirect + 1,
                        kLongTerm = kShortTerm + 1, kCritical = kLongTerm + 1, kCalls = kCritical + 1,
                        kBytesSent = kCalls + 1, kBytesReceived = kBytesSent + 1,
                        kMetrics = kBytesReceived + 1;
constexpr const char* kDirectName = "direct-wait";
constexpr const char* kIndirectName = "indirect-wait";
constexpr const char* kShortTermName = "delay-cost-short";
constexpr const char* kLongTermName = "delay-cost-long";
constexpr const char* kCriticalName = "critical-path";
constexpr const char* kCallsName = "calls";
constexpr const char* kSentName = "bytes-sent";
constexpr const char* kReceivedName = "bytes-received";

std::string name_of_metric(std::uint32_t metric) {
  switch (metric) {
    case kDirect:
      return kDirectName;
    case kIndirect:
      return kIndirectName;
    case kShortTerm:
      return kShortTermName;
    case kLongTerm:
      return kLongTermName;
    case kCritical:
      return kCriticalName;
    case kCalls:
      return kCallsName;
    case kBytesSent:
      return kSentName;
    case kBytesReceived:
      return kReceivedName;
    default:
      return std::string(metrics::name_of(static_cast<WaitPattern>(metric)));
  }
}

WaitPattern pattern_named(const std::string& name) {
  for (std::size_t pattern = 0; pattern < metrics::kWaitPatterns; ++pattern) {
    if (metrics::name_of(static_cast<WaitPattern>(pattern)) == name) return static_cast<WaitPattern>(pattern);
  }
  return WaitPattern::none;
}

/// Sorted, what has the same place and metric added up.
void add_up(std::vector<TraceValue>& values) {
  std::ranges::sort(values);
  const auto place = [](const TraceValue& value) {
    return std::tuple(value.thread, value.context, value.metric);
  };
  std::size_t kept = 0;
  for (const TraceValue& value : values) {
    if (kept > 0 && place(values[kept - 1]) == place(value)) {
      values[kept - 1].value += value.value;
    } else {
      values[kept++] = value;
    }
  }
  values.resize(kept);
}

/// Collective: those of all ranks, ascending, each once.
std::vector<std::uint32_t> united(exchange::Communicator& comm, std::vector<std::uint32_t> own) {
  const auto unique = [](std::vector<std::uint32_t>& numbers) {
    std::ranges::sort(numbers);
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  };
  unique(own);
  std::vector<std::uint32_t> all = exchange::items_of_all<std::uint32_t>(comm, own);
  unique(all);
  return all;
}

}  // namespace

std::span<const TraceValue> TraceValues::of(std::uint32_t thread) const {
  const auto first = std::ranges::lower_bound(values, thread, {}, &TraceValue::thread);
  const auto last = std::ranges::upper_bound(values, thread, {}, &TraceValue::thread);
  return {first, last};
}

std::string describe_trace_metric(const std::string& name) {
  if (name == kDirectName) return "From time lines: waiting for ranks that did not themselves wait before.";
  if (name == kIndirectName)
    return "From time lines: waiting that came from the delaying ranks' own waits. With direct-wait: all "
           "waiting.";
  if (name == kShortTermName)
    return "From time lines: waiting of other ranks that this code caused directly, by taking longer.";
  if (name == kLongTermName)
    return "From time lines: waiting of other ranks that this code caused through those it kept waiting.";
  if (name == kCriticalName) return "From time lines: time on the critical path of the run.";
  if (name == kCallsName) return "MPI calls.";
  if (name == kSentName) return "Bytes that MPI calls sent.";
  if (name == kReceivedName) return "Bytes that arrived in MPI calls.";
  const WaitPattern pattern = pattern_named(name);
  const WaitPattern whole = metrics::container_of(pattern);
  if (whole != WaitPattern::none)
    return "From time lines: exact waiting time, a part of " + std::string(metrics::name_of(whole)) + '.';
  if (!metrics::is_whole_wait(pattern)) return "From time lines: time in a collective that all had entered.";
  return "From time lines: exact waiting time of this pattern.";
}

std::string unit_of_trace_metric(const std::string& name) {
  if (name == kCallsName) return "count";
  return name == kSentName || name == kReceivedName ? "bytes" : "ns";
}

void TraceValueCollector::add(waits::Location location, database::ContextId context, std::uint32_t metric,
                              std::uint64_t value) {
  if (value == 0) return;
  const std::uint32_t thread = threads_[location];
  found_.emplace_back(partition_.rank_of(thread),
                      TraceValue{.thread = thread, .context = context, .metric = metric, .value = value});
}

void TraceValueCollector::add_wait(waits::Location location, database::ContextId context, WaitPattern pattern,
                                   std::uint64_t ns) {
  add(location, context, static_cast<std::uint32_t>(pattern), ns);
}

void TraceValueCollector::add_direct(waits::Location location, database::ContextId context,
                                     std::uint64_t direct_ns, std::uint64_t indirect_ns) {
  add(location, context, kDirect, direct_ns);
  add(location, context, kIndirect, indirect_ns);
}

void TraceValueCollector::add_cost(waits::Location location, database::ContextId context,
                                   std::uint64_t short_term_ns, std::uint64_t long_term_ns) {
  add(location, context, kShortTerm, short_term_ns);
  add(location, context, kLongTerm, long_term_ns);
}

void TraceValueCollector::add_critical(waits::Location location, database::ContextId context,
                                       std::uint64_t ns) {
  add(location, context, kCritical, ns);
}

void TraceValueCollector::add_calls(waits::Location location, database::ContextId context,
                                    std::uint64_t calls, std::uint64_t bytes_sent,
                                    std::uint64_t bytes_received) {
  add(location, context, kCalls, calls);
  add(location, context, kBytesSent, bytes_sent);
  add(location, context, kBytesReceived, bytes_received);
}

TraceValues TraceValueCollector::take(exchange::Communicator& comm) {
  std::vector<std::vector<TraceValue>> boxes(static_cast<std::size_t>(comm.size()));
  for (const auto& [owner, value] : std::exchange(found_, {})) {
    boxes[static_cast<std::size_t>(owner)].push_back(value);
  }
  std::vector<exchange::Bytes> outgoing;
  for (std::vector<TraceValue>& box : boxes) {
    add_up(box);
    outgoing.push_back(exchange::bytes_of(std::span<const TraceValue>(box)));
  }
  TraceValues taken;
  for (const exchange::Bytes& bytes : comm.all_to_all(std::move(outgoing))) {
    const std::vector<TraceValue> part = exchange::items_of<TraceValue>(bytes);
    taken.values.insert(taken.values.end(), part.begin(), part.end());
  }
  add_up(taken.values);

  std::vector<std::uint32_t> metrics, contexts;
  for (const TraceValue& value : taken.values) {
    metrics.push_back(value.metric);
    contexts.push_back(value.context);
  }
  taken.contexts = united(comm, std::move(contexts));
  std::array<std::uint32_t, kMetrics> number{};
  for (const std::uint32_t metric : united(comm, std::move(metrics))) {
    number.at(metric) = static_cast<std::uint32_t>(taken.names.size());
    taken.names.push_back(name_of_metric(metric));
  }
  for (TraceValue& value : taken.values) value.metric = number.at(value.metric);
  return taken;
}

}  // namespace culprit::merge
