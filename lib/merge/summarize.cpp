#include "merge/summarize.hpp"

#include "cct/message.hpp"
#include "merge/context_values.hpp"

namespace culprit::merge {
namespace {

using database::ContextId;
using metrics::Accumulator;

/// One non-empty pair of accumulators on its way. Plain: no padding.
struct Entry {
  std::uint32_t role = 0, metric = 0, scope = 0, unused = 0;
  struct Sum {
    std::uint64_t observers = 0, sum_low = 0, sum_high = 0, square_low = 0, square_high = 0, min = 0, max = 0;
  } inclusive, exclusive;
};

/// The two sums that only the balance test needs, of one context.
struct Spread {
  std::uint32_t role = 0, scope = 0;
  std::uint64_t weight_sq_low = 0, weight_sq_high = 0, blocked = 0;
};

constexpr std::uint64_t low(metrics::Uint128 value) {
  return static_cast<std::uint64_t>(value);
}
constexpr std::uint64_t high(metrics::Uint128 value) {
  return static_cast<std::uint64_t>(value >> 64);
}
constexpr metrics::Uint128 whole(std::uint64_t low_part, std::uint64_t high_part) {
  return (metrics::Uint128{high_part} << 64) | low_part;
}

Entry::Sum to_sum(const Accumulator& a) {
  return {.observers = a.observers,
          .sum_low = low(a.sum),
          .sum_high = high(a.sum),
          .square_low = low(a.sum_of_squares),
          .square_high = high(a.sum_of_squares),
          .min = a.min,
          .max = a.max};
}

Accumulator to_accumulator(const Entry::Sum& s) {
  return {.observers = s.observers,
          .sum = whole(s.sum_low, s.sum_high),
          .sum_of_squares = whole(s.square_low, s.square_high),
          .min = s.min,
          .max = s.max};
}

/// The non-empty accumulators of one role in rows [begin, end), which are those of scopes from `first_scope`
/// on.
void list_entries(const Sums& sums, std::uint32_t role, std::size_t metrics, std::size_t begin,
                  std::size_t end, std::size_t first_scope, std::vector<Entry>& entries) {
  for (std::size_t row = begin; row < end; ++row) {
    for (std::size_t m = 0; m < metrics; ++m) {
      const Accumulator& inclusive = sums.inclusive[row * metrics + m];
      const Accumulator& exclusive = sums.exclusive[row * metrics + m];
      if (inclusive.observers == 0 && exclusive.observers == 0) continue;
      entries.push_back({.role = role,
                         .metric = static_cast<std::uint32_t>(m),
                         .scope = static_cast<std::uint32_t>(first_scope + row - begin),
                         .inclusive = to_sum(inclusive),
                         .exclusive = to_sum(exclusive)});
    }
  }
}

/// One rank's accumulators over a range of scopes, all roles: what it combines and hands on.
class RangeSums {
 public:
  RangeSums(std::size_t roles, std::size_t metrics, std::size_t begin, std::size_t end)
      : roles_(roles),
        metrics_(metrics),
        begin_(begin),
        scopes_(end - begin),
        sums_(roles * scopes_ * metrics) {}

  void combine(const Entry& entry) {
    const std::size_t at = (entry.role * scopes_ + entry.scope - begin_) * metrics_ + entry.metric;
    sums_.inclusive.at(at).combine(to_accumulator(entry.inclusive));
    sums_.exclusive.at(at).combine(to_accumulator(entry.exclusive));
  }

  [[nodiscard]] std::vector<Entry> entries() const {
    std::vector<Entry> all;
    for (std::size_t role = 0; role < roles_; ++role) {
      list_entries(sums_, static_cast<std::uint32_t>(role), metrics_, role * scopes_, (role + 1) * scopes_,
                   begin_, all);
    }
    return all;
  }

 private:
  std::size_t roles_, metrics_, begin_, scopes_;
  Sums sums_;
};

using SumsOfRole = const Sums& (*)(const RoleSums&);

/// Collective: reduces one kind of scopes by ranges; rank 0 gets all entries, by range, then (role, scope,
/// metric).
std::vector<Entry> reduce_entries(exchange::Communicator& comm, const std::vector<RoleSums>& roles,
                                  SumsOfRole sums, std::size_t scopes, std::size_t metrics) {
  const auto ranges = context_ranges(scopes, comm.size());
  std::vector<exchange::Bytes> outgoing;
  for (std::size_t rank = 0; rank + 1 < ranges.size(); ++rank) {
    std::vector<Entry> entries;
    for (std::uint32_t role = 0; role < roles.size(); ++role) {
      if (!roles[role].used()) continue;
      list_entries(sums(roles[role]), role, metrics, ranges[rank], ranges[rank + 1], ranges[rank], entries);
    }
    cct::MessageWriter message;
    message.values(entries);
    outgoing.push_back(message.take());
  }
  const auto here = static_cast<std::size_t>(comm.rank());
  RangeSums mine(roles.size(), metrics, ranges[here], ranges[here + 1]);
  for (const exchange::Bytes& bytes : comm.all_to_all(std::move(outgoing))) {
    for (const Entry& entry : cct::MessageReader(bytes).values<Entry>()) mine.combine(entry);
  }
  cct::MessageWriter message;
  message.values(mine.entries());
  std::vector<Entry> all;
  for (const exchange::Bytes& bytes : comm.gather(message.take(), 0)) {
    const auto part = cct::MessageReader(bytes).values<Entry>();
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::vector<database::Summary> by_role_and_metric(const std::vector<Entry>& entries, std::size_t roles,
                                                  std::size_t metrics) {
  std::vector<database::Summary> summaries(roles * metrics);
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    summaries[i].role = static_cast<std::uint32_t>(i / metrics);
    summaries[i].metric = static_cast<std::uint32_t>(i % metrics);
  }
  for (const Entry& entry : entries) {
    summaries[entry.role * metrics + entry.metric].entries.push_back(
        {.scope = entry.scope,
         .inclusive = to_accumulator(entry.inclusive),
         .exclusive = to_accumulator(entry.exclusive)});
  }
  return summaries;
}

std::vector<Spread> gather_spreads(exchange::Communicator& comm, const std::vector<RoleSums>& roles) {
  std::vector<Spread> spreads;
  for (std::uint32_t role = 0; role < roles.size(); ++role) {
    for (std::uint32_t x = 0; x < roles[role].weight_sq.size(); ++x) {
      const metrics::Uint128 weight_sq = roles[role].weight_sq[x];
      const std::uint64_t blocked = roles[role].blocked[x];
      if (weight_sq == 0 && blocked == 0) continue;
      spreads.push_back({.role = role,
                         .scope = x,
                         .weight_sq_low = low(weight_sq),
                         .weight_sq_high = high(weight_sq),
                         .blocked = blocked});
    }
  }
  cct::MessageWriter message;
  message.values(spreads);
  std::vector<Spread> all;
  for (const exchange::Bytes& bytes : comm.gather(message.take(), 0)) {
    const auto part = cct::MessageReader(bytes).values<Spread>();
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

RoleTotals totals_of(const std::vector<database::Summary>& summaries, std::uint32_t role,
                     const Shape& shape) {
  const std::size_t contexts = shape.contexts.size();
  RoleTotals totals{.time = std::vector<Accumulator>(contexts),
                    .idleness = std::vector<Accumulator>(contexts),
                    .weight_sq = std::vector<metrics::Uint128>(contexts),
                    .blocked = std::vector<std::uint64_t>(contexts)};
  const std::size_t first = role * shape.columns.metrics();
  for (const auto& entry : summaries[first + Columns::kRealtime].entries)
    totals.time[entry.scope] = entry.inclusive;
  for (const auto& entry : summaries[first + Columns::kIdleness].entries) {
    totals.idleness[entry.scope] = entry.inclusive;
  }
  return totals;
}

}  // namespace

Summaries summarize(exchange::Communicator& comm, const Shape& shape, const std::vector<RoleSums>& roles) {
  const std::size_t metrics = shape.columns.metrics();
  const auto contexts = reduce_entries(
      comm, roles, [](const RoleSums& r) -> const Sums& { return r.contexts; }, shape.contexts.size(),
      metrics);
  const auto flat = reduce_entries(
      comm, roles, [](const RoleSums& r) -> const Sums& { return r.flat; }, shape.flat.size(), metrics);
  const std::vector<Spread> spreads = gather_spreads(comm, roles);
  Summaries result;
  if (comm.rank() != 0) return result;
  result.contexts = by_role_and_metric(contexts, roles.size(), metrics);
  result.flat = by_role_and_metric(flat, roles.size(), metrics);
  for (std::uint32_t role = 0; role < roles.size(); ++role) {
    result.roles.push_back(totals_of(result.contexts, role, shape));
  }
  for (const Spread& spread : spreads) {
    result.roles[spread.role].weight_sq[spread.scope] += whole(spread.weight_sq_low, spread.weight_sq_high);
    result.roles[spread.role].blocked[spread.scope] += spread.blocked;
  }
  return result;
}

}  // namespace culprit::merge
