#include "waits/procedure_sums.hpp"

#include "waits/letter.hpp"
#include "waits/recurrence.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace culprit::waits {

namespace {

constexpr std::uint32_t kNone = CallPaths::kNone;

/// This rank's sums, from one time line after the other.
class OwnSums {
 public:
  explicit OwnSums(const CallPaths& paths)
      : paths_(paths), returns_(paths), of_context_(paths.parent.size()) {}

  void add(const TimeLine& line);
  [[nodiscard]] std::vector<ProcedureSum> take();

 private:
  /// A procedure on a call path.
  struct Above {
    std::uint32_t procedure = kNone, frame = kNone;  ///< the outermost frame of it on the path
  };
  /// A procedure whose first MPI call path it is.
  struct First {
    std::uint32_t recurrences = 0;  ///< their number on this line
    std::uint32_t depth = 0;        ///< of the outermost frame
  };
  struct OfContext {
    std::uint64_t ns = 0;                     // in it, on all lines
    std::optional<std::vector<Above>> above;  // once asked for
    // On the line that is gone through:
    std::uint32_t line = 0;       // its number; of another one the rest means nothing
    std::uint64_t last_exit = 0;  // of its calls
    std::uint64_t last = 0;       // the number of its last call
    std::vector<First> firsts;
  };

  OfContext& of(std::uint32_t context) {
    if (context >= of_context_.size()) of_context_.resize(context + 1);
    return of_context_[context];
  }
  [[nodiscard]] bool known(std::uint32_t context) const { return context < paths_.parent.size(); }
  const std::vector<Above>& above(std::uint32_t context);
  void add(const Event& event);
  void begin(std::uint32_t context);
  void close_line();

  const CallPaths& paths_;
  Returns returns_;
  std::vector<OfContext> of_context_;
  std::map<std::uint32_t, ProcedureSum> sums_;
  std::uint32_t line_ = 0;
  // Of the line:
  std::vector<std::uint32_t> called_;                               // contexts
  std::vector<std::pair<std::uint32_t, Recurrences>> recurrences_;  // with their procedures
  std::unordered_map<std::uint32_t, std::uint32_t> number_of_;      // by procedure
};

/// Each procedure on the path, once.
const std::vector<OwnSums::Above>& OwnSums::above(std::uint32_t context) {
  std::optional<std::vector<Above>>& list = of(context).above;
  if (list) return *list;
  list.emplace();
  for (std::uint32_t at = context; known(at); at = paths_.parent[at]) {
    const std::uint32_t procedure = paths_.procedure[at];
    if (procedure == kNone) continue;
    const auto found = std::find_if(list->begin(), list->end(),
                                    [procedure](const Above& one) { return one.procedure == procedure; });
    if (found == list->end()) {
      list->push_back({procedure, at});
    } else {
      found->frame = at;
    }
  }
  return *list;
}

/// The first call of this path on the line.
void OwnSums::begin(std::uint32_t context) {
  OfContext& own = of(context);
  own.line = line_;
  own.last = 0;
  own.firsts.clear();
  called_.push_back(context);
  for (const Above& one : above(context)) {
    const auto [entry, added] =
        number_of_.try_emplace(one.procedure, static_cast<std::uint32_t>(recurrences_.size()));
    if (!added) continue;
    recurrences_.emplace_back(one.procedure, Recurrences{});
    own.firsts.push_back({entry->second, returns_.depth(one.frame)});
  }
}

void OwnSums::add(const Event& event) {
  OfContext& own = of(event.context);
  own.ns += event.exit_ns - event.enter_ns;
  if (!known(event.context)) return;
  const std::uint64_t number = returns_.call(event.context);
  if (own.line != line_) begin(event.context);
  own.last_exit = event.exit_ns;
  if (own.firsts.empty()) return;
  const std::uint32_t depth = returns_.outermost_since(own.last, event.context);
  for (const First& first : own.firsts)
    recurrences_[first.recurrences].second.begins(event.enter_ns, depth - std::min(depth, first.depth));
  own.last = number;
}

void OwnSums::add(const TimeLine& line) {
  ++line_;
  returns_.begin_line();
  line.samples.for_each([this](const Sample& sample) { of(sample.context).ns += sample.ns; });
  line.events.for_each([this](const Event& event) { add(event); });
  close_line();
}

void OwnSums::close_line() {
  for (const std::uint32_t context : called_) {
    for (const Above& one : above(context))
      recurrences_[number_of_.at(one.procedure)].second.extend(of(context).last_exit);
  }
  for (const auto& [procedure, recurrences] : recurrences_) {
    ProcedureSum& sum = sums_[procedure];
    sum.invocations += recurrences.count();
    if (recurrences.uneven()) ++sum.uneven;
  }
  called_.clear();
  recurrences_.clear();
  number_of_.clear();
}

std::vector<ProcedureSum> OwnSums::take() {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> frames;
  for (std::uint32_t context = 0; context < of_context_.size(); ++context) {
    const std::uint64_t ns = of_context_[context].ns;
    if (ns == 0) continue;
    for (const Above& one : above(context)) {
      sums_[one.procedure].ns += ns;
      frames[{one.procedure, one.frame}] += ns;
    }
  }
  for (const auto& [key, ns] : frames) {
    ProcedureSum& sum = sums_[key.first];
    if (ns <= sum.context_ns) continue;
    sum.context = key.second;
    sum.context_ns = ns;
  }
  std::vector<ProcedureSum> list;
  list.reserve(sums_.size());
  for (auto& [procedure, sum] : sums_) {
    sum.procedure = procedure;
    list.push_back(sum);
  }
  return list;
}

/// Those of all ranks of the analysis.
std::vector<ProcedureSum> sums_of_all(exchange::Communicator& analysis,
                                      const std::vector<ProcedureSum>& own) {
  std::map<std::uint32_t, ProcedureSum> sums;
  for (const ProcedureSum& part : items_of_all<ProcedureSum>(analysis, own)) {
    ProcedureSum& sum = sums[part.procedure];
    sum.procedure = part.procedure;
    sum.ns += part.ns;
    sum.invocations += part.invocations;
    sum.uneven += part.uneven;
    if (part.context_ns > sum.context_ns ||
        (part.context_ns == sum.context_ns && part.context < sum.context)) {
      sum.context = part.context;
      sum.context_ns = part.context_ns;
    }
  }
  std::vector<ProcedureSum> list;
  list.reserve(sums.size());
  for (const auto& [procedure, sum] : sums) list.push_back(sum);
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.ns > b.ns; });
  return list;
}

}  // namespace

ProcedureSums::ProcedureSums(exchange::Communicator& analysis, const Roster& roster, const Forward& forward,
                             const CallPaths& paths)
    : paths_(paths) {
  OwnSums own(paths);
  std::uint64_t rows = 0;
  for (const TimeLine& line : forward.ledger.lines()) {
    if (roster.location_of(roster.rank_of(line.location), 0) != line.location) continue;
    own.add(line);
    ++rows;
  }
  rows_ = analysis.all_sum(rows);
  sums_ = sums_of_all(analysis, own.take());
}

bool ProcedureSums::below(std::uint32_t context, std::uint32_t procedure) const {
  for (; context < paths_.parent.size(); context = paths_.parent[context]) {
    if (paths_.procedure[context] == procedure) return true;
  }
  return false;
}

const ProcedureSum* ProcedureSums::dominant(int finer) const {
  const ProcedureSum* found = nullptr;
  for (const bool even : {true, false}) {
    int skip = finer;
    for (const ProcedureSum& sum : sums_) {
      if (sum.invocations < 2 * rows_ || (even && 2 * sum.uneven > rows_)) continue;
      // A finer level lies below the one before.
      if (found != nullptr && !below(sum.context, found->procedure)) continue;
      found = &sum;
      if (skip-- == 0) return found;
    }
    if (found != nullptr) return found;
  }
  return nullptr;
}

const ProcedureSum* ProcedureSums::of(std::uint32_t procedure) const {
  const auto found = std::find_if(sums_.begin(), sums_.end(), [procedure](const ProcedureSum& sum) {
    return sum.procedure == procedure;
  });
  return found == sums_.end() ? nullptr : &*found;
}

}  // namespace culprit::waits
