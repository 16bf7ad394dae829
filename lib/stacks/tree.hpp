#pragma once

#include "stacks/observation.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace culprit::stacks {

/// A node of the prefix tree: a function, and who was in it.
struct TreeNode {
  /// A thread, and in how many of the looks it was here.
  struct Visitor {
    std::size_t location = 0, looks = 0;
    friend bool operator==(const Visitor&, const Visitor&) = default;
  };
  Frame frame;  ///< its line is 0 where visitors were at several
  Path::Root root = Path::Root::program;
  std::vector<Visitor> visitors;   ///< ascending
  std::vector<TreeNode> children;  ///< those with most visitors first
};

struct TreeOptions {
  bool by_line = false;   ///< a node for each line of a function; else one for each function
  bool inside = false;    ///< also what lies inside calls of MPI and of the system
  bool start_up = false;  ///< also what lies around main and around the functions of threads
};

/// Unites the call paths of all threads in all looks. The roots stand for program, threads and partial paths.
std::vector<TreeNode> unite(const Observation& observation, const TreeOptions& options);

/// Frames of a path that are shown, its outermost ones: as many as a walk has (Walker::kMaxDepth). A writer
/// descends into the tree, and another host may state any number.
inline constexpr std::size_t kMostFramesShown = 2048;

/// A path as unite() takes it. Of a thread that runs no code of the program, all but start-up.
std::vector<Frame> shown_frames(const Path& path, const TreeOptions& options);

}  // namespace culprit::stacks
