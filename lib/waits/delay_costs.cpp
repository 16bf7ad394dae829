#include "waits/delay_costs.hpp"

#include "waits/burden.hpp"
#include "waits/causer_intervals.hpp"
#include "waits/compared_line.hpp"
#include "waits/hash.hpp"
#include "waits/interval_profile.hpp"
#include "waits/letter.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include <tsl/robin_map.h>

namespace culprit::waits {

namespace {

/// Waits of a round, at least: in all, so that meeting takes a small part of the time, and of each time line,
/// for the same with turning to it. Not more: those of one line are taken together, and between two that wait
/// for the same call lie all of one line's. What contradictory clocks make of a round depends on where it
/// ends, so that must not depend on the number of ranks of the analysis.
constexpr std::uint64_t kWaits = 1 << 13, kWaitsOfLine = 128;

/// The profile of a waiter's synchronization interval, on its way to where the cause was recorded.
struct ProfileLetter {
  static constexpr std::uint8_t kLetter = 20;
  using Item = PieceTime;
  EventId cause;
  std::uint64_t wait_ns = 0;
  IntervalStart start;
  bool cause_ends = false;
  bool first = false;
  int from = 0;
  Location waiter = kNoLocation;
  std::uint32_t waiter_context = 0;
};
/// All that was passed on to a wait, once that is known.
struct PassedOnLetter {
  static constexpr std::uint8_t kLetter = 21;
  int from = 0;
  std::uint32_t number = 0;  ///< of the profile, among those from there in this round
  std::uint64_t ns = 0;
};

/// What explains one wait: the pieces that its causer did longer, and the causer's own waits.
struct Explanation {
  std::uint64_t wait_ns = 0;
  std::uint64_t whole_ns = 0;  // what the parts are shares of
  std::uint64_t waits_ns = 0;
  Burden::Range waits;
  std::uint32_t line = 0;  // the causer's, here
  std::uint32_t first_delay = 0, delays = 0;
};
struct Delay {
  std::uint32_t account = 0;
  std::uint64_t ns = 0;
};

/// What a piece of one time line cost.
struct Account {
  std::uint32_t line = 0, piece = 0;
  std::uint64_t short_ns = 0, long_ns = 0;
};
/// How much longer a call path sampled in a piece took than the waiters', in ns of cost; and how long it
/// took, for where no excess tells.
struct Sampled {
  std::int64_t excess = 0;
  std::uint64_t ns = 0;
};

class Backward {
 public:
  using Letters = LetterList<ProfileLetter, PassedOnLetter>;

  Backward(exchange::Communicator& analysis, const Roster& roster, const Forward& forward,
           const DelayOptions& options)
      : analysis_(analysis),
        roster_(roster),
        forward_(forward),
        options_(options),
        mail_(analysis),
        causers_(forward.pieces),
        waiter_(forward.pieces),
        longer_(forward.pieces),
        explanations_(static_cast<std::size_t>(analysis.size())),
        sent_(static_cast<std::size_t>(analysis.size())) {
    options_.asked_together = std::max<std::size_t>(options_.asked_together, 1);
    if (options_.waits_per_round == 0)
      options_.waits_per_round = std::max(kWaits, kWaitsOfLine * std::uint64_t{roster.locations()});
    lines_.reserve(forward.ledger.lines().size());
    for (const TimeLine& line : forward.ledger.lines()) {
      Line& own = lines_.emplace_back(line, forward.pieces, forward.ledger.spill());
      find_latest(own);
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

  void receive(const ProfileLetter& letter, std::span<const PieceTime> waiter);
  void receive(const PassedOnLetter& letter);

 private:
  struct Line {
    Line(const TimeLine& line, const Pieces& pieces, Spill& spill)
        : compared(line, pieces, spill), burden(line), next(static_cast<std::uint32_t>(line.waits.size())) {}
    ComparedLine compared;
    Burden burden;
    std::uint32_t next = 0;        // one past the wait that is next, backwards
    Wait latest;                   // that one
    std::uint32_t listed = 0;      // where those of this round begin
    std::uint32_t listed_end = 0;  // and end, in the list
  };
  /// A wait of this round, on its way to be passed on.
  struct Listed {
    std::uint32_t line = 0, wait = 0;
    int to = 0;
    std::uint32_t number = 0;
  };

  /// Leaves out parts and completions, which nobody is to blame for.
  static void find_latest(Line& line) {
    for (; line.next > 0; --line.next) {
      line.latest = line.compared.line().waits[line.next - 1];
      if (is_wait(line.latest.pattern)) return;
    }
  }
  /// Over all ranks: when the latest wait ended that was not looked at yet; 0 for none.
  std::uint64_t latest_wait() {
    std::uint64_t latest = 0;
    for (const Line& line : lines_) {
      if (line.next > 0) latest = std::max(latest, line.latest.until_ns);
    }
    return analysis_.all_max(latest);
  }

  std::uint64_t round(std::uint64_t since);
  void list_all(std::uint64_t since);
  void list(std::uint32_t at, std::uint64_t since);
  void list(std::uint32_t at, const Wait& wait);
  void explain(const ProfileLetter& letter, const IntervalProfile& waiter);
  void pass_on(const Listed& one);
  void pass_on_ready(const Line& own);
  void settle_queued();
  void distribute(const Explanation& explanation, std::uint64_t passed_ns);
  std::uint32_t account(std::uint32_t line, std::uint32_t piece);
  [[nodiscard]] std::uint32_t piece_of(const Delay& delay) const { return accounts_[delay.account].piece; }
  void add_samples(const Explanation& explanation, std::span<const PieceTime> times, std::int64_t sign);
  void collect();

  struct Hash {
    std::size_t operator()(std::uint64_t key) const { return hash_of(key); }
  };
  struct SampledKey {
    std::uint32_t account = 0, context = 0;
    friend auto operator<=>(const SampledKey&, const SampledKey&) = default;  // NOLINT(modernize-use-nullptr)
  };
  struct SampledHash {
    std::size_t operator()(const SampledKey& key) const { return hash_of(joined(key.account, key.context)); }
  };

  /// The one of these hashes that was asked for last.
  struct SeenAccount {
    std::uint64_t key = ~std::uint64_t{0};
    std::uint32_t account = 0;
  };
  static constexpr std::size_t kSeen = 1024;

  void settle_account(const Account& account, std::span<const std::pair<SampledKey, Sampled>> sampled);

  exchange::Communicator& analysis_;
  const Roster& roster_;
  const Forward& forward_;
  DelayOptions options_;
  Mail mail_;
  CauserIntervals causers_;
  IntervalProfile waiter_, longer_;  // kept for their memory
  DelayCosts result_;
  std::vector<Line> lines_;  // as in the ledger
  // Of this round.
  std::vector<Listed> listed_;
  std::size_t asked_ = 0;  // on other ranks, of those that are explained together
  std::vector<std::vector<Explanation>> explanations_;  // by the rank that asked, as it numbers them
  std::vector<std::uint32_t> sent_;                     // by rank: profiles so far
  std::vector<Delay> delays_;                           // of all explanations
  std::vector<PassedOnLetter> queued_;                  // for here
  std::vector<std::uint32_t> ready_;                    // waits of one line
  std::vector<PieceTime> times_;                        // kept for its memory
  // Of all.
  tsl::robin_map<std::uint64_t, std::uint32_t, Hash> account_of_;  // by line and piece
  std::vector<Account> accounts_;
  std::vector<SeenAccount> seen_ = std::vector<SeenAccount>(kSeen);
  tsl::robin_map<SampledKey, Sampled, SampledHash> sampled_;
};

/// All waits that ended after `since`: explained first, so that it is known what will be passed on to which;
/// then each is passed on once all that it will get has arrived. Returns how many.
std::uint64_t Backward::round(std::uint64_t since) {
  listed_.clear();
  delays_.clear();
  for (std::vector<Explanation>& from : explanations_) from.clear();
  std::fill(sent_.begin(), sent_.end(), 0);
  list_all(since);
  const std::uint64_t count = analysis_.all_sum(listed_.size());
  for (const Listed& one : listed_) {
    const Burden& burden = lines_[one.line].burden;
    if (!burden.taken(one.wait) && burden.complete(one.wait)) pass_on(one);
    settle_queued();
  }
  mail_.deliver(*this);
  // What is left waits for itself: only contradictory clocks can say so.
  for (const Listed& one : listed_) {
    if (!lines_[one.line].burden.taken(one.wait)) pass_on(one);
    settle_queued();
  }
  mail_.deliver(*this);
  for (Line& line : lines_) line.burden.close();
  return count;
}

/// Some lines at a time: the letters for all of them would fit into no cache.
void Backward::list_all(std::uint64_t since) {
  std::uint32_t line = 0;
  do {
    asked_ = 0;
    for (; line < lines_.size() && asked_ < options_.asked_together; ++line) list(line, since);
    mail_.deliver(*this);
  } while (analysis_.all_sum(lines_.size() - line) > 0);
}

/// Those of one line.
void Backward::list(std::uint32_t at, std::uint64_t since) {
  Line& own = lines_[at];
  own.listed = static_cast<std::uint32_t>(listed_.size());
  for (; own.next > 0 && own.latest.until_ns > since; --own.next, find_latest(own)) list(at, own.latest);
  own.listed_end = static_cast<std::uint32_t>(listed_.size());
  own.burden.list(own.next);
}

/// What explains a wait is asked for where its cause was recorded.
void Backward::list(std::uint32_t at, const Wait& wait) {
  Line& own = lines_[at];
  const int to = roster_.holder_of(wait.cause.location);
  listed_.push_back({at, own.next - 1, to, sent_[static_cast<std::size_t>(to)]++});
  waiter_.clear();
  own.compared.add(ComparedLine::of_wait(wait), waiter_);
  const ProfileLetter letter{.cause = wait.cause,
                             .wait_ns = wait.ns,
                             .start = wait.start(),
                             .cause_ends = wait.cause_ends,
                             .first = wait.first,
                             .from = mail_.here(),
                             .waiter = own.compared.line().location,
                             .waiter_context = wait.context};
  if (to == mail_.here()) {
    explain(letter, waiter_);
    return;
  }
  times_.clear();
  for (const std::uint32_t piece : waiter_.pieces())
    times_.push_back({.piece = piece, .ns = waiter_.of(piece)});
  times_.insert(times_.end(), waiter_.samples().begin(), waiter_.samples().end());
  mail_.send(to, letter, times_);
  ++asked_;
}

void Backward::pass_on(const Listed& one) {
  const PassedOnLetter letter{mail_.here(), one.number, lines_[one.line].burden.take(one.wait)};
  if (one.to == mail_.here()) {
    queued_.push_back(letter);
  } else {
    mail_.send(one.to, letter);
  }
}

void Backward::receive(const ProfileLetter& letter, std::span<const PieceTime> waiter) {
  waiter_.clear();
  for (const PieceTime& time : waiter) waiter_.add(time);
  explain(letter, waiter_);
}

void Backward::explain(const ProfileLetter& letter, const IntervalProfile& waiter) {
  const std::uint32_t at = forward_.ledger.index_of(letter.cause.location);
  Line& own = lines_[at];
  const CauserInterval causer = causers_.find(
      CauserIntervals::Key::of(letter.cause, letter.start, letter.cause_ends), own.compared, own.burden);
  Explanation& explanation = explanations_[static_cast<std::size_t>(letter.from)].emplace_back();
  explanation.wait_ns = letter.wait_ns;
  explanation.waits = causer.waits;
  explanation.waits_ns = causer.waits_ns;
  explanation.line = at;
  explanation.first_delay = static_cast<std::uint32_t>(delays_.size());
  longer_.clear();
  std::uint64_t sum = 0;
  for (CauserInterval::Time& time : causer.times) {
    const std::uint64_t less = waiter.of(time.piece);
    if (time.ns <= less) continue;
    if (time.account == CauserInterval::Time::kNoAccount)
      time.account = account(at, time.piece == forward_.pieces.met() ? causer.met_piece : time.piece);
    delays_.push_back({.account = time.account, .ns = time.ns - less});
    longer_.add(time.piece, time.ns - less);
    sum += time.ns - less;
  }
  explanation.delays = static_cast<std::uint32_t>(delays_.size()) - explanation.first_delay;
  own.burden.announce(explanation.waits);
  explanation.whole_ns = std::max(sum + explanation.waits_ns, letter.wait_ns);
  add_samples(explanation, causer.samples, 1);
  add_samples(explanation, waiter.samples(), -1);
  if (!options_.observer) return;
  options_.observer({.waiter = letter.waiter,
                     .waiter_context = letter.waiter_context,
                     .cause = letter.cause,
                     .ns = letter.wait_ns,
                     .first = letter.first,
                     .waiter_profile = waiter,
                     .longer = longer_,
                     .longer_ns = sum,
                     .causer_samples = causer.samples,
                     .met_piece = causer.met_piece});
}

/// How much longer each sampled call path took, in ns of the cost that it explains.
void Backward::add_samples(const Explanation& explanation, std::span<const PieceTime> times,
                           std::int64_t sign) {
  for (const PieceTime& time : times) {
    Sampled& sampled = sampled_[{account(explanation.line, time.piece), time.context}];
    sampled.excess +=
        sign * static_cast<std::int64_t>(share(time.ns, explanation.wait_ns, explanation.whole_ns));
    if (sign > 0) sampled.ns += time.ns;
  }
}

std::uint32_t Backward::account(std::uint32_t line, std::uint32_t piece) {
  const std::uint64_t key = joined(line, piece);
  SeenAccount& seen = seen_[hash_of(key) % kSeen];
  if (seen.key == key) return seen.account;
  const auto [entry, added] = account_of_.try_emplace(key, static_cast<std::uint32_t>(accounts_.size()));
  if (added) accounts_.push_back({.line = line, .piece = piece});
  seen = {key, entry->second};
  return entry->second;
}

void Backward::receive(const PassedOnLetter& letter) {
  queued_.push_back(letter);
  settle_queued();
}

/// What settles one may make others ready: not by recursion, chains of waits are long.
void Backward::settle_queued() {
  while (!queued_.empty()) {
    const PassedOnLetter letter = queued_.back();
    queued_.pop_back();
    distribute(explanations_[static_cast<std::size_t>(letter.from)][letter.number], letter.ns);
  }
}

/// Divides a wait, and what was passed on to it, among its parts; what rounding leaves goes to the largest.
void Backward::distribute(const Explanation& explanation, std::uint64_t passed_ns) {
  const std::span<const Delay> delays =
      std::span(delays_).subspan(explanation.first_delay, explanation.delays);
  const std::uint64_t whole = explanation.whole_ns;
  const Delay* largest = nullptr;
  std::uint64_t parts_ns = explanation.waits_ns;
  for (const Delay& delay : delays) {
    parts_ns += delay.ns;
    // Among equals the one of the first piece: in which order they came depends on what was kept of the line.
    const bool larger = largest == nullptr || delay.ns > largest->ns ||
                        (delay.ns == largest->ns && piece_of(delay) < piece_of(*largest));
    if (larger) largest = &delay;
  }
  if (largest != nullptr && largest->ns < explanation.waits_ns) largest = nullptr;
  const std::uint64_t indirect = share(explanation.wait_ns, explanation.waits_ns, whole);
  result_.indirect_ns += indirect;
  result_.direct_ns += explanation.wait_ns - indirect;

  const bool all = parts_ns == whole;  // nothing remains unattributed but by rounding
  std::uint64_t to_waits = 0;
  const auto divide = [&](std::uint64_t amount, std::uint64_t Account::*cost) {
    if (amount == 0) return;
    std::uint64_t left = amount;
    for (const Delay& delay : delays) {
      const std::uint64_t ns = share(amount, delay.ns, whole);
      accounts_[delay.account].*cost += ns;
      left -= ns;
    }
    const std::uint64_t ns = share(amount, explanation.waits_ns, whole);
    to_waits += ns;
    left -= ns;
    if (!all) {
      result_.unattributed_ns += left;
    } else if (largest != nullptr) {
      accounts_[largest->account].*cost += left;
    } else {
      to_waits += left;
    }
  };
  divide(explanation.wait_ns, &Account::short_ns);
  divide(passed_ns, &Account::long_ns);

  Line& own = lines_[explanation.line];
  ready_.clear();
  const std::uint64_t late = own.burden.give(explanation.waits, to_waits, ready_);
  result_.unattributed_ns += late;  // these lie after what they are said to have caused
  result_.contradictory_ns += late;
  pass_on_ready(own);
}

/// Waits of a line to which nothing more will come.
void Backward::pass_on_ready(const Line& own) {
  const auto begin = listed_.begin() + own.listed;
  const auto end = listed_.begin() + own.listed_end;
  for (const std::uint32_t wait : ready_) {
    const auto found =
        std::lower_bound(begin, end, wait, [](const Listed& one, std::uint32_t at) { return one.wait > at; });
    // Parts of waits are nobody's concern.
    if (found != end && found->wait == wait && !own.burden.taken(wait)) pass_on(*found);
  }
}

void Backward::collect() {
  for (const Line& line : lines_) {  // gone through before what they are said to have caused
    result_.unattributed_ns += line.burden.left();
    result_.contradictory_ns += line.burden.left();
  }
  std::vector<std::pair<SampledKey, Sampled>> sampled(sampled_.begin(), sampled_.end());
  std::sort(sampled.begin(), sampled.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  auto next = sampled.begin();
  for (std::uint32_t i = 0; i < accounts_.size(); ++i) {
    const auto first = next;
    while (next != sampled.end() && next->first.account == i) ++next;
    settle_account(accounts_[i], {first, next});
  }
  std::sort(result_.costs.begin(), result_.costs.end());
}

/// Samples only distribute the cost of a gap over call paths: by how much longer those took than the
/// waiters', or, where that tells nothing, by how long they took.
void Backward::settle_account(const Account& account,
                              std::span<const std::pair<SampledKey, Sampled>> sampled) {
  if (account.short_ns == 0 && account.long_ns == 0) return;
  std::map<std::uint32_t, std::uint64_t> weights;
  for (const auto& [key, one] : sampled) {
    if (one.excess > 0) weights[key.context] = static_cast<std::uint64_t>(one.excess);
  }
  if (weights.empty()) {
    for (const auto& [key, one] : sampled) {
      if (one.ns > 0) weights[key.context] = one.ns;
    }
  }
  for (const PathShare& part :
       divide_over_paths(forward_.pieces[account.piece], weights, {account.short_ns, account.long_ns})) {
    result_.costs.push_back({.location = lines_[account.line].compared.line().location,
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
