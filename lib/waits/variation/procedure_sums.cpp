// Finds the dominant procedures (Weber 2016, section IV; docs/algorithms.md 9): inclusive time and number of
// invocations of each procedure and loop (an iteration is one), over all ranks. One pass over the calls of
// each rank's first time line adds up time by context and keeps the calls of paths that are the first MPI
// call path of some procedure (recurrence.cpp); sums over contexts follow in the end. Dominant is the
// procedure with most time of those invoked at least twice per rank; finer levels lie below it. Cost: some 20
// ns per event of halos, with segments (docs/figures.md).
#include "waits/variation/procedure_sums.hpp"

#include "exchange/message_exchange.hpp"
#include "waits/variation/recurrence.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>

namespace culprit::waits {

namespace {

/// Per rank: with fewer invocations, what iterates inside is dominant, if it has that much of their time.
constexpr std::uint64_t kSeveral = 10;
constexpr double kMostOfIt = 0.5;
/// A procedure whose loop, or what that calls, has so much of its time is named by that.
constexpr double kNearlyAll = 0.9;

/// Inclusive time of one frame of a procedure.
struct FrameSum {
  std::uint32_t procedure = CallPaths::kNone, context = CallPaths::kNone;
  std::uint64_t ns = 0;
};

/// What one rank of the analysis knows; of the sums' frames, nothing.
struct OwnPart {
  std::vector<ProcedureSum> sums;
  std::vector<FrameSum> frames;
};

/// This rank's sums, from one time line after the other.
class OwnSums {
 public:
  /// Adds the calls that recur to `calls`.
  OwnSums(const CallPaths& paths, const Regions& regions, storage::Sequence<RecurringCall>& calls)
      : paths_(paths),
        returns_(paths, regions),
        came_back_(returns_.nothing() + std::size_t{1}, 0),
        of_context_(paths.parent.size()),
        calls_(calls) {}

  LineInvocations add(const TimeLine& line);
  [[nodiscard]] OwnPart take();

 private:
  /// A procedure on a call path.
  struct Above {
    std::uint32_t number = 0;                ///< among procedures_
    std::uint32_t frame = CallPaths::kNone;  ///< the outermost one of it on the path
  };
  struct OfContext {
    std::uint64_t ns = 0;  // in it, on all lines
    // On the line that is gone through:
    std::uint32_t line = 0;  // its number; of another one the rest means nothing
    std::uint32_t recurrences =
        CallPaths::kNone;  // its own, where it is the first MPI call path of a procedure
    // Of its last call:
    std::uint64_t exit_ns = 0;
    std::uint64_t calls_ns = 0;  // what it and all before it took
    std::uint64_t call = 0;      // its number
  };
  struct OfProcedure {
    ProcedureSum sum;
    // On the line that is gone through:
    std::uint32_t line = 0;                 // its number; of another one the rest means nothing
    std::uint32_t recurrences = 0;          // of its first MPI call path
    std::uint32_t context = 0;              // that path
    std::uint32_t depth = 0;                // of its outermost frame on that
    std::uint32_t last = CallPaths::kNone;  // the path of its last call
    std::uint64_t end_ns = 0;               // until when its calls last
  };
  /// With what a scope begins anew: a call of this path, and how often; how often its first path does.
  struct Beginning {
    std::uint32_t path = CallPaths::kNone;
    std::uint64_t first = 0, count = 0;
  };
  /// How far a line was gone through.
  struct Passed {
    std::uint64_t calls = 0;  // on all lines: the number of the last one
    std::uint64_t calls_ns = 0, left_ns = 0;
    bool in_order = true;
  };

  OfContext& of(std::uint32_t context) {
    if (context >= of_context_.size()) of_context_.resize(context + std::size_t{1});
    return of_context_[context];
  }
  [[nodiscard]] bool known(std::uint32_t context) const { return context < paths_.parent.size(); }
  const std::vector<Above>& above(std::uint32_t context);
  std::uint32_t number_of(std::uint32_t procedure);
  void add(std::span<const Event> events);
  void begin(std::uint32_t context);
  void recur(const OfContext& own, const Event& event, const Passed& passed);
  [[nodiscard]] std::uint32_t outermost_since(std::uint64_t since, std::uint32_t context) const;
  void find_ends();
  [[nodiscard]] Recurrences::Level level_of(const OfProcedure& procedure) const;
  [[nodiscard]] std::uint32_t scope_at(std::uint32_t context, std::uint32_t depth) const;
  void find_most_frequent();
  void add_stamped(const TimeLine& line, LineInvocations& found);
  Invocations invocations_of(OfProcedure& procedure);
  void close_line(LineInvocations& found);

  const CallPaths& paths_;
  Returns returns_;
  std::vector<std::uint64_t> came_back_;  // by depth: before which call
  std::vector<OfContext> of_context_;
  std::unordered_map<std::uint32_t, std::vector<Above>> above_;  // by context, once asked for
  std::unordered_map<std::uint32_t, std::uint32_t> number_of_;   // by procedure
  std::vector<OfProcedure> procedures_;
  storage::Sequence<RecurringCall>& calls_;
  std::uint32_t line_ = 0;
  // Of the line:
  std::uint64_t before_ = 0;  // the number of the last call of the line before
  Passed passed_;
  std::vector<std::uint32_t> called_;  // contexts
  std::vector<std::uint32_t> seen_;    // procedures, by number
  std::vector<Recurrences> recurrences_;
  std::unordered_map<std::uint32_t, Beginning> beginning_;  // by scope, which divides its procedures' time
  std::vector<RecurringCall> recurring_;                    // of a block of calls
};

std::uint32_t OwnSums::number_of(std::uint32_t procedure) {
  const auto [entry, added] =
      number_of_.try_emplace(procedure, static_cast<std::uint32_t>(procedures_.size()));
  if (added) procedures_.emplace_back().sum.procedure = procedure;
  return entry->second;
}

/// Each procedure on the path, once.
const std::vector<OwnSums::Above>& OwnSums::above(std::uint32_t context) {
  const auto [entry, added] = above_.try_emplace(context);
  std::vector<Above>& list = entry->second;
  if (!added) return list;
  for (std::uint32_t at = context; known(at); at = paths_.parent[at]) {
    if (paths_.procedure[at] == CallPaths::kNone) continue;
    const std::uint32_t number = number_of(paths_.procedure[at]);
    const auto found =
        std::find_if(list.begin(), list.end(), [number](const Above& one) { return one.number == number; });
    if (found == list.end()) {
      list.push_back({number, at});
    } else {
      found->frame = at;
    }
  }
  return list;
}

/// The first call of this path on the line.
void OwnSums::begin(std::uint32_t context) {
  OfContext& own = of(context);
  own.line = line_;
  own.call = 0;
  own.recurrences = CallPaths::kNone;
  called_.push_back(context);
  for (const Above& one : above(context)) {
    OfProcedure& procedure = procedures_[one.number];
    if (procedure.line == line_) continue;
    if (own.recurrences == CallPaths::kNone) {
      own.recurrences = static_cast<std::uint32_t>(recurrences_.size());
      recurrences_.emplace_back();
    }
    procedure.line = line_;
    procedure.recurrences = own.recurrences;
    procedure.context = context;
    procedure.depth = returns_.depth(one.frame);
    procedure.last = context;
    procedure.end_ns = 0;
    seen_.push_back(one.number);
  }
}

/// The depth of the outermost scope that control came back to since a call, which was at this context too.
std::uint32_t OwnSums::outermost_since(std::uint64_t since, std::uint32_t context) const {
  std::uint32_t depth = 0;
  while (depth < returns_.depth(context) && came_back_[depth] <= since) ++depth;
  return depth;
}

/// A call that a procedure may begin anew with; `own`: what is kept of its path.
void OwnSums::recur(const OfContext& own, const Event& event, const Passed& passed) {
  const std::uint32_t depth = outermost_since(own.call, event.context);
  recurrences_[own.recurrences].begins(event.enter_ns, depth);
  RecurringCall& call = recurring_.emplace_back();
  call.event = static_cast<std::uint32_t>(passed.calls - before_ - 1);
  call.context = event.context;
  call.depth = depth;
  call.enter_ns = event.enter_ns;
  call.calls_ns = passed.calls_ns - (event.exit_ns - event.enter_ns);
}

void OwnSums::add(std::span<const Event> events) {
  Passed passed = passed_;  // in registers
  for (const Event& event : events) {
    const std::uint64_t ns = event.exit_ns - event.enter_ns;
    ++passed.calls;
    passed.calls_ns += ns;
    passed.in_order &= passed.left_ns <= event.enter_ns && event.enter_ns <= event.exit_ns;
    passed.left_ns = event.exit_ns;
    OfContext& own = of(event.context);
    own.ns += ns;
    if (!known(event.context)) continue;
    came_back_[returns_.call(event)] = passed.calls;
    if (own.line != line_) begin(event.context);
    if (own.recurrences != CallPaths::kNone) recur(own, event, passed);
    own.exit_ns = event.exit_ns;
    own.calls_ns = passed.calls_ns;
    own.call = passed.calls;
  }
  passed_ = passed;
}

LineInvocations OwnSums::add(const TimeLine& line) {
  LineInvocations found;
  found.first = calls_.size();
  ++line_;
  returns_.begin_line();
  before_ = passed_.calls;
  passed_ = {.calls = before_};
  line.samples.go_through([this](const Sample& sample) { of(sample.context).ns += sample.ns; });
  for (std::size_t index = 0; index < line.events.size();) {
    const std::span<const Event> events = line.events.together(index);
    index += events.size();
    add(events);
    line.events.leave(index);
    // To keep calls may take the memory of others.
    for (const RecurringCall& call : recurring_) calls_.push_back(call);
    recurring_.clear();
  }
  found.last = calls_.size();
  found.in_order = passed_.in_order;
  add_stamped(line, found);
  close_line(found);
  return found;
}

/// What has stamps on the line is invoked as they say, whatever calls show.
void OwnSums::add_stamped(const TimeLine& line, LineInvocations& found) {
  struct Stamped {
    std::uint64_t count = 0, longest_ns = 0, all_ns = 0;
  };
  std::map<std::uint32_t, Stamped> of_number;
  for_stamped(line, paths_, [&](const StampedInvocation& one) {
    const std::uint64_t ns = one.end_ns - one.begin_ns;
    Stamped& stamped = of_number[number_of(paths_.procedure[one.context])];
    ++stamped.count;
    stamped.longest_ns = std::max(stamped.longest_ns, ns);
    stamped.all_ns += ns;
  });
  for (const auto& [number, stamped] : of_number) {
    ProcedureSum& sum = procedures_[number].sum;
    sum.invocations += stamped.count;
    sum.stamped += stamped.count;
    if (is_most(stamped.longest_ns, stamped.all_ns)) ++sum.uneven;
    found.of.push_back(Invocations{.procedure = sum.procedure, .stamped = true, .count = stamped.count});
  }
}

/// Of the procedures that were seen on the line.
void OwnSums::find_ends() {
  for (const std::uint32_t context : called_) {
    const OfContext& own = of(context);
    for (const Above& one : above(context)) {
      OfProcedure& procedure = procedures_[one.number];
      procedure.end_ns = std::max(procedure.end_ns, own.exit_ns);
      if (own.call > of(procedure.last).call) procedure.last = context;
    }
  }
}

/// At which scope a procedure begins anew: at its outermost frame, or within.
Recurrences::Level OwnSums::level_of(const OfProcedure& procedure) const {
  Recurrences::Level level = recurrences_[procedure.recurrences].level(procedure.depth, procedure.end_ns);
  level.depth = std::max(level.depth, procedure.depth);
  return level;
}

/// The scope around `context`, or itself, at `depth`.
std::uint32_t OwnSums::scope_at(std::uint32_t context, std::uint32_t depth) const {
  while (known(context) && returns_.depth(context) > depth) context = paths_.parent[context];
  return context;
}

/// Of scopes that divide a procedure's time: with which path they begin anew, known by the procedure's first
/// one. What is called first need not be called each time, such as what a solver exchanges every tenth step:
/// the path that begins anew there most often counts. Not where that is twice as often: two calls may be one
/// path, where lines are unknown.
void OwnSums::find_most_frequent() {
  for (const std::uint32_t number : seen_) {
    const OfProcedure& procedure = procedures_[number];
    const Recurrences::Level level = level_of(procedure);
    if (!level.divides(procedure.end_ns)) continue;
    beginning_.try_emplace(scope_at(procedure.context, level.depth),
                           Beginning{.path = procedure.context, .first = level.count, .count = level.count});
  }
  for (const std::uint32_t context : called_) {
    const std::uint32_t own = of(context).recurrences;
    if (own == CallPaths::kNone) continue;
    for (std::uint32_t at = context; known(at); at = paths_.parent[at]) {
      const auto found = beginning_.find(at);
      if (found == beginning_.end()) continue;
      const std::uint64_t count = recurrences_[own].count_at(returns_.depth(at));
      Beginning& beginning = found->second;
      if (count <= beginning.count || count >= 2 * beginning.first) continue;
      beginning.path = context;
      beginning.count = count;
    }
  }
}

/// What a procedure that was seen on the line begins anew with.
Invocations OwnSums::invocations_of(OfProcedure& procedure) {
  const Recurrences::Level level = level_of(procedure);
  Beginning with{.path = procedure.context, .first = level.count, .count = level.count};
  if (level.divides(procedure.end_ns)) with = beginning_.at(scope_at(procedure.context, level.depth));
  procedure.sum.invocations += with.count;
  if (level.uneven(procedure.end_ns)) ++procedure.sum.uneven;
  if (level.depth > procedure.depth) ++procedure.sum.inside;
  const OfContext& last = of(procedure.last);
  return {.procedure = procedure.sum.procedure,
          .context = with.path,
          .depth = level.depth,
          .end_event = static_cast<std::uint32_t>(last.call - before_),
          .count = with.count,
          .end_ns = last.exit_ns,
          .end_calls_ns = last.calls_ns};
}

void OwnSums::close_line(LineInvocations& found) {
  find_ends();
  find_most_frequent();
  const std::size_t stamped = found.of.size();
  for (const std::uint32_t number : seen_) {
    OfProcedure& procedure = procedures_[number];
    const auto same = [&](const Invocations& one) { return one.procedure == procedure.sum.procedure; };
    if (std::ranges::none_of(std::span(found.of).first(stamped), same))
      found.of.push_back(invocations_of(procedure));
  }
  called_.clear();
  seen_.clear();
  recurrences_.clear();
  beginning_.clear();
}

OwnPart OwnSums::take() {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> frames;
  for (std::uint32_t context = 0; context < of_context_.size(); ++context) {
    const std::uint64_t ns = of_context_[context].ns;
    if (ns == 0) continue;
    for (const Above& one : above(context)) {
      procedures_[one.number].sum.ns += ns;
      frames[{one.number, one.frame}] += ns;
    }
  }
  OwnPart part;
  part.frames.reserve(frames.size());
  for (const auto& [key, ns] : frames)
    part.frames.push_back(
        {.procedure = procedures_[key.first].sum.procedure, .context = key.second, .ns = ns});
  part.sums.reserve(procedures_.size());
  for (const OfProcedure& procedure : procedures_) part.sums.push_back(procedure.sum);
  return part;
}

/// Those of all ranks of the analysis.
std::vector<ProcedureSum> sums_of_all(exchange::Communicator& analysis, const OwnPart& own) {
  std::map<std::uint32_t, ProcedureSum> sums;
  for (const ProcedureSum& part : exchange::items_of_all<ProcedureSum>(analysis, own.sums)) {
    ProcedureSum& sum = sums[part.procedure];
    sum.procedure = part.procedure;
    sum.ns += part.ns;
    sum.invocations += part.invocations;
    sum.stamped += part.stamped;
    sum.uneven += part.uneven;
    sum.inside += part.inside;
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> frames;
  for (const FrameSum& part : exchange::items_of_all<FrameSum>(analysis, own.frames))
    frames[{part.procedure, part.context}] += part.ns;
  for (const auto& [frame, ns] : frames) {  // the lowest context first
    ProcedureSum& sum = sums[frame.first];
    if (ns <= sum.context_ns) continue;
    sum.context = frame.second;
    sum.context_ns = ns;
  }
  std::vector<ProcedureSum> list;
  list.reserve(sums.size());
  for (const auto& [procedure, sum] : sums) list.push_back(sum);
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.ns > b.ns; });
  return list;
}

}  // namespace

ProcedureSums::ProcedureSums(exchange::Communicator& analysis, const RankMap& rank_map,
                             const Matched& matched, const CallPaths& paths)
    : paths_(paths), calls_(matched.store.spill()) {
  OwnSums own(paths, matched.regions, calls_);
  for (const TimeLine& line : matched.store.lines()) {
    if (rank_map.location_of(rank_map.rank_of(line.location), 0) != line.location) continue;
    lines_.push_back(own.add(line));
  }
  rows_ = analysis.all_sum(lines_.size());
  sums_ = sums_of_all(analysis, own.take());
}

bool ProcedureSums::recurs(const ProcedureSum& sum, bool even) const {
  return sum.invocations >= 2 * rows_ && (!even || 2 * sum.uneven <= rows_);
}

// A solver that is called a few times iterates inside.
const ProcedureSum* ProcedureSums::dominant(bool even) const {
  const ProcedureSum* first = nullptr;
  for (const ProcedureSum& sum : sums_) {
    if (!recurs(sum, even)) continue;
    if (first == nullptr) first = &sum;
    if (first->invocations >= kSeveral * rows_) return first;
    if (static_cast<double>(sum.ns) < kMostOfIt * static_cast<double>(first->ns)) return first;
    if (sum.invocations >= kSeveral * rows_ && paths_.lies_in(sum.context, first->procedure)) return &sum;
  }
  return first;
}

/// A procedure that is called once, and iterates: its loop, or what the loop calls, shows better what recurs.
const ProcedureSum* ProcedureSums::what_recurs(const ProcedureSum* sum, bool even) const {
  for (const ProcedureSum& each : sums_) {  // the heaviest first: from the outside in
    if (sum == nullptr || 2 * sum->inside <= rows_) break;
    const bool same = each.invocations == sum->invocations && recurs(each, even) &&
                      static_cast<double>(each.ns) >= kNearlyAll * static_cast<double>(sum->ns);
    if (same && each.procedure != sum->procedure && paths_.lies_in(each.context, sum->procedure)) sum = &each;
  }
  return sum;
}

std::vector<std::uint32_t> ProcedureSums::levels(std::size_t most) const {
  std::vector<std::uint32_t> levels;
  for (const bool even : {true, false}) {
    const ProcedureSum* const first = what_recurs(dominant(even), even);
    if (first == nullptr || most == 0) continue;
    levels.push_back(first->procedure);
    for (const ProcedureSum& sum : sums_) {
      if (levels.size() == most) break;
      // A finer level lies below the one before.
      if (recurs(sum, even) && paths_.lies_in(sum.context, levels.back()) &&
          std::find(levels.begin(), levels.end(), sum.procedure) == levels.end())
        levels.push_back(sum.procedure);
    }
    break;
  }
  return levels;
}

const ProcedureSum* ProcedureSums::of(std::uint32_t procedure) const {
  const auto found = std::find_if(sums_.begin(), sums_.end(), [procedure](const ProcedureSum& sum) {
    return sum.procedure == procedure;
  });
  return found == sums_.end() ? nullptr : &*found;
}

}  // namespace culprit::waits
