#include "merge/diagnose.hpp"

#include "cct/message.hpp"
#include "merge/shape.hpp"
#include "merge/together.hpp"

#include <algorithm>
#include <exception>
#include <string>

namespace culprit::merge {
namespace {

using database::ContextId;
using Lists = std::vector<std::vector<database::Value>>;

constexpr int kAskTag = 202;
constexpr int kAnswerTag = 203;

/// Inclusive work (REALTIME − idleness) of one context, by location: what this rank holds.
std::vector<std::uint64_t> work_of(const std::vector<database::Value>& values, std::size_t locations) {
  std::vector<std::uint64_t> work(locations, 0);
  for (const database::Value& value : values) {
    if (value.metric == Columns::kRealtime) work.at(value.index) += value.value;
  }
  for (const database::Value& value : values) {
    if (value.metric == Columns::kIdleness) work.at(value.index) -= value.value;
  }
  return work;
}

/// Ranks other than 0: answer what rank 0 asks until it asks for kNone. An answer is the context's values.
void serve(exchange::Communicator& comm, ContextId begin, const Lists& mine) {
  while (true) {
    const exchange::Bytes question = comm.receive(0, kAskTag);
    const auto context = cct::MessageReader(question).value<ContextId>();
    if (context == database::kNone) return;
    cct::MessageWriter answer;
    answer.values(mine.at(context - begin));
    comm.send(0, kAnswerTag, answer.take());
  }
}

/// Rank 0: gets the per-thread work of any context from the rank that holds it.
class WorkByOwner {
 public:
  WorkByOwner(exchange::Communicator& comm, const std::vector<ContextId>& ranges, const Lists& mine,
              std::size_t locations)
      : comm_(comm), ranges_(ranges), mine_(mine), locations_(locations) {}

  std::vector<std::uint64_t> operator()(ContextId context) {
    const auto after = std::ranges::upper_bound(ranges_, context);
    const auto owner = static_cast<int>(after - ranges_.begin()) - 1;
    if (owner == 0) return work_of(mine_.at(context), locations_);
    ask(owner, context);
    const exchange::Bytes answer = comm_.receive(owner, kAnswerTag);
    return work_of(cct::MessageReader(answer).values<database::Value>(), locations_);
  }

  void stop() {
    for (int rank = 1; rank < comm_.size(); ++rank) ask(rank, database::kNone);
  }

 private:
  void ask(int rank, ContextId context) {
    cct::MessageWriter question;
    question.value(context);
    comm_.send(rank, kAskTag, question.take());
  }

  exchange::Communicator& comm_;
  const std::vector<ContextId>& ranges_;
  const Lists& mine_;
  std::size_t locations_;
};

void diagnose_role(database::Experiment& experiment, std::uint32_t role, const RoleTotals& totals,
                   WorkByOwner& work, const blame::Options& options) {
  const blame::RoleView view{.threads = experiment.roles[role].threads,
                             .time = totals.time,
                             .idleness = totals.idleness,
                             .weight_sq = totals.weight_sq,
                             .blocked = totals.blocked};
  experiment.balance.push_back(blame::test_balance(experiment.contexts, view, options));
  experiment.blame.push_back(blame::shift_blame(experiment.contexts, view, experiment.balance.back()));
  std::vector<std::uint32_t> locations;
  for (std::uint32_t l = 0; l < experiment.locations.size(); ++l) {
    if (experiment.locations[l].role == role) locations.push_back(l);
  }
  const blame::WorkOf work_in_role = [&](ContextId context) {
    const std::vector<std::uint64_t> all = work(context);
    std::vector<std::uint64_t> of_role;
    of_role.reserve(locations.size());
    for (const std::uint32_t l : locations) of_role.push_back(all[l]);
    return of_role;
  };
  const auto suspects = blame::find_suspects(experiment.contexts, role, view, experiment.blame.back(),
                                             locations, work_in_role, options);
  experiment.suspects.insert(experiment.suspects.end(), suspects.begin(), suspects.end());
}

}  // namespace

void diagnose(exchange::Communicator& comm, database::Experiment& experiment, const Summaries& summaries,
              const std::vector<ContextId>& ranges, const Lists& mine, const blame::Options& options) {
  std::exception_ptr failure;
  if (comm.rank() == 0) {
    WorkByOwner work(comm, ranges, mine, experiment.locations.size());
    blame::Options measured = options;
    if (experiment.run.period_ns != 0) measured.period_ns = experiment.run.period_ns;
    try {
      for (std::uint32_t role = 0; role < experiment.roles.size(); ++role) {
        diagnose_role(experiment, role, summaries.roles[role], work, measured);
      }
      std::ranges::stable_sort(experiment.suspects, std::ranges::greater(), &database::Suspect::explains_ns);
    } catch (const exchange::ExchangeError&) {
      throw;
    } catch (...) {
      failure = std::current_exception();
    }
    work.stop();
  } else {
    serve(comm, ranges[static_cast<std::size_t>(comm.rank())], mine);
  }
  together(comm, [&] {
    if (failure) std::rethrow_exception(failure);
  });
}

}  // namespace culprit::merge
