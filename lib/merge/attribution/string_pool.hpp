#pragma once

#include "database/database.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace culprit::merge {

/// Collects the strings of a database. While collecting, ids are in the order of first use; sort() makes them
/// the final ids, in byte order, so that comparing ids compares strings. Id 0 is always the empty string.
class StringPool {
 public:
  StringPool() { add(""); }

  database::StringId add(std::string_view text) {
    const auto [entry, fresh] =
        ids_.try_emplace(std::string(text), static_cast<database::StringId>(strings_.size()));
    if (fresh) strings_.push_back(entry->first);
    return entry->second;
  }

  [[nodiscard]] const std::string& operator[](database::StringId id) const { return strings_[id]; }

  /// Returns, per id so far, its final id. No string may be added afterwards.
  std::vector<database::StringId> sort() {
    std::vector<database::StringId> order(strings_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {},
                      [this](database::StringId id) -> const std::string& { return strings_[id]; });
    std::vector<database::StringId> final_id(strings_.size());
    std::vector<std::string> sorted;
    sorted.reserve(strings_.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      final_id[order[i]] = static_cast<database::StringId>(i);
      sorted.push_back(std::move(strings_[order[i]]));
    }
    strings_ = std::move(sorted);
    ids_.clear();
    return final_id;
  }

  /// Gives up the strings, by final id.
  std::vector<std::string> take() { return std::move(strings_); }

 private:
  std::unordered_map<std::string, database::StringId> ids_;
  std::vector<std::string> strings_;
};

}  // namespace culprit::merge
