#include "waits/wait_sums.hpp"

#include "waits/hash.hpp"
#include "waits/letter.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <type_traits>

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

/// What is told apart among the waits of one time line.
struct Key {
  Location cause = 0;
  std::uint32_t context = 0, cause_context = 0;
  Pattern pattern = Pattern::none;
  friend bool operator==(const Key&, const Key&) = default;
};
struct KeyHash {
  std::size_t operator()(const Key& key) const {
    return hash_of(joined(key.cause, static_cast<std::uint32_t>(key.pattern)),
                   joined(key.context, key.cause_context));
  }
};

bool comes_before(const WaitSum& a, const WaitSum& b) {
  return std::tuple(a.pattern, a.context, a.cause, a.cause_context) <
         std::tuple(b.pattern, b.context, b.cause, b.cause_context);
}

class Summation {
 public:
  using Letters = LetterList<WaitLetter>;

  Summation(exchange::Communicator& analysis, const Roster& roster, const Forward& forward)
      : analysis_(analysis),
        roster_(roster),
        forward_(forward),
        mail_(analysis),
        streams_(static_cast<std::size_t>(analysis.size())) {
    for (const TimeLine& line : forward.ledger.lines()) lines_.push_back({&line, 0});
  }

  std::vector<WaitSum> run(std::uint64_t waits_per_round) {
    const auto ranks = static_cast<std::uint64_t>(analysis_.size());
    const std::uint64_t most = std::max<std::uint64_t>(waits_per_round / ranks, 1);
    while (analysis_.all_sum(post(most)) > 0) mail_.deliver(*this);
    for (Stream& stream : streams_) close(stream);
    return sorted();
  }

  void receive(const WaitLetter& letter) {
    Stream& stream = streams_[static_cast<std::size_t>(roster_.holder_of(letter.location))];
    if (stream.location != letter.location) {
      close(stream);
      stream.location = letter.location;
    }
    const Event cause = forward_.ledger.line(letter.cause.location).events[letter.cause.index];
    Amount& amount = stream.sums[{letter.cause.location, letter.context, cause.context, letter.pattern}];
    amount.ns += letter.ns;
    ++amount.count;
  }

 private:
  /// Of buckets to sums: tables that have more were made for a time line with many more.
  static constexpr std::size_t kWide = 16;

  struct Line {
    const TimeLine* line = nullptr;
    std::size_t next = 0;
  };
  struct Amount {
    std::uint64_t ns = 0, count = 0;
  };

  /// What comes from one rank of the analysis: one time line after the other.
  struct Stream {
    Location location = kNoLocation;
    tsl::robin_map<Key, Amount, KeyHash> sums;
  };
  /// Sums of one time line, in their order: from here on, up to the next one's.
  struct Part {
    Location location = kNoLocation;
    std::size_t first = 0, last = 0;
  };

  /// The time line that the stream was at has no further waits.
  void close(Stream& stream) {
    if (stream.sums.empty()) return;
    const std::size_t first = sums_.size();
    for (const auto& [key, amount] : stream.sums) {
      sums_.push_back(
          {key.pattern, stream.location, key.cause, key.context, key.cause_context, amount.ns, amount.count});
    }
    std::sort(sums_.begin() + static_cast<std::ptrdiff_t>(first), sums_.end(), comes_before);
    parts_.push_back({stream.location, first, sums_.size()});
    // Emptying a table takes as long as it once was.
    if (stream.sums.bucket_count() > kWide * stream.sums.size()) {
      stream.sums = {};
    } else {
      stream.sums.clear();
    }
  }

  /// By pattern, and of each pattern by time line: the parts need not be sorted again.
  std::vector<WaitSum> sorted() {
    std::sort(parts_.begin(), parts_.end(),
              [](const Part& a, const Part& b) { return a.location < b.location; });
    std::vector<std::size_t> next(std::numeric_limits<std::underlying_type_t<Pattern>>::max() + 2, 0);
    for (const WaitSum& sum : sums_) ++next[static_cast<std::size_t>(sum.pattern) + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    std::vector<WaitSum> all(sums_.size());
    for (const Part& part : parts_) {
      for (std::size_t i = part.first; i < part.last; ++i)
        all[next[static_cast<std::size_t>(sums_[i].pattern)]++] = sums_[i];
    }
    return all;
  }

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
  std::vector<Stream> streams_;  // by rank of the analysis
  std::vector<WaitSum> sums_;    // in parts
  std::vector<Part> parts_;
};

}  // namespace

std::vector<WaitSum> sum_waits(exchange::Communicator& analysis, const Roster& roster, const Forward& forward,
                               std::uint64_t waits_per_round) {
  return Summation(analysis, roster, forward).run(waits_per_round);
}

}  // namespace culprit::waits
