#include "waits/hotspots.hpp"

#include "waits/compared_line.hpp"
#include "waits/hash.hpp"
#include "waits/interval_profile.hpp"
#include "waits/letter.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include <tsl/robin_map.h>

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
  bool cause_ends = false;
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
        mail_(analysis),
        forward_(forward),
        profile_(forward.pieces),
        waiter_(forward.pieces) {
    for (const TimeLine& line : forward.ledger.lines()) {
      lines_.push_back({ComparedLine(line, forward.pieces, forward.ledger.spill()), 0});
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
    friend bool operator==(const Case&, const Case&) = default;
  };
  struct CaseHash {
    std::size_t operator()(const Case& key) const {
      return hash_of(joined(key.causer, key.waiter), key.waiter_context);
    }
  };
  struct CaseProcedure {
    std::uint32_t of_case = 0, procedure = 0;
    friend bool operator==(const CaseProcedure&, const CaseProcedure&) = default;
  };
  struct CaseProcedureHash {
    std::size_t operator()(const CaseProcedure& key) const {
      return hash_of(joined(key.of_case, key.procedure));
    }
  };

  [[nodiscard]] std::uint32_t procedure(std::uint32_t context) const {
    return context < procedure_of_.size() ? procedure_of_[context] : context;
  }
  void find_hot();
  void diagnose(const WaiterLetter& letter, const IntervalProfile& waiter);
  std::uint64_t post(std::uint64_t most);
  std::vector<Hotspot> diagnose() const;

  exchange::Communicator& analysis_;
  const Roster& roster_;
  std::span<const std::uint32_t> procedure_of_;
  HotspotOptions options_;
  Mail mail_;
  const Forward& forward_;
  IntervalProfile profile_, waiter_;
  std::vector<PieceTime> times_;
  std::vector<Line> lines_;  // as in the ledger
  std::map<std::uint32_t, bool> hot_;
  tsl::robin_map<Case, std::uint32_t, CaseHash> case_of_;
  std::vector<std::pair<Case, std::uint64_t>> cases_;                      // with what was waited
  tsl::robin_map<CaseProcedure, std::int64_t, CaseProcedureHash> excess_;  // of the waiting, in ns
};

/// Procedures above the threshold: by samples where there are no calls, and by the calls' own stamps.
void Diagnosis::find_hot() {
  // By call path first: there are more calls than paths.
  std::vector<std::uint64_t> by_context;
  const auto add = [&by_context](std::uint32_t context, std::uint64_t ns) {
    if (context >= by_context.size()) by_context.resize(context + 1, 0);
    by_context[context] += ns;
  };
  for (const Line& held : lines_) {
    const TimeLine& line = held.compared.line();
    line.samples.for_each([&add](const Sample& sample) { add(sample.context, sample.ns); });
    std::vector<Event> long_waits;
    line.events.for_each([&](const Event& event) {
      if (event.wait == Event::kLongWait) {
        long_waits.push_back(event);
      } else {
        const std::uint64_t ns = event.exit_ns - event.enter_ns;
        add(event.context, ns - std::min<std::uint64_t>(ns, event.wait));
      }
    });
    for (const Event& event : long_waits) {
      const std::uint64_t ns = event.exit_ns - event.enter_ns;
      add(event.context, ns - std::min(ns, wait_of(line, event)));
    }
  }
  std::map<std::uint32_t, std::uint64_t> own;
  for (std::uint32_t context = 0; context < by_context.size(); ++context) {
    if (by_context[context] != 0) own[procedure(context)] += by_context[context];
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
  for (Line& own : lines_) {
    const TimeLine& line = own.compared.line();
    for (; count < most && own.next < line.waits.size(); ++own.next) {
      const Wait wait = line.waits[own.next];
      if (!is_wait(wait.pattern) || !wait.first) continue;
      waiter_.clear();
      own.compared.add(ComparedLine::of_wait(wait), waiter_);
      const WaiterLetter letter{.waiter = line.location,
                                .waiter_context = line.events[wait.event].context,
                                .cause = wait.cause,
                                .wait_ns = wait.ns,
                                .start = wait.start,
                                .cause_ends = wait.cause_ends};
      const int to = roster_.holder_of(wait.cause.location);
      ++count;
      if (to == mail_.here()) {
        diagnose(letter, waiter_);
        continue;
      }
      times_.assign(waiter_.wholes().begin(), waiter_.wholes().end());
      times_.insert(times_.end(), waiter_.samples().begin(), waiter_.samples().end());
      mail_.send(to, letter, times_);
    }
  }
  return count;
}

void Diagnosis::receive(const WaiterLetter& letter, const std::vector<PieceTime>& waiter) {
  waiter_.clear();
  for (const PieceTime& time : waiter) waiter_.add(time);
  diagnose(letter, waiter_);
}

void Diagnosis::diagnose(const WaiterLetter& letter, const IntervalProfile& waiter) {
  ComparedLine& own = lines_[forward_.ledger.index_of(letter.cause.location)].compared;
  profile_.clear();
  const Interval interval = own.of_cause(letter.start, letter.cause.index, letter.cause_ends);
  own.add(interval, profile_);
  const auto longer = [this, &waiter](std::uint32_t piece) {
    const std::uint64_t ns = profile_.of(piece);
    return ns - std::min(ns, waiter.of(piece));
  };
  std::uint64_t sum = 0;
  for (const PieceTime& time : profile_.wholes()) sum += longer(time.piece);

  const Case one{letter.cause.location, letter.waiter, letter.waiter_context};
  const auto [entry, added] = case_of_.try_emplace(one, static_cast<std::uint32_t>(cases_.size()));
  if (added) cases_.emplace_back(one, 0);
  const std::uint32_t at = entry->second;
  cases_[at].second += letter.wait_ns;
  const auto add = [&](const IntervalProfile& profile, std::int64_t sign) {
    const auto add_one = [&](std::uint32_t piece, std::uint32_t context, std::uint64_t ns) {
      if (longer(piece) == 0) return;
      excess_[{at, procedure(context)}] += sign * static_cast<std::int64_t>(share(ns, letter.wait_ns, sum));
    };
    for (const PieceTime& time : profile.wholes()) {
      if (longer(time.piece) == 0) continue;
      const Piece& piece = forward_.pieces[own.known_piece(time.piece, interval)];
      if (piece.next == Piece::kCall) add_one(time.piece, piece.previous, time.ns);
    }
    for (const PieceTime& time : profile.samples()) add_one(time.piece, time.context, time.ns);
  };
  add(profile_, 1);
  add(waiter, -1);
}

std::vector<Hotspot> Diagnosis::diagnose() const {
  std::vector<std::map<std::uint32_t, std::uint64_t>> weights(cases_.size());
  for (const auto& [key, ns] : excess_) {
    const auto hot = hot_.find(key.procedure);
    if (ns > 0 && hot != hot_.end() && hot->second)
      weights[key.of_case][key.procedure] = static_cast<std::uint64_t>(ns);
  }
  std::vector<Hotspot> found;
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    if (weights[i].empty()) continue;
    const auto& [one, wait_ns] = cases_[i];
    for (const PathShare& part : divide_over_paths(Piece{}, weights[i], {wait_ns})) {
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
