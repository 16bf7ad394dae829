#include "merge/attribution/string_pool.hpp"

#include <algorithm>
#include <numeric>

namespace culprit::merge {

std::vector<database::StringId> StringPool::sort() {
  std::vector<database::StringId> order(strings_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [this](database::StringId id) -> const std::string& { return strings_[id]; });
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

}  // namespace culprit::merge
