#pragma once

#include "database/database.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
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
  std::vector<database::StringId> sort();

  /// Gives up the strings, by final id.
  std::vector<std::string> take() { return std::move(strings_); }

 private:
  std::unordered_map<std::string, database::StringId> ids_;
  std::vector<std::string> strings_;
};

}  // namespace culprit::merge
