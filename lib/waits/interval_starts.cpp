#include "waits/interval_starts.hpp"

#include "waits/last_meetings.hpp"
#include "waits/letter.hpp"

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

namespace culprit::waits {

namespace {

/// A call on the recipient's time line ended a wait.
struct AwaitedLetter {
  static constexpr std::uint8_t kLetter = 15;
  EventId cause, waiter;
  bool by_its_end = false;
};

/// Letters that one rank of the analysis writes between two exchanges: some MB.
constexpr std::uint64_t kWaitsPerRound = 1 << 18;

/// What ended others' waits on one time line, in the order of calls.
class AwaitedInOrder {
 public:
  explicit AwaitedInOrder(ByCall<Awaited>& all) : all_(all) {}

  /// The next one; nullptr: none.
  const Awaited* next() {
    for (; at_ == items_.size(); at_ = 0) {
      if (part_ == all_.parts()) return nullptr;
      all_.take(part_++, items_, [](const Awaited& a, const Awaited& b) {
        return std::tuple(a.by_its_end, a.waiter) < std::tuple(b.by_its_end, b.waiter);
      });
    }
    return &items_[at_];
  }
  void advance() { ++at_; }

 private:
  ByCall<Awaited>& all_;
  std::size_t part_ = 0, at_ = 0;
  std::vector<Awaited> items_;
};

class Search {
 public:
  using Letters = LetterList<AwaitedLetter>;

  Search(exchange::Communicator& analysis, const Roster& roster, const Contexts& contexts, Ledger& ledger)
      : analysis_(analysis), roster_(roster), contexts_(contexts), ledger_(ledger), mail_(analysis) {}

  void run() {
    std::vector<Place> places(ledger_.lines().size());
    while (analysis_.all_sum(tell(places)) > 0) mail_.deliver(*this);
    for (TimeLine& line : ledger_.lines()) find_starts(line);
  }

  void receive(const AwaitedLetter& letter) {
    ledger_.line(letter.cause.location)
        .awaited.add({.event = letter.cause.index, .by_its_end = letter.by_its_end, .waiter = letter.waiter});
  }

 private:
  /// How far one time line's waits were told.
  struct Place {
    std::size_t wait = 0, attendance = 0;
  };

  /// Tells the next waits' causes of them; returns how many were looked at.
  std::uint64_t tell(std::vector<Place>& places) {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const TimeLine& line = ledger_.lines()[i];
      for (Place& place = places[i]; count < kWaitsPerRound && place.wait < line.waits.size(); ++count) {
        const Wait wait = line.waits[place.wait++];
        if (is_wait(wait.pattern) && !met_by_all(line, wait.event, place.attendance)) tell(line, wait);
      }
    }
    return count;
  }

  void tell(const TimeLine& line, const Wait& wait) {
    const AwaitedLetter letter{wait.cause, {line.location, wait.event}, wait.cause_ends};
    const int to = roster_.holder_of(wait.cause.location);
    if (to == mail_.here()) {
      receive(letter);
    } else {
      mail_.send(to, letter);
    }
  }

  /// Whether the call is one in which all members met, so that nobody need be told. Calls come in order.
  static bool met_by_all(const TimeLine& line, std::uint32_t call, std::size_t& attendance) {
    while (attendance < line.attendances.size() && line.attendances[attendance].event < call) ++attendance;
    if (attendance == line.attendances.size()) return false;
    const Attendance attended = line.attendances[attendance];
    return attended.event == call && attended.met;
  }

  void find_starts(TimeLine& line) {
    LastMeetings last(contexts_, roster_);
    AwaitedInOrder awaited(line.awaited);
    std::size_t attendance = 0;
    for (std::size_t i = 0; i < line.waits.size(); ++i) {
      Wait wait = line.waits[i];
      if (!is_wait(wait.pattern)) continue;
      for (const Awaited* one = awaited.next(); one != nullptr; one = awaited.next()) {
        // Who was waited for when it entered the call had met the waiter before it waits in it.
        if (one->event > wait.event || (one->event == wait.event && one->by_its_end)) break;
        last.met(*one);
        awaited.advance();
      }
      for (; attendance < line.attendances.size(); ++attendance) {
        const Attendance attended = line.attendances[attendance];
        if (attended.event >= wait.event) break;
        if (attended.met) last.met(attended);
      }
      wait.start = last.with(wait.cause);
      line.waits.set(i, wait);
      last.met(wait);
    }
    line.awaited.clear();
  }

  exchange::Communicator& analysis_;
  const Roster& roster_;
  const Contexts& contexts_;
  Ledger& ledger_;
  Mail mail_;
};

}  // namespace

void find_interval_starts(exchange::Communicator& analysis, const Roster& roster, const Contexts& contexts,
                          Ledger& ledger) {
  Search(analysis, roster, contexts, ledger).run();
}

}  // namespace culprit::waits
