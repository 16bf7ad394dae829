#pragma once

#include <cstddef>
#include <cstdlib>

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

}  // namespace culprit::mpi
