// Joins the processors of each thread's mask, and then masks that have processors in common, in a forest in
// which the root of a tree stands for its set.
#include "blame/processor_sets.hpp"

#include <algorithm>
#include <map>

namespace culprit::blame {
namespace {

using database::ScheduledThread;

constexpr std::uint32_t kNobodys = 0xffff'ffffU;

bool same_processors(const ScheduledThread& a, const ScheduledThread& b) {
  return a.processors == b.processors && (!a.processors.empty() || a.online == b.online);
}

/// Processors, each with another one of its set above it.
class Forest {
 public:
  void join(const std::vector<std::uint16_t>& processors) {
    if (processors.empty()) return;
    if (above_.size() <= processors.back()) above_.resize(std::size_t{processors.back()} + 1, kNobodys);
    const std::uint32_t first = root_of(processors.front());
    for (const std::uint16_t each : processors) above_[root_of(each)] = first;
  }

  /// Of a processor that is somebody's, or may become so.
  std::uint32_t root_of(std::uint32_t processor) {
    if (above_[processor] == kNobodys) above_[processor] = processor;
    while (above_[processor] != processor) {
      above_[processor] = above_[above_[processor]];
      processor = above_[processor];
    }
    return processor;
  }

  [[nodiscard]] std::size_t size() const { return above_.size(); }
  [[nodiscard]] bool is_somebodys(std::uint32_t processor) const { return above_[processor] != kNobodys; }

 private:
  std::vector<std::uint32_t> above_;
};

}  // namespace

std::vector<std::uint16_t> processors_of(const ScheduledThread& thread) {
  std::vector<std::uint16_t> list;
  thread.processors.each([&](std::uint16_t processor) { list.push_back(processor); });
  for (std::uint32_t p = 0; thread.processors.empty() && p < std::min(thread.online, 0xffffU); ++p)
    list.push_back(static_cast<std::uint16_t>(p));
  return list;
}

std::vector<SharedProcessors> shared_processors(std::span<const ScheduledThread* const> threads_of_host) {
  Forest forest;
  std::vector<std::uint32_t> firsts;  // by thread: a processor of it
  for (std::size_t t = 0; t < threads_of_host.size(); ++t) {
    if (t > 0 && same_processors(*threads_of_host[t], *threads_of_host[t - 1])) {
      firsts.push_back(firsts.back());
      continue;
    }
    const std::vector<std::uint16_t> own = processors_of(*threads_of_host[t]);
    forest.join(own);
    firsts.push_back(own.empty() ? kNobodys : own.front());
  }
  std::vector<SharedProcessors> sets;
  std::map<std::uint32_t, std::size_t> numbers;  // by root
  for (std::size_t t = 0; t < firsts.size(); ++t) {
    const std::uint32_t root = firsts[t] == kNobodys ? kNobodys : forest.root_of(firsts[t]);
    const auto [number, added] = numbers.try_emplace(root, sets.size());
    if (added) sets.emplace_back();
    sets[number->second].threads.push_back(t);
  }
  for (std::uint32_t p = 0; p < forest.size(); ++p) {
    if (forest.is_somebodys(p))
      sets[numbers.at(forest.root_of(p))].processors.push_back(static_cast<std::uint16_t>(p));
  }
  return sets;
}

}  // namespace culprit::blame
