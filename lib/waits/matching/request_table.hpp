#pragma once

#include "storage/hash.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

namespace culprit::waits {

/// What is kept of the open requests of some processes, by process and request. A process numbers its
/// requests as it makes them, so those that are open have numbers close together: each has its place by the
/// lowest bits of its number, in a table of its process that grows with the number of them that are open. The
/// tables of processes without any are given to those who need larger ones: they are in a processor's cache.
/// Those whose place is taken, which takes numbers that jump, lie in another table. `Value` is default
/// constructed and small.
template <typename Value>
class RequestTable {
 public:
  explicit RequestTable(std::size_t processes) : windows_(processes) {}

  /// Of all processes together.
  [[nodiscard]] std::size_t size() const { return size_; }

  /// The request's value, and whether it is new, and then to be filled in: what is there is anything. Until
  /// the next is added or erased.
  std::pair<Value*, bool> try_emplace(std::size_t process, std::uint64_t id) {
    Window& window = windows_[process];
    Place* const place = window.place_of(id);
    if (place == nullptr || place->id != kNobody || id == kNobody || !elsewhere_.empty())
      return find_or_make(window, process, id);
    return {take(window, *place, id), true};
  }

  /// nullptr: there is none. Until the next is added or erased.
  Value* find(std::size_t process, std::uint64_t id) {
    Place* const place = windows_[process].place_of(id);
    if (place != nullptr && place->id == id && id != kNobody) return &place->value;
    return elsewhere_.empty() ? nullptr : find_elsewhere(process, id);
  }

  /// One that is there.
  void erase(std::size_t process, std::uint64_t id) {
    --size_;
    Window& window = windows_[process];
    Place* const place = window.place_of(id);
    if (place == nullptr || place->id != id || id == kNobody) {
      elsewhere_.erase(Key{process, id});
      return;
    }
    place->id = kNobody;
    if (--window.used == 0 && window.places.size() > kLeastPlaces) put_aside(window);
  }

  /// Calls `visit(value)` for each, in no order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const Window& window : windows_) {
      for (const Place& place : window.places) {
        if (place.id != kNobody) visit(place.value);
      }
    }
    for (const auto& [key, value] : elsewhere_) visit(value);
  }

 private:
  /// Of a place that nobody has; a request with that number lies in the other table.
  static constexpr std::uint64_t kNobody = ~std::uint64_t{0};
  static constexpr std::size_t kLeastPlaces = 16;
  /// Places in tables that nobody has.
  static constexpr std::size_t kMostSpare = 1 << 16;
  /// A table with more places per request than this does not grow.
  static constexpr std::size_t kMostPlaces = 8;

  struct Place {
    std::uint64_t id = kNobody;
    Value value{};
  };
  struct Window {
    std::vector<Place> places;  // none, or a power of two
    std::uint64_t mask = 0;     // one less
    std::size_t used = 0;

    Place* place_of(std::uint64_t id) { return places.empty() ? nullptr : &places[id & mask]; }
    /// No two get into each other's way that did not before.
    void grow_to(std::vector<Place> larger) {
      larger.swap(places);
      mask = places.size() - 1;
      for (const Place& one : larger) {
        if (one.id != kNobody) *place_of(one.id) = one;
      }
    }
  };
  struct Key {
    std::size_t process;
    std::uint64_t id;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const { return storage::hash_of(key.id, key.process); }
  };

  Value* take(Window& window, Place& place, std::uint64_t id) {
    ++size_;
    ++window.used;
    place.id = id;
    return &place.value;
  }
  /// What try_emplace() does where the place by its number is not just free. (Apart: it is rare.)
  [[gnu::noinline]] std::pair<Value*, bool> find_or_make(Window& window, std::size_t process,
                                                         std::uint64_t id) {
    if (Value* const found = find(process, id)) return {found, false};
    Place* const place = id == kNobody ? nullptr : make_place(window, id);
    if (place != nullptr) return {take(window, *place, id), true};
    ++size_;
    return {&elsewhere_.try_emplace({process, id}).first.value(), true};
  }
  [[gnu::noinline]] Value* find_elsewhere(std::size_t process, std::uint64_t id) {
    const auto found = elsewhere_.find({process, id});
    return found == elsewhere_.end() ? nullptr : &found.value();
  }

  /// A free one; nullptr: there is none, although there are many.
  Place* make_place(Window& window, std::uint64_t id) {
    for (;;) {
      Place* const place = window.place_of(id);
      if (place != nullptr && place->id == kNobody) return place;
      if (window.places.size() > kMostPlaces * window.used) return nullptr;
      window.grow_to(larger_than(window.places.size()));
    }
  }
  /// A table without any request: one that another process had, where the last of those is larger.
  std::vector<Place> larger_than(std::size_t places) {
    if (spare_.empty() || spare_.back().size() <= places)
      return std::vector<Place>(std::max(kLeastPlaces, 2 * places));
    std::vector<Place> larger = std::move(spare_.back());
    spare_.pop_back();
    spare_places_ -= larger.size();
    return larger;
  }
  /// No request of the process is open any more: others may be about to have as many.
  void put_aside(Window& window) {
    std::vector<Place> places = std::exchange(window.places, {});
    if (spare_places_ + places.size() > kMostSpare) return;
    spare_places_ += places.size();
    spare_.push_back(std::move(places));
  }

  std::vector<Window> windows_;            // by process
  std::vector<std::vector<Place>> spare_;  // tables without any request
  std::size_t spare_places_ = 0;
  tsl::robin_map<Key, Value, KeyHash> elsewhere_;
  std::size_t size_ = 0;
};

}  // namespace culprit::waits
