#include "waits/delay_costs.hpp"

#include "waits/compared_line.hpp"
#include "waits/hash.hpp"
#include "waits/letter.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace culprit::waits {

namespace {

/// The profile of a waiter's synchronization interval, on its way to where the cause was recorded.
struct ProfileLetter {
  static constexpr std::uint8_t kLetter = 20;
  using Item = PieceTime;
  EventId waiter, cause;
  std::uint64_t wait_ns = 0;
  IntervalStart start;
};
/// All that was passed on to a wait, once that is known.
struct PassedOnLetter {
  static constexpr std::uint8_t kLetter = 21;
  EventId waiter, cause;
  std::uint64_t ns = 0;
};

struct EventHash {
  std::size_t operator()(const EventId& id) const { return hash_of(joined(id.location, id.index)); }
};

/// What explains one wait: the pieces that its causer did longer, and the causer's own waits.
struct Explanation {
  struct Part {
    Piece piece;             // of a delay
    std::uint32_t call = 0;  // of a wait, where `piece` is none
    bool wait = false;
    std::uint64_t ns = 0;
  };
  std::uint64_t wait_ns = 0;
  std::uint64_t whole_ns = 0;  // what the parts are shares of
  std::vector<Part> parts;
};

/// What a piece of one time line cost, and how much longer its sampled call paths took than the waiters'.
struct Account {
  std::uint64_t short_ns = 0, long_ns = 0;
  std::map<std::uint32_t, std::int64_t> excess;    // by call path, in ns of cost
  std::map<std::uint32_t, std::uint64_t> sampled;  // by call path, where no excess tells
};

class Backward {
 public:
  using Letters = LetterList<ProfileLetter, PassedOnLetter>;

  Backward(exchange::Communicator& analysis, const Roster& roster, const Forward& forward,
           const DelayOptions& options)
      : analysis_(analysis), roster_(roster), options_(options), mail_(analysis) {
    for (const TimeLine& line : forward.ledger.lines()) {
      lines_.emplace(line.location, Line{ComparedLine(line, *forward.contexts, roster), line.waits.size()});
    }
  }

  DelayCosts run() {
    std::uint64_t span = 1'000'000;
    for (std::uint64_t latest = latest_wait(); latest != 0; latest = latest_wait()) {
      const std::uint64_t count = round(latest > span ? latest - span : 0);
      if (count > options_.waits_per_round) span = std::max<std::uint64_t>(span / 2, 1);
      if (count < options_.waits_per_round / 2 && span < std::uint64_t{1} << 60) span *= 2;
    }
    collect();
    return std::move(result_);
  }

  void receive(const ProfileLetter& letter, const std::vector<PieceTime>& waiter);
  void receive(const PassedOnLetter& letter);

 private:
  struct Line {
    ComparedLine compared;
    std::size_t next = 0;  // one past the wait that is next, backwards

    [[nodiscard]] const Wait& latest() const { return compared.line().waits[next - 1]; }
  };
  /// A wait that others were passed on to, or will be.
  struct Passed {
    std::uint64_t ns = 0;
    std::uint32_t awaited = 0;  // explanations that name it and are not complete yet
    bool listed = false;        // it is one of this round
    bool done = false;
    EventId cause;
  };

  /// Over all ranks: when the latest wait ended that was not looked at yet; 0 for none.
  std::uint64_t latest_wait() {
    std::uint64_t latest = 0;
    for (const auto& [location, line] : lines_) {
      if (line.next > 0) latest = std::max(latest, line.latest().until_ns);
    }
    return analysis_.all_max(latest);
  }

  std::uint64_t round(std::uint64_t since);
  void pass_on(EventId waiter, Passed& wait);
  void distribute(EventId causer_at, const Explanation& explanation, std::uint64_t passed_ns);
  void collect();
  void settle_account(Location location, const Piece& piece, const Account& account);

  exchange::Communicator& analysis_;
  const Roster& roster_;
  DelayOptions options_;
  Mail mail_;
  DelayCosts result_;
  std::map<Location, Line> lines_;
  std::unordered_map<EventId, Passed, EventHash> passed_;             // waits of own lines
  std::unordered_map<EventId, Explanation, EventHash> explanations_;  // by waiter; caused by own lines
  std::vector<EventId> listed_;                                       // the waits of this round
  std::map<std::pair<Location, Piece>, Account> accounts_;
};

/// All waits that ended after `since`: explained first, so that it is known what will be passed on to which;
/// then each is passed on once all that it will get has arrived. Returns how many.
std::uint64_t Backward::round(std::uint64_t since) {
  listed_.clear();
  for (auto& [location, own] : lines_) {
    for (; own.next > 0 && own.latest().until_ns > since; --own.next) {
      const Wait& wait = own.latest();
      if (!is_wait(wait.pattern)) continue;
      const EventId waiter{location, wait.event};
      mail_.send(roster_.owner_of(roster_.rank_of(wait.cause.location)),
                 ProfileLetter{.waiter = waiter,
                               .cause = wait.cause,
                               .wait_ns = wait.ns,
                               .start = own.compared.start(own.next - 1)},
                 own.compared.before_wait(own.next - 1));
      Passed& passed = passed_[waiter];
      passed.listed = true;
      passed.cause = wait.cause;
      listed_.push_back(waiter);
    }
  }
  const std::uint64_t count = analysis_.all_sum(listed_.size());
  mail_.deliver(*this);
  for (const EventId& waiter : listed_) {
    Passed& wait = passed_.at(waiter);
    if (wait.awaited == 0) pass_on(waiter, wait);
  }
  mail_.deliver(*this);
  // What is left waits for itself: only contradictory clocks can say so.
  for (const EventId& waiter : listed_) {
    Passed& wait = passed_.at(waiter);
    if (!wait.done) pass_on(waiter, wait);
  }
  mail_.deliver(*this);
  for (const EventId& waiter : listed_) passed_.erase(waiter);
  return count;
}

void Backward::pass_on(EventId waiter, Passed& wait) {
  wait.done = true;
  mail_.send(roster_.owner_of(roster_.rank_of(wait.cause.location)),
             PassedOnLetter{.waiter = waiter, .cause = wait.cause, .ns = wait.ns});
}

void Backward::receive(const ProfileLetter& letter, const std::vector<PieceTime>& waiter) {
  const Location location = letter.cause.location;
  const ComparedLine& own = lines_.at(location).compared;
  const std::uint32_t after = own.begins_after(letter.start);
  const std::vector<PieceTime> times = own.between(after, letter.cause.index);

  Explanation& explanation = explanations_[letter.waiter];
  explanation.wait_ns = letter.wait_ns;
  std::uint64_t sum = 0;
  for (const PieceTime& delay : longer(times, waiter)) {
    Piece piece = delay.piece;
    piece.previous = own.call_path(piece, after);
    explanation.parts.push_back({.piece = piece, .call = 0, .wait = false, .ns = delay.ns});
    sum += delay.ns;
  }
  const std::uint32_t first = after == IntervalStart::kBeginning ? 0 : after + 1;
  for (std::uint32_t call = first; call < letter.cause.index; ++call) {
    const std::uint64_t ns = own.wait_of(call);
    if (ns == 0) continue;
    explanation.parts.push_back({.piece = {}, .call = call, .wait = true, .ns = ns});
    sum += ns;
    ++passed_[{location, call}].awaited;
  }
  explanation.whole_ns = std::max(sum, letter.wait_ns);

  // How much longer each sampled call path took, in ns of the cost that it explains.
  const auto add = [&](const PieceTime& time, std::int64_t sign) {
    if (time.context == PieceTime::kWhole || time.piece.next == Piece::kCall) return;
    Account& account = accounts_[{location, time.piece}];
    account.excess[time.context] +=
        sign * static_cast<std::int64_t>(share(time.ns, letter.wait_ns, explanation.whole_ns));
    if (sign > 0) account.sampled[time.context] += time.ns;
  };
  for (const PieceTime& time : times) add(time, 1);
  for (const PieceTime& time : waiter) add(time, -1);
}

void Backward::receive(const PassedOnLetter& letter) {
  const auto found = explanations_.find(letter.waiter);
  if (found == explanations_.end()) return;
  const Explanation explanation = std::move(found->second);
  explanations_.erase(found);
  distribute(letter.cause, explanation, letter.ns);
}

/// Divides a wait, and what was passed on to it, among its parts; what rounding leaves goes to the largest.
void Backward::distribute(EventId cause, const Explanation& explanation, std::uint64_t passed_ns) {
  std::uint64_t parts_ns = 0, waits_ns = 0;
  const Explanation::Part* largest = nullptr;
  for (const Explanation::Part& part : explanation.parts) {
    parts_ns += part.ns;
    if (part.wait) waits_ns += part.ns;
    if (largest == nullptr || part.ns > largest->ns) largest = &part;
  }
  const std::uint64_t whole = explanation.whole_ns;
  const std::uint64_t indirect = share(explanation.wait_ns, waits_ns, whole);
  result_.indirect_ns += indirect;
  result_.direct_ns += explanation.wait_ns - indirect;

  const bool all = parts_ns == whole;  // nothing remains unattributed but by rounding
  const auto divide = [&](std::uint64_t amount, auto&& give) {
    std::uint64_t left = amount;
    for (const Explanation::Part& part : explanation.parts) left -= share(amount, part.ns, whole);
    for (const Explanation::Part& part : explanation.parts) {
      const std::uint64_t rest = all && &part == largest ? left : 0;
      give(part, share(amount, part.ns, whole) + rest);
    }
    if (!all) result_.unattributed_ns += left;
  };
  const auto give_to_wait = [&](const Explanation::Part& part, std::uint64_t ns, bool last) {
    Passed& wait = passed_[{cause.location, part.call}];
    if (wait.done) {  // it lies after what it is said to have caused
      result_.unattributed_ns += ns;
      result_.contradictory_ns += ns;
    } else {
      wait.ns += ns;
    }
    if (last && --wait.awaited == 0 && wait.listed && !wait.done) pass_on({cause.location, part.call}, wait);
  };
  divide(explanation.wait_ns, [&](const Explanation::Part& part, std::uint64_t ns) {
    if (part.wait) {
      give_to_wait(part, ns, false);
    } else {
      accounts_[{cause.location, part.piece}].short_ns += ns;
    }
  });
  divide(passed_ns, [&](const Explanation::Part& part, std::uint64_t ns) {
    if (part.wait) {
      give_to_wait(part, ns, true);
    } else {
      accounts_[{cause.location, part.piece}].long_ns += ns;
    }
  });
}

void Backward::collect() {
  // What is left was gone through before what it is said to have caused.
  for (const auto& [event, wait] : passed_) {
    result_.unattributed_ns += wait.ns;
    result_.contradictory_ns += wait.ns;
  }
  for (const auto& [key, account] : accounts_) {
    if (account.short_ns != 0 || account.long_ns != 0) settle_account(key.first, key.second, account);
  }
  std::sort(result_.costs.begin(), result_.costs.end());
}

/// Samples only distribute the cost of a gap over call paths: by how much longer those took than the
/// waiters', or, where that tells nothing, by how long they took.
void Backward::settle_account(Location location, const Piece& piece, const Account& account) {
  std::map<std::uint32_t, std::uint64_t> weights;
  for (const auto& [context, ns] : account.excess) {
    if (ns > 0) weights[context] = static_cast<std::uint64_t>(ns);
  }
  if (weights.empty()) weights = account.sampled;
  for (const PathShare& part : divide_over_paths(piece, weights, {account.short_ns, account.long_ns})) {
    result_.costs.push_back({.location = location,
                             .path = part.path,
                             .short_term_ns = part.amounts[0],
                             .long_term_ns = part.amounts[1]});
  }
}

}  // namespace

DelayCosts delay_costs(exchange::Communicator& analysis, const Roster& roster, const Forward& forward,
                       const DelayOptions& options) {
  return Backward(analysis, roster, forward, options).run();
}

}  // namespace culprit::waits
