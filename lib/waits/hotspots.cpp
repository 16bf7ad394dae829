#include "waits/hotspots.hpp"

#include "waits/compared_line.hpp"
#include "waits/letter.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace culprit::waits {

namespace {

/// A waiter's profile since it met the causer, on its way to where that was recorded.
struct WaiterLetter {
  static constexpr std::uint8_t kLetter = 22;
  using Item = PieceTime;
  Location waiter = kNoLocation;
  std::uint32_t waiter_context = 0;
  EventId cause;
  std::uint64_t wait_ns = 0;
  IntervalStart start;
};
/// What all time lines together spent in a procedure.
struct ProcedureTime {
  std::uint32_t context = 0;
  std::uint64_t ns = 0;
};

class Diagnosis {
 public:
  using Letters = LetterList<WaiterLetter>;

  Diagnosis(exchange::Communicator& analysis, const Roster& roster, const Forward& forward,
            std::span<const std::uint32_t> procedure_of, const HotspotOptions& options)
      : analysis_(analysis),
        roster_(roster),
        procedure_of_(procedure_of),
        options_(options),
        mail_(analysis) {
    for (const TimeLine& line : forward.ledger.lines()) {
      lines_.emplace(line.location, Line{ComparedLine(line, *forward.contexts, roster), 0});
    }
  }

  std::vector<Hotspot> run() {
    find_hot();
    const std::uint64_t most =
        std::max<std::uint64_t>(options_.waits_per_round / static_cast<std::uint64_t>(analysis_.size()), 1);
    while (analysis_.all_sum(post(most)) > 0) mail_.deliver(*this);
    return diagnose();
  }

  void receive(const WaiterLetter& letter, const std::vector<PieceTime>& waiter);

 private:
  struct Line {
    ComparedLine compared;
    std::size_t next = 0;  // of its waits
  };
  struct Case {
    Location causer = kNoLocation, waiter = kNoLocation;
    std::uint32_t waiter_context = 0;
    friend auto operator<=>(const Case&, const Case&) = default;  // NOLINT(modernize-use-nullptr)
  };
  struct Excess {
    std::uint64_t wait_ns = 0;
    std::map<std::uint32_t, std::int64_t> by_procedure;  // of the waiting, in ns
  };

  [[nodiscard]] std::uint32_t procedure(std::uint32_t context) const {
    return context < procedure_of_.size() ? procedure_of_[context] : context;
  }
  void find_hot();
  std::uint64_t post(std::uint64_t most);
  std::vector<Hotspot> diagnose() const;

  exchange::Communicator& analysis_;
  const Roster& roster_;
  std::span<const std::uint32_t> procedure_of_;
  HotspotOptions options_;
  Mail mail_;
  std::map<Location, Line> lines_;
  std::map<std::uint32_t, bool> hot_;
  std::map<Case, Excess> cases_;
};

/// Procedures above the threshold: by samples where there are no calls, and by the calls' own stamps.
void Diagnosis::find_hot() {
  std::map<std::uint32_t, std::uint64_t> own;
  for (const auto& [location, held] : lines_) {
    const TimeLine& line = held.compared.line();
    for (const Sample& sample : line.samples) own[procedure(sample.context)] += sample.ns;
    for (std::uint32_t i = 0; i < line.events.size(); ++i) {
      const Event& event = line.events[i];
      const std::uint64_t ns = event.exit_ns - event.enter_ns;
      own[procedure(event.context)] += ns - std::min(ns, held.compared.wait_of(i));
    }
  }
  std::vector<ProcedureTime> times;
  times.reserve(own.size());
  for (const auto& [context, ns] : own) times.push_back({context, ns});
  std::map<std::uint32_t, std::uint64_t> sums;
  std::uint64_t total = 0;
  for (const ProcedureTime& time : items_of_all<ProcedureTime>(analysis_, times)) {
    sums[time.context] += time.ns;
    total += time.ns;
  }
  for (const auto& [context, ns] : sums) {
    hot_[context] = static_cast<double>(ns) >= options_.threshold * static_cast<double>(total);
  }
}

/// Sends up to `most` waits' profiles; returns how many there were.
std::uint64_t Diagnosis::post(std::uint64_t most) {
  std::uint64_t count = 0;
  for (auto& [location, own] : lines_) {
    const TimeLine& line = own.compared.line();
    for (; count < most && own.next < line.waits.size(); ++own.next) {
      const Wait& wait = line.waits[own.next];
      if (!is_wait(wait.pattern) || !wait.first) continue;
      mail_.send(roster_.owner_of(roster_.rank_of(wait.cause.location)),
                 WaiterLetter{.waiter = location,
                              .waiter_context = line.events[wait.event].context,
                              .cause = wait.cause,
                              .wait_ns = wait.ns,
                              .start = own.compared.start(own.next)},
                 own.compared.before_wait(own.next));
      ++count;
    }
  }
  return count;
}

void Diagnosis::receive(const WaiterLetter& letter, const std::vector<PieceTime>& waiter) {
  const ComparedLine& own = lines_.at(letter.cause.location).compared;
  const std::uint32_t after = own.begins_after(letter.start);
  const std::vector<PieceTime> times = own.between(after, letter.cause.index);
  std::map<Piece, std::uint64_t> delays;
  std::uint64_t sum = 0;
  for (const PieceTime& delay : longer(times, waiter)) {
    delays[delay.piece] = delay.ns;
    sum += delay.ns;
  }
  Excess& excess = cases_[{letter.cause.location, letter.waiter, letter.waiter_context}];
  excess.wait_ns += letter.wait_ns;
  const auto add = [&](const PieceTime& time, std::int64_t sign) {
    const bool call = time.piece.next == Piece::kCall;
    if (!delays.contains(time.piece) || call != (time.context == PieceTime::kWhole)) return;
    const std::uint32_t path = procedure(call ? own.call_path(time.piece, after) : time.context);
    excess.by_procedure[path] += sign * static_cast<std::int64_t>(share(time.ns, letter.wait_ns, sum));
  };
  for (const PieceTime& time : times) add(time, 1);
  for (const PieceTime& time : waiter) add(time, -1);
}

std::vector<Hotspot> Diagnosis::diagnose() const {
  std::vector<Hotspot> found;
  for (const auto& [one, excess] : cases_) {
    std::map<std::uint32_t, std::uint64_t> weights;
    for (const auto& [context, ns] : excess.by_procedure) {
      const auto hot = hot_.find(context);
      if (ns > 0 && hot != hot_.end() && hot->second) weights[context] = static_cast<std::uint64_t>(ns);
    }
    if (weights.empty()) continue;
    for (const PathShare& part : divide_over_paths(Piece{}, weights, {excess.wait_ns})) {
      found.push_back({one.causer, part.path.context, one.waiter, one.waiter_context, part.amounts[0]});
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::vector<Hotspot> hotspots(exchange::Communicator& analysis, const Roster& roster, const Forward& forward,
                              std::span<const std::uint32_t> procedure_of, const HotspotOptions& options) {
  return Diagnosis(analysis, roster, forward, procedure_of, options).run();
}

}  // namespace culprit::waits
