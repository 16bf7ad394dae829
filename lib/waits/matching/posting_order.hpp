#pragma once

#include "storage/hash.hpp"

#include <cstddef>
#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

namespace culprit::waits {

/// Brings the receives of one process in one communicator, whose source and tag are known only once they are
/// complete, into the order in which MPI lets them take messages: the order of posting, among those for one
/// source and tag (MPI-3.1, 3.5). A complete receive is held back while an earlier one that might have taken
/// the same message is not. Each receive costs O(log n), however many are open.
class PostingOrder {
 public:
  using Sequence = std::uint64_t;
  static constexpr std::int32_t kAny = -2;  ///< source or tag, as posted

  /// A complete receive; `item` is the caller's.
  struct Receive {
    Sequence sequence = 0;
    std::int32_t source = 0, tag = 0;
    std::uint64_t item = 0;
  };

  /// A posted receive, until it is complete or withdrawn: exactly one of them, once.
  struct Ticket {
    Sequence sequence = 0;
    std::uint32_t kind = 0;  ///< its number, as long as the receive is open
  };

  /// A receive is posted, for a source and tag that may be kAny.
  Ticket post(std::int32_t source, std::int32_t tag);
  /// It is complete. Whether it may take its message now and nothing waited for it, as mostly: then that is
  /// all. Else nothing has changed, and it is to be completed as follows.
  [[nodiscard]] bool take(const Ticket& ticket, std::int32_t source, std::int32_t tag);
  /// It is complete. Appends to `ready` what may take its message now, in order.
  void complete(const Ticket& ticket, std::int32_t source, std::int32_t tag, std::uint64_t item,
                std::vector<Receive>& ready);
  /// It takes no message (cancelled, or damaged).
  void withdraw(const Ticket& ticket, std::vector<Receive>& ready);

  /// Whether a receive that is complete as soon as it is posted may take its message at once: nothing else
  /// has to know of it.
  [[nodiscard]] bool idle() const { return open_ == 0; }

  /// Receives posted and neither complete nor withdrawn, and those complete but held back.
  [[nodiscard]] std::size_t open() const { return open_; }
  [[nodiscard]] std::size_t held_back() const { return held_back_; }

 private:
  /// Kinds without any receive that are kept for the next one.
  static constexpr std::size_t kKeptKinds = 256;

  using Key = std::uint64_t;
  struct Later {
    bool operator()(const Receive& a, const Receive& b) const { return a.sequence > b.sequence; }
  };
  /// The receives posted for one source and tag, kAny included.
  struct Kind {
    Key key = 0;
    std::vector<std::pair<Sequence, bool>> posted;  // in order, from `first` on; and whether it is gone
    std::size_t first = 0;
    std::priority_queue<Receive, std::vector<Receive>, Later> waiting;  // for the first of them
    [[nodiscard]] bool empty() const { return first == posted.size(); }
    [[nodiscard]] Sequence next() const { return empty() ? ~Sequence{0} : posted[first].first; }
  };
  struct KeyHash {
    std::size_t operator()(Key key) const { return storage::hash_of(key); }
  };

  [[nodiscard]] bool hold_back(Kind& rival, const Receive& receive);
  [[nodiscard]] Kind* find(Key key);
  void place(const Receive& receive, Kind* exact, std::vector<Receive>& ready);
  void place(const Receive& receive, std::vector<Receive>& ready);
  void remove(const Ticket& ticket, std::vector<Receive>& ready);
  void take_off(Kind& kind, Sequence sequence);

  Sequence next_ = 1;
  std::size_t open_ = 0, held_back_ = 0;
  std::size_t open_any_ = 0;  // posted for any source or any tag, of those open
  tsl::robin_map<Key, std::uint32_t, KeyHash> numbers_;
  std::vector<Kind> kinds_;  // by number
  std::vector<std::uint32_t> free_;
};

}  // namespace culprit::waits
