#pragma once

#include "follow/code.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace culprit::follow {

/// Where time is spent, for sentences: the innermost procedure of the program and its line, and what it waits
/// in, or reads or writes by.
struct Spot {
  std::uint32_t procedure = kNone;  ///< in Code::procedures(); kNone: none of the program
  std::uint32_t file = kNone;
  std::uint32_t line = 0;
  std::uint32_t call = kNone;  ///< likewise: MPI_Allreduce, write; kNone: the procedure itself works
  friend auto operator<=>(const Spot&, const Spot&) = default;  // NOLINT(modernize-use-nullptr)
};

/// What the tree makes of a context of a thread.
struct Place {
  std::uint32_t node = 0;
  std::uint32_t line = kNone;  ///< among the node's
  std::uint32_t spot = 0;
  bool mpi = false;    ///< within an MPI call: what lies deeper has no node
  bool never = false;  ///< set-up, or code that moves data or computes: no waiting, whatever is marked
  bool io = false;
  bool python = false;  ///< a Python function, or what one calls: it is what sentences name
  bool hidden = false;  ///< within one of our own libraries
};

/// Time of the last interval, or of the run so far, in ns.
struct NodeTime {
  std::int64_t time = 0;
  std::int64_t wait = 0;
};

/// The call paths of all threads, united by procedure: inlined procedures are nodes, lines and loops are
/// none.
class LiveTree {
 public:
  struct Line {
    std::uint32_t file = kNone, line = 0;
    std::int64_t interval_ns = 0, whole_ns = 0;
  };
  struct Node {
    std::uint32_t parent = 0;  ///< stands before; the root is its own
    std::uint32_t procedure = 0;
    std::uint32_t depth = 0;
    NodeTime interval = {}, whole = {};  ///< its own
    std::vector<Line> lines = {};
  };

  explicit LiveTree(Code& code);

  /// The place of the root, whose parts are entered by name (`<program root>`).
  [[nodiscard]] Place root() const { return {}; }
  /// What lies below `from` by these steps.
  Place enter(const Place& from, std::span<const Step> steps);

  void start_interval();
  /// `in_interval`: it was spent in the interval, not before it.
  void add(const Place& place, NodeTime time, bool in_interval);

  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<Spot>& spots() const { return spots_; }
  [[nodiscard]] const Code& code() const { return *code_; }

  /// With all that lies below, by node.
  [[nodiscard]] std::vector<NodeTime> inclusive(bool of_interval) const;

 private:
  std::uint32_t child(std::uint32_t parent, std::uint32_t procedure);
  std::uint32_t line_of(std::uint32_t node, const Step& step);
  std::uint32_t spot(const Spot& spot);
  void enter(Place& at, const Step& step);

  Code* code_;
  std::vector<Node> nodes_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  // by parent and procedure
  std::vector<Spot> spots_;
  std::map<Spot, std::uint32_t> spot_ids_;
};

}  // namespace culprit::follow
