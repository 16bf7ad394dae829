// MPI calls by call path, from what wrappers count in processes without a trace, and added up over threads
// and ranks. Time is that of the samples in each call. Cost: linear in a thread's accumulators and in the
// contexts where it has time.
#include "merge/values/call_traffic.hpp"

#include "exchange/message_exchange.hpp"
#include "merge/values/transfer_work.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace culprit::merge {
namespace {

using database::ContextId;
using measurement::Epoch;
using measurement::EpochKind;

bool counts_calls(const Epoch& epoch) {
  return epoch.kind == EpochKind::call_count && epoch.count != 0;
}

/// The calls at one context whose lengths were taken.
struct Followed {
  std::uint64_t calls = 0, longest_ns = 0;
};

/// Sets the longest call where none was left out. Files of version 0.1.0 do not have it.
void set_longest(database::CallTraffic& call, const std::map<ContextId, Followed>& followed) {
  const auto found = followed.find(call.context);
  if (found != followed.end() && found->second.calls >= call.calls)
    call.longest_ns = found->second.longest_ns;
}

}  // namespace

const std::vector<std::string>& call_metrics() {
  static const std::vector<std::string> names = {"calls", "bytes-sent", "bytes-received"};
  return names;
}

void CallTraffic::add(const database::CallTraffic& call) {
  const auto [entry, fresh] = calls_.try_emplace(call.context, call);
  if (fresh) return;
  database::CallTraffic& into = entry->second;
  const auto busiest = [](const database::CallTraffic& one) {
    return std::pair(one.busiest_ns, ~one.busiest);
  };
  if (busiest(call) > busiest(into)) {
    into.busiest = call.busiest;
    into.busiest_ns = call.busiest_ns;
  }
  if (call.messages != 0) {
    into.smallest = into.messages == 0 ? call.smallest : std::min(into.smallest, call.smallest);
    into.largest = std::max(into.largest, call.largest);
  }
  into.threads += call.threads;
  into.calls += call.calls;
  into.ns += call.ns;
  const bool known = into.longest_ns != 0 && call.longest_ns != 0;
  into.longest_ns = known ? std::max(into.longest_ns, call.longest_ns) : 0;
  into.messages += call.messages;
  into.message_bytes += call.message_bytes;
  into.sent_bytes += call.sent_bytes;
  into.received_bytes += call.received_bytes;
}

std::vector<database::CallTraffic> CallTraffic::gather(exchange::Communicator& comm) const {
  std::vector<database::CallTraffic> own;
  own.reserve(calls_.size());
  for (const auto& [context, call] : calls_) own.push_back(call);
  CallTraffic all;
  for (const database::CallTraffic& call :
       exchange::items_at_root(comm, std::span<const database::CallTraffic>(own)))
    all.add(call);
  std::vector<database::CallTraffic> list;
  for (const auto& [context, call] : all.calls_) list.push_back(call);
  std::ranges::stable_sort(list, std::ranges::greater(), &database::CallTraffic::ns);
  return list;
}

bool has_counted_calls(const measurement::ThreadProfile& thread) {
  return std::ranges::any_of(thread.epochs, counts_calls);
}

std::vector<CountedCalls> counted_calls(const measurement::ThreadProfile& thread) {
  std::vector<CountedCalls> list;
  for (const Epoch& epoch : thread.epochs) {
    if (counts_calls(epoch))
      list.push_back(
          {.node = epoch.node, .calls = epoch.count, .sent = epoch.total_ns, .received = epoch.least_ns});
  }
  return list;
}

void add_counted_calls(CallTraffic& traffic, const Shape& shape, const TimedThread& of) {
  const auto call_at = [&](ContextId context) {
    const ContextId frontier = frontier_of(shape, context);
    return frontier == database::kNone ? context : frontier;
  };
  std::map<ContextId, database::CallTraffic> calls;
  std::map<ContextId, Followed> followed;
  for (const Epoch& epoch : of.thread.epochs) {
    if (!counts_calls(epoch) && epoch.kind != EpochKind::waiting_call) continue;
    const ContextId context = call_at(context_of(shape, of.thread, of.united, epoch.node));
    if (epoch.kind == EpochKind::waiting_call) {
      Followed& at = followed[context];
      at.calls += epoch.count;
      at.longest_ns = std::max(at.longest_ns, epoch.window);
      continue;
    }
    database::CallTraffic& call = calls[context];
    call.context = context;
    if (epoch.window != 0) {
      call.smallest =
          call.messages == 0 ? epoch.size_class : std::min<std::uint64_t>(call.smallest, epoch.size_class);
      call.largest = std::max(call.largest, epoch.peers);
    }
    call.calls += epoch.count;
    call.messages += epoch.window;
    call.message_bytes += static_cast<std::uint64_t>(std::min(epoch.squares, 9e18));
    call.sent_bytes += epoch.total_ns;
    call.received_bytes += epoch.least_ns;
  }
  for (std::size_t i = 0; i < of.contexts.size(); ++i) {
    if (of.time[i] == 0) continue;
    const auto found = calls.find(call_at(of.contexts[i]));
    if (found != calls.end()) found->second.ns += of.time[i];
  }
  for (auto& [context, call] : calls) {
    set_longest(call, followed);
    call.threads = 1;
    call.busiest = of.location;
    call.busiest_ns = call.ns;
    traffic.add(call);
  }
}

}  // namespace culprit::merge
