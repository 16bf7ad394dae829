// Unites the call paths of all looks into a prefix tree: who was in each function, and in how many looks. Of
// a path, the frames that lead to the program's code are left out, and those inside of the first function of
// MPI or the system that this calls. Functions that most threads are in come first. Cost: for each frame a
// comparison with the siblings there.
#include "stacks/tree.hpp"

#include <algorithm>
#include <utility>

namespace culprit::stacks {
namespace {

bool is_same_frame(const Frame& a, const Frame& b, bool by_line) {
  return a.name == b.name && a.module == b.module && a.inlined == b.inlined &&
         (!by_line || (a.line == b.line && a.file == b.file));
}

TreeNode& child_of(std::vector<TreeNode>& children, const Frame& frame, bool by_line) {
  const auto found = std::ranges::find_if(
      children, [&](const TreeNode& child) { return is_same_frame(child.frame, frame, by_line); });
  if (found == children.end()) {
    children.push_back({.frame = frame, .root = {}, .visitors = {}, .children = {}});
    return children.back();
  }
  if (found->frame.line != frame.line || found->frame.file != frame.file) {
    found->frame.line = 0;
    found->frame.file.clear();
  }
  return *found;
}

/// Locations come in order.
void visit(TreeNode& node, std::size_t location) {
  if (node.visitors.empty() || node.visitors.back().location != location)
    node.visitors.push_back({location, 0});
  ++node.visitors.back().looks;
}

void sort(std::vector<TreeNode>& nodes) {
  std::ranges::stable_sort(nodes, [](const TreeNode& a, const TreeNode& b) {
    return a.visitors.size() != b.visitors.size() ? a.visitors.size() > b.visitors.size()
                                                  : a.frame.name < b.frame.name;
  });
  for (TreeNode& node : nodes) sort(node.children);
}

}  // namespace

std::vector<Frame> shown_frames(const Path& path, const TreeOptions& options) {
  const std::vector<Frame>& all = path.frames;
  const auto mpi = static_cast<std::size_t>(std::ranges::find_if(all, &Frame::mpi) - all.begin());
  std::size_t inner = mpi;  // what lies behind the program's innermost frame
  while (inner > 0 && is_of_system(all[inner - 1])) --inner;
  const bool any = inner > 0;
  if (!any) inner = mpi;
  std::size_t first = 0;
  const std::size_t end = options.inside ? all.size() : std::min(inner + 1, all.size());
  while (!options.start_up && first + 1 < end &&
         (is_start_up(all[first]) || (any && is_of_system(all[first]))))
    ++first;
  const std::size_t shown = std::min(end, first + kMostFramesShown);
  return {all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(shown)};
}

std::vector<TreeNode> unite(const Observation& observation, const TreeOptions& options) {
  std::vector<TreeNode> roots(3);
  for (const auto kind : {Path::Root::program, Path::Root::thread, Path::Root::partial})
    roots[static_cast<std::size_t>(kind)].root = kind;
  for (std::size_t location = 0; location < observation.seen.size(); ++location) {
    for (const std::size_t seen : observation.seen[location]) {
      if (seen == kNotSeen) continue;
      const Path& path = observation.paths[seen];
      TreeNode* node = &roots[static_cast<std::size_t>(path.root)];
      visit(*node, location);
      for (const Frame& frame : shown_frames(path, options)) {
        node = &child_of(node->children, frame, options.by_line);
        visit(*node, location);
      }
    }
  }
  std::erase_if(roots, [](const TreeNode& root) { return root.visitors.empty(); });
  for (TreeNode& root : roots) sort(root.children);
  return roots;
}

}  // namespace culprit::stacks
