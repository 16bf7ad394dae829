#pragma once

#include "merge/values/shape.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace culprit::merge {

/// Where regions are shown: their invocations, and what a worker thread does in one, as a path of the thread
/// that opened the region and takes part in it. `shape` must outlive it. Not thread-safe.
class RegionPaths {
 public:
  explicit RegionPaths(const Shape& shape) : shape_(shape) {}

  struct Beside {
    database::ContextId context = 0;
    bool of_region = true;  ///< else of code that is called by no library there: nobody knows
  };
  /// `waiting` lies in a call by which a thread has a library run a region; `worker` in another thread's
  /// tree. The context of the worker's code below that call; `worker` itself where the waiting thread was
  /// never sampled in that code; nothing where it belongs to another region.
  [[nodiscard]] std::optional<Beside> beside(database::ContextId waiting, database::ContextId worker);

  /// `context` lies in a region that the program marks: the innermost such around it; the root where there is
  /// none.
  [[nodiscard]] database::ContextId marked_around(database::ContextId context) const;
  /// `context` calls a library that runs a parallel region, or lies in that library: the library's outermost
  /// function there. The root where the main thread was never sampled in it.
  [[nodiscard]] database::ContextId library_for(database::ContextId context);
  /// The same: the function that it
  /// runs. The root where the main thread was never sampled in it, or it may be one of several.
  [[nodiscard]] database::ContextId run_for(database::ContextId context);

 private:
  using Path = std::span<const database::ContextId>;

  void index();
  [[nodiscard]] std::optional<Beside> look(database::ContextId waiting, Path path) const;
  [[nodiscard]] Path children(database::ContextId context) const;
  [[nodiscard]] bool in_library(database::ContextId context) const;
  [[nodiscard]] std::optional<database::ContextId> find(database::ContextId waiting, Path path) const;
  [[nodiscard]] std::optional<database::ContextId> find_region(database::ContextId below, Path path,
                                                               int depth) const;
  [[nodiscard]] std::optional<database::ContextId> follow(database::ContextId from, Path path) const;
  [[nodiscard]] database::ContextId caller_of_library(database::ContextId context) const;
  [[nodiscard]] bool calls(database::ContextId context, database::FlatId procedure) const;
  [[nodiscard]] database::ContextId only_one_of(Path functions) const;
  [[nodiscard]] database::ContextId only_one_run_below(database::ContextId call) const;

  const Shape& shape_;
  std::vector<std::uint32_t> first_;           // by context: its first among children_
  std::vector<database::ContextId> children_;  // in the order of their parents
  std::unordered_map<std::uint64_t, std::optional<Beside>> found_;
  std::unordered_map<database::ContextId, database::ContextId> run_for_;
  std::unordered_set<database::FlatId> regions_;  // procedures that libraries call in main threads
};

}  // namespace culprit::merge
