#include "waits/wait_sums.hpp"

#include "waits/hash.hpp"
#include "waits/letter.hpp"

#include <algorithm>
#include <compare>

#include <tsl/robin_map.h>

namespace culprit::waits {

namespace {

/// A wait on its way to where its cause was recorded, which knows that call's path.
struct WaitLetter {
  static constexpr std::uint8_t kLetter = 23;
  EventId cause;
  Location location = kNoLocation;
  std::uint32_t context = 0;
  Pattern pattern = Pattern::none;
  std::uint64_t ns = 0;
};

struct Key {
  Pattern pattern = Pattern::none;
  Location location = 0;
  std::uint32_t context = 0;
  Location cause = 0;
  std::uint32_t cause_context = 0;
  friend auto operator<=>(const Key&, const Key&) = default;  // NOLINT(modernize-use-nullptr)
};
struct KeyHash {
  std::size_t operator()(const Key& key) const {
    return hash_of(joined(key.location, key.cause), joined(key.context, key.cause_context)) ^
           static_cast<std::size_t>(key.pattern);
  }
};

class Summation {
 public:
  using Letters = LetterList<WaitLetter>;

  Summation(exchange::Communicator& analysis, const Roster& roster, const Forward& forward)
      : analysis_(analysis), roster_(roster), forward_(forward), mail_(analysis) {
    for (const TimeLine& line : forward.ledger.lines()) lines_.push_back({&line, 0});
  }

  std::vector<WaitSum> run(std::uint64_t waits_per_round) {
    const auto ranks = static_cast<std::uint64_t>(analysis_.size());
    const std::uint64_t most = std::max<std::uint64_t>(waits_per_round / ranks, 1);
    while (analysis_.all_sum(post(most)) > 0) mail_.deliver(*this);
    std::vector<std::pair<Key, Amount>> sorted(sums_.begin(), sums_.end());
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<WaitSum> sums;
    sums.reserve(sorted.size());
    for (const auto& [key, amount] : sorted) {
      sums.push_back(
          {key.pattern, key.location, key.cause, key.context, key.cause_context, amount.ns, amount.count});
    }
    return sums;
  }

  void receive(const WaitLetter& letter) {
    const Event cause = forward_.ledger.line(letter.cause.location).events[letter.cause.index];
    Amount& amount =
        sums_[{letter.pattern, letter.location, letter.context, letter.cause.location, cause.context}];
    amount.ns += letter.ns;
    ++amount.count;
  }

 private:
  struct Line {
    const TimeLine* line = nullptr;
    std::size_t next = 0;
  };
  struct Amount {
    std::uint64_t ns = 0, count = 0;
  };

  std::uint64_t post(std::uint64_t most) {
    std::uint64_t count = 0;
    for (Line& own : lines_) {
      for (; count < most && own.next < own.line->waits.size(); ++own.next, ++count) {
        const Wait wait = own.line->waits[own.next];
        const WaitLetter letter{.cause = wait.cause,
                                .location = own.line->location,
                                .context = own.line->events[wait.event].context,
                                .pattern = wait.pattern,
                                .ns = wait.ns};
        const int to = roster_.holder_of(wait.cause.location);
        if (to == mail_.here()) {
          receive(letter);
        } else {
          mail_.send(to, letter);
        }
      }
    }
    return count;
  }

  exchange::Communicator& analysis_;
  const Roster& roster_;
  const Forward& forward_;
  Mail mail_;
  std::vector<Line> lines_;
  tsl::robin_map<Key, Amount, KeyHash> sums_;
};

}  // namespace

std::vector<WaitSum> sum_waits(exchange::Communicator& analysis, const Roster& roster, const Forward& forward,
                               std::uint64_t waits_per_round) {
  return Summation(analysis, roster, forward).run(waits_per_round);
}

}  // namespace culprit::waits
