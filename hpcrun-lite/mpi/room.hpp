#pragma once

#include "mpi/call_facts.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <optional>

namespace culprit::mpi {

/// Room for items of a number that is known late: a few on the stack, more in memory of their own. Not for
/// signal handlers.
template <typename Item, std::size_t kFew>
class Room {
 public:
  explicit Room(std::size_t size)
      // NOLINTNEXTLINE(bugprone-sizeof-expression): Open MPI's handles are pointers
      : items_(size <= kFew ? few_ : static_cast<Item*>(malloc(size * sizeof(Item)))),
        size_(items_ != nullptr ? size : 0) {}
  ~Room() {
    if (items_ != few_) free(items_);
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  Item* data() { return items_; }
  /// As asked for; 0 where there is no memory.
  [[nodiscard]] std::size_t size() const { return size_; }
  Item& operator[](std::size_t at) { return items_[at]; }

 private:
  Item few_[kFew];
  Item* items_;
  std::size_t size_;
};

/// The handles that MPI_Start or MPI_Startall was given. Open MPI replaces that of a buffered send of which
/// the last message is still under way.
class StartedHandles {
 public:
  /// Before the call.
  void keep(const RequestStart& facts) {
    handles_.emplace(static_cast<std::size_t>(std::max(facts.count, 0)));
    std::copy_n(facts.requests, handles_->size(), handles_->data());
  }
  /// After it: the n-th one, as it was; the one that it has now, where there was no memory.
  [[nodiscard]] MPI_Request before(const RequestStart& facts, int n) {
    const auto at = static_cast<std::size_t>(n);
    return at < handles_->size() ? (*handles_)[at] : facts.requests[n];
  }

 private:
  static constexpr std::size_t kFew = 32;  ///< on the stack

  std::optional<Room<MPI_Request, kFew>> handles_;
};

}  // namespace culprit::mpi
