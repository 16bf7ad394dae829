#pragma once

#include "storage/spill.hpp"

#include <algorithm>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace culprit::storage {

/// Items in the order in which they were added, in the blocks of a Spill, which must outlive it. Items are
/// read as copies: the block that one lies in may have to leave memory for the next. Throws SpillError.
template <typename Item>
class Sequence {
  static_assert(std::is_trivially_copyable_v<Item> && sizeof(Item) <= Spill::kLeastBlock);

 public:
  explicit Sequence(Spill& spill)
      : spill_(&spill),
        shift_(std::countr_zero(spill.items_in_block(sizeof(Item)))),
        mask_((std::size_t{1} << shift_) - 1) {}
  Sequence(Sequence&& other) noexcept
      : spill_(other.spill_),
        shift_(other.shift_),
        mask_(other.mask_),
        blocks_(std::exchange(other.blocks_, {})),
        size_(std::exchange(other.size_, 0)) {}
  Sequence& operator=(Sequence&& other) noexcept {
    std::swap(spill_, other.spill_);
    std::swap(shift_, other.shift_);
    std::swap(mask_, other.mask_);
    std::swap(blocks_, other.blocks_);
    std::swap(size_, other.size_);
    return *this;
  }
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;
  ~Sequence() { clear(); }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] Item operator[](std::size_t index) const {
    Item item;
    std::memcpy(static_cast<void*>(&item),
                spill_->read(blocks_[index >> shift_]) + (index & mask_) * sizeof(Item), sizeof(Item));
    return item;
  }
  /// Those from `index` on that lie together, at least one: until any sequence in the same Spill is used.
  [[nodiscard]] std::span<const Item> together(std::size_t index) const {
    const std::size_t at = index & mask_;
    const auto* const items = reinterpret_cast<const Item*>(spill_->read(blocks_[index >> shift_]));
    return {items + at, std::min(mask_ + 1 - at, size_ - index)};
  }
  /// The same, to be changed.
  std::span<Item> change_together(std::size_t index) {
    const std::size_t at = index & mask_;
    auto* const items = reinterpret_cast<Item*>(spill_->write(blocks_[index >> shift_]));
    return {items + at, std::min(mask_ + 1 - at, size_ - index)};
  }
  /// Calls visit(item) for all in order. It must not use any sequence in the same Spill.
  template <typename Visit>
  void for_each(Visit visit) const {
    visit_all(visit, [](std::size_t /*index*/) {});
  }
  /// The same, by who does not come back to them soon (Spill::leave).
  template <typename Visit>
  void go_through(Visit visit) const {
    visit_all(visit, [this](std::size_t index) { leave(index); });
  }
  /// Whether `index`, not 0, is behind the last of those that lie together.
  [[nodiscard]] bool ends_together(std::size_t index) const { return (index & mask_) == 0; }
  /// Of those that lie together, the last of which is in front of `index`: not needed soon.
  void leave(std::size_t index) const { spill_->leave(blocks_[(index - 1) >> shift_]); }
  [[nodiscard]] Item front() const { return (*this)[0]; }
  [[nodiscard]] Item back() const { return (*this)[size_ - 1]; }

  void push_back(const Item& item) { extend() = item; }
  /// One more, to be filled in: until any sequence in the same Spill is used.
  Item& extend() {
    if ((size_ & mask_) == 0) blocks_.push_back(spill_->allocate(sizeof(Item)));
    return change(size_++);
  }
  void set(std::size_t index, const Item& item) { change(index) = item; }
  /// One that is there, to be changed: the same.
  Item& change(std::size_t index) {
    return reinterpret_cast<Item*>(spill_->write(blocks_[index >> shift_]))[index & mask_];
  }
  void pop_back() {
    --size_;
    if ((size_ & mask_) != 0) return;
    spill_->release(blocks_.back());
    blocks_.pop_back();
  }
  void clear() {
    for (const Spill::Block block : blocks_) spill_->release(block);
    blocks_.clear();
    size_ = 0;
  }
  class Iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = Item;
    using difference_type = std::ptrdiff_t;
    /// Holds what it points at.
    struct Arrow {
      Item item;
      const Item* operator->() const { return &item; }
    };
    using pointer = Arrow;
    using reference = Item;

    Iterator() = default;
    Iterator(const Sequence& of, std::size_t at) : of_(&of), at_(at) {}
    Item operator*() const { return (*of_)[at_]; }
    Arrow operator->() const { return {**this}; }
    Item operator[](std::ptrdiff_t by) const { return *(*this + by); }
    Iterator& operator++() { return *this += 1; }
    Iterator& operator--() { return *this += -1; }
    Iterator operator++(int) { return std::exchange(*this, *this + 1); }
    Iterator operator--(int) { return std::exchange(*this, *this + -1); }
    Iterator& operator+=(std::ptrdiff_t by) {
      at_ = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(at_) + by);
      return *this;
    }
    Iterator& operator-=(std::ptrdiff_t by) { return *this += -by; }
    friend Iterator operator+(Iterator it, std::ptrdiff_t by) { return it += by; }
    friend Iterator operator+(std::ptrdiff_t by, Iterator it) { return it += by; }
    friend Iterator operator-(Iterator it, std::ptrdiff_t by) { return it += -by; }
    friend std::ptrdiff_t operator-(const Iterator& a, const Iterator& b) {
      return static_cast<std::ptrdiff_t>(a.at_) - static_cast<std::ptrdiff_t>(b.at_);
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }
    friend auto operator<=>(const Iterator& a, const Iterator& b) { return a.at_ <=> b.at_; }

   private:
    const Sequence* of_ = nullptr;
    std::size_t at_ = 0;
  };
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, size_}; }

 private:
  /// `left(index)` is called behind those that lie together.
  template <typename Visit, typename Left>
  void visit_all(Visit& visit, Left left) const {
    for (std::size_t index = 0; index < size_;) {
      const std::span<const Item> items = together(index);
      for (const Item& item : items) visit(item);
      index += items.size();
      left(index);
    }
  }

  Spill* spill_;
  int shift_;
  std::size_t mask_;
  std::vector<Spill::Block> blocks_;
  std::size_t size_ = 0;
};

}  // namespace culprit::storage
