#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <unordered_map>
#include <vector>

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

  /// A receive is posted, for a source and tag that may be kAny.
  Sequence post(std::int32_t source, std::int32_t tag);
  /// It is complete. Appends to `ready` what may take its message now, in order.
  void complete(Sequence sequence, std::int32_t source, std::int32_t tag, std::uint64_t item,
                std::vector<Receive>& ready);
  /// It takes no message (cancelled, or damaged).
  void withdraw(Sequence sequence, std::vector<Receive>& ready);

  /// Receives posted and neither complete nor withdrawn, and those complete but held back.
  [[nodiscard]] std::size_t open() const { return posted_.size(); }
  [[nodiscard]] std::size_t held_back() const { return held_back_; }

 private:
  struct Later {
    bool operator()(const Receive& a, const Receive& b) const { return a.sequence > b.sequence; }
  };
  /// The receives posted for one source and tag, kAny included.
  struct Kind {
    std::deque<std::pair<Sequence, bool>> posted;                       // in order; and whether it is gone
    std::priority_queue<Receive, std::vector<Receive>, Later> waiting;  // for the first of them
    [[nodiscard]] Sequence first() const { return posted.empty() ? ~Sequence{0} : posted.front().first; }
  };
  using Key = std::uint64_t;
  static Key key(std::int32_t source, std::int32_t tag) {
    return std::uint64_t{static_cast<std::uint32_t>(source)} << 32 | static_cast<std::uint32_t>(tag);
  }

  void place(const Receive& receive, std::vector<Receive>& ready);
  void remove(Sequence sequence, std::vector<Receive>& ready);

  Sequence next_ = 1;
  std::size_t held_back_ = 0;
  std::unordered_map<Sequence, Key> posted_;
  std::unordered_map<Key, Kind> kinds_;
};

}  // namespace culprit::waits
