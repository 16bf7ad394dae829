// Combines all ranks' accumulators (docs/algorithms.md 2, 16): each rank of the analysis gets a range of
// contexts from all others, combines it, and rank 0 gathers the ranges; the sums of the balance test go along
// a binomial tree. Exact, so the partition does not show. Sent: at most 72 bytes per group and metric that
// occurs (docs/scaling.md).
#include "merge/diagnosis/summarize.hpp"

#include "cct/message.hpp"

#include <utility>

namespace culprit::merge {
namespace {

using database::ContextId;
using metrics::Accumulator;

constexpr int kSpreadTag = 202;

/// A non-empty accumulator on its way. Plain: no padding.
struct Entry {
  std::uint32_t role = 0, index = 0;
  std::uint64_t observers = 0, sum_low = 0, sum_high = 0, square_low = 0, square_high = 0, min = 0, max = 0;
};

/// The two sums that only the balance test needs, of one group itself.
struct Spread {
  std::uint32_t role = 0, group = 0;
  std::uint64_t weight_sq_low = 0, weight_sq_high = 0, blocked = 0, covered_low = 0, covered_high = 0;
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

Entry to_entry(std::uint32_t role, std::uint32_t index, const Accumulator& a) {
  return {.role = role,
          .index = index,
          .observers = a.observers,
          .sum_low = low(a.sum),
          .sum_high = high(a.sum),
          .square_low = low(a.sum_of_squares),
          .square_high = high(a.sum_of_squares),
          .min = a.min,
          .max = a.max};
}

Accumulator to_accumulator(const Entry& e) {
  return {.observers = e.observers,
          .sum = whole(e.sum_low, e.sum_high),
          .sum_of_squares = whole(e.square_low, e.square_high),
          .min = e.min,
          .max = e.max};
}

using Sums = std::vector<Accumulator> RoleSums::*;

/// Collective: reduces one kind of sums, `size` per role, by ranges; all of it on rank 0.
void reduce(exchange::Communicator& comm, std::vector<RoleSums>& roles, Sums kind, std::size_t size) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto begin_of = [&](std::size_t rank) { return size * rank / ranks; };
  std::vector<exchange::Bytes> outgoing;
  std::vector<Entry> entries;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    entries.clear();
    for (std::uint32_t role = 0; role < roles.size(); ++role) {
      const std::vector<Accumulator>& sums = roles[role].*kind;
      for (std::size_t i = begin_of(rank); i < begin_of(rank + 1) && !sums.empty(); ++i) {
        if (sums[i].observers != 0) entries.push_back(to_entry(role, static_cast<std::uint32_t>(i), sums[i]));
      }
    }
    cct::MessageWriter message;
    message.values(entries);
    outgoing.push_back(message.take());
  }
  const std::size_t begin = begin_of(static_cast<std::size_t>(comm.rank()));
  const std::size_t width = begin_of(static_cast<std::size_t>(comm.rank()) + 1) - begin;
  std::vector<Accumulator> mine(roles.size() * width);
  for (const exchange::Bytes& bytes : comm.all_to_all(std::move(outgoing))) {
    for (const Entry& e : cct::MessageReader(bytes).values<Entry>())
      mine.at(e.role * width + e.index - begin).combine(to_accumulator(e));
  }
  entries.clear();
  for (std::size_t at = 0; at < mine.size(); ++at) {
    if (mine[at].observers == 0) continue;
    entries.push_back(to_entry(static_cast<std::uint32_t>(at / width),
                               static_cast<std::uint32_t>(begin + at % width), mine[at]));
  }
  cct::MessageWriter message;
  message.values(entries);
  for (RoleSums& role : roles) role.*kind = {};
  for (const exchange::Bytes& bytes : comm.gather(message.take(), 0)) {
    for (const Entry& e : cct::MessageReader(bytes).values<Entry>()) {
      std::vector<Accumulator>& sums = roles.at(e.role).*kind;
      sums.resize(size);
      sums.at(e.index) = to_accumulator(e);
    }
  }
}

std::vector<Spread> list_spreads(const std::vector<RoleSums>& roles) {
  std::vector<Spread> spreads;
  for (std::uint32_t role = 0; role < roles.size(); ++role) {
    for (std::uint32_t g = 0; g < roles[role].weight_sq.size(); ++g) {
      const metrics::Uint128 weight_sq = roles[role].weight_sq[g];
      const std::uint64_t blocked = roles[role].blocked[g];
      const metrics::Uint128 covered = roles[role].covered[g];
      if (weight_sq == 0 && blocked == 0 && covered == 0) continue;
      spreads.push_back({.role = role,
                         .group = g,
                         .weight_sq_low = low(weight_sq),
                         .weight_sq_high = high(weight_sq),
                         .blocked = blocked,
                         .covered_low = low(covered),
                         .covered_high = high(covered)});
    }
  }
  return spreads;
}

/// Collective: reduces the sums of the balance test along a tree; all of them on rank 0.
void reduce_spreads(exchange::Communicator& comm, std::vector<RoleSums>& roles, std::size_t groups) {
  for (RoleSums& role : roles) {
    role.weight_sq.resize(groups);
    role.blocked.resize(groups);
    role.covered.resize(groups);
  }
  exchange::reduce_tree(
      comm, roles, kSpreadTag,
      [](const std::vector<RoleSums>& value) {
        cct::MessageWriter message;
        message.values(list_spreads(value));
        return message.take();
      },
      [](const exchange::Bytes& bytes) { return cct::MessageReader(bytes).values<Spread>(); },
      [](std::vector<RoleSums>& into, const std::vector<Spread>& from) {
        for (const Spread& spread : from) {
          RoleSums& role = into.at(spread.role);
          role.weight_sq.at(spread.group) += whole(spread.weight_sq_low, spread.weight_sq_high);
          role.blocked.at(spread.group) += spread.blocked;
          role.covered.at(spread.group) += whole(spread.covered_low, spread.covered_high);
        }
      });
}

/// Row `row` of `sums` at one metric; nothing where there are no sums.
Accumulator at(const std::vector<Accumulator>& sums, std::size_t row, std::size_t metric,
               std::size_t metrics) {
  return sums.empty() ? Accumulator{} : sums[row * metrics + metric];
}

/// What the groups and rows show about each context.
database::Summary context_summary(const RoleSums& sums, const Plan& plan, std::size_t metric,
                                  std::size_t metrics) {
  database::Summary summary;
  for (std::uint32_t x = 0; x < plan.group_of.size(); ++x) {
    database::SummaryEntry entry{
        .scope = x, .inclusive = at(sums.inclusive, plan.group_of[x], metric, metrics), .exclusive = {}};
    if (entry.inclusive.observers == 0) continue;
    if (plan.exclusive_group[x] != database::kNone) {
      entry.exclusive = at(sums.inclusive, plan.exclusive_group[x], metric, metrics);
    } else if (plan.exclusive_row[x] != database::kNone) {
      entry.exclusive = at(sums.exclusive, plan.exclusive_row[x], metric, metrics);
    }
    summary.entries.push_back(entry);
  }
  return summary;
}

database::Summary flat_summary(const RoleSums& sums, const Plan& plan, std::size_t metric,
                               std::size_t metrics) {
  database::Summary summary;
  for (std::uint32_t f = 0; f < plan.flat_leaf.size(); ++f) {
    database::SummaryEntry entry{
        .scope = f, .inclusive = {}, .exclusive = at(sums.flat_exclusive, f, metric, metrics)};
    entry.inclusive = plan.flat_leaf[f] != 0 ? entry.exclusive : at(sums.flat_inclusive, f, metric, metrics);
    if (entry.inclusive.observers != 0 || entry.exclusive.observers != 0) summary.entries.push_back(entry);
  }
  return summary;
}

/// Each group's sums of the balance test become those of all below it, too.
void sum_up(RoleSums& sums, const Plan& plan) {
  for (std::size_t group = plan.groups(); group-- > 1;) {
    const std::uint32_t parent = plan.group_parent[group];
    sums.weight_sq[parent] += sums.weight_sq[group];
    sums.blocked[parent] += sums.blocked[group];
  }
}

/// Adds the accumulators of the threads that lived briefly, which are of no more use, to those of the others.
void combine(RoleSums& compared, RoleSums& brief) {
  for (const Sums kind :
       {&RoleSums::inclusive, &RoleSums::exclusive, &RoleSums::flat_inclusive, &RoleSums::flat_exclusive}) {
    std::vector<Accumulator>& into = compared.*kind;
    if (into.empty()) into.swap(brief.*kind);
    for (std::size_t i = 0; i < (brief.*kind).size(); ++i) into[i].combine((brief.*kind)[i]);
  }
}

RoleTotals totals_of(const RoleSums& sums, const Plan& plan, std::size_t metrics) {
  RoleTotals totals;
  for (const std::uint32_t group : plan.group_of) {
    totals.time.push_back(at(sums.inclusive, group, Columns::kRealtime, metrics));
    totals.idleness.push_back(at(sums.inclusive, group, Columns::kIdleness, metrics));
    totals.weight_sq.push_back(sums.weight_sq[group]);
    totals.blocked.push_back(sums.blocked[group]);
    totals.covered.push_back(sums.covered[group]);
  }
  return totals;
}

}  // namespace

Summaries summarize(exchange::Communicator& comm, const Shape& shape, const Plan& plan,
                    std::vector<RoleSums>& roles) {
  const std::size_t metrics = shape.columns.metrics();
  reduce(comm, roles, &RoleSums::inclusive, plan.groups() * metrics);
  reduce(comm, roles, &RoleSums::exclusive, plan.exclusive_rows * metrics);
  reduce(comm, roles, &RoleSums::flat_inclusive, shape.flat.size() * metrics);
  reduce(comm, roles, &RoleSums::flat_exclusive, shape.flat.size() * metrics);
  reduce_spreads(comm, roles, plan.groups());
  Summaries result;
  if (comm.rank() != 0) return result;
  const std::size_t count = roles.size() / 2;
  for (std::uint32_t role = 0; role < count; ++role) {
    sum_up(roles[role], plan);
    result.roles.push_back(totals_of(roles[role], plan, metrics));
    if (RoleSums& brief = roles[count + role]; !brief.inclusive.empty()) {
      combine(roles[role], brief);
      for (const std::uint32_t group : plan.group_of) {
        result.roles.back().with_brief.push_back(
            at(roles[role].inclusive, group, Columns::kIdleness, metrics));
      }
    }
    for (std::uint32_t m = 0; m < metrics; ++m) {
      result.contexts.push_back(context_summary(roles[role], plan, m, metrics));
      result.flat.push_back(flat_summary(roles[role], plan, m, metrics));
      result.contexts.back().role = result.flat.back().role = role;
      result.contexts.back().metric = result.flat.back().metric = m;
    }
    roles[role] = {};
  }
  return result;
}

}  // namespace culprit::merge
