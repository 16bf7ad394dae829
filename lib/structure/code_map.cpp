// What is known of a module's code by pieces of all of whose addresses the same is said
// (docs/algorithms.md 15), as the cache keeps it: looks up addresses by binary search, adds what another map
// knows beyond it, and takes out the structure around given addresses as recovering it anew would say.
#include "structure/code_map.hpp"

#include "structure/combine.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace culprit::structure {
namespace {

/// Takes over the part of a module's structure that some of its points need.
class Selection {
 public:
  explicit Selection(const ModuleStructure& from)
      : from_(from),
        procedures_(from.procedures.size(), kNone),
        scopes_(from.scopes.size(), kNone),
        callees_(from.callees.size(), kNone) {}

  void add(const Point& point) {
    Point& mine = out_.points.emplace_back(point);
    mine.procedure = procedure(point.procedure);
    mine.scope = scope(point.scope);
    mine.callee = take(point.callee, callees_, from_.callees, out_.callees);
  }

  ModuleStructure finish() {
    for (const std::string& note : from_.notes)
      if (concerns_what_was_taken(note)) out_.notes.push_back(note);
    keep_used_files(out_, from_.files);
    return std::move(out_);
  }

 private:
  template <class Item>
  static std::uint32_t take(std::uint32_t index, std::vector<std::uint32_t>& taken,
                            const std::vector<Item>& from, std::vector<Item>& into) {
    if (index == kNone) return kNone;
    if (taken[index] == kNone) {
      taken[index] = static_cast<std::uint32_t>(into.size());
      into.push_back(from[index]);
    }
    return taken[index];
  }

  std::uint32_t procedure(std::uint32_t index) {
    return take(index, procedures_, from_.procedures, out_.procedures);
  }

  std::uint32_t scope(std::uint32_t innermost) {
    std::vector<std::uint32_t> chain;
    for (std::uint32_t at = innermost; at != kNone && scopes_[at] == kNone; at = from_.scopes[at].parent)
      chain.push_back(at);
    for (; !chain.empty(); chain.pop_back()) {
      const std::uint32_t mine = take(chain.back(), scopes_, from_.scopes, out_.scopes);
      std::uint32_t& parent = out_.scopes[mine].parent;
      if (parent != kNone) parent = scopes_[parent];
    }
    return innermost == kNone ? kNone : scopes_[innermost];
  }

  /// Notes concern the module, or one of its procedures.
  [[nodiscard]] bool concerns_what_was_taken(const std::string& note) const {
    if (!note.ends_with(kTooLarge)) return true;
    return std::ranges::any_of(out_.procedures, [&](const Procedure& procedure) {
      return note == procedure.name + std::string(kTooLarge);
    });
  }

  const ModuleStructure& from_;
  ModuleStructure out_;
  std::vector<std::uint32_t> procedures_, scopes_, callees_;  ///< in `out_`, kNone: not there
};

}  // namespace

CodeMap::CodeMap(std::vector<Range> pieces, ModuleStructure said, bool lasting)
    : pieces_(std::move(pieces)), said_(std::move(said)), lasting_(lasting) {
  put_in_order();
}

void CodeMap::put_in_order() {
  std::vector<std::uint32_t> order(pieces_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [this](std::uint32_t i) { return pieces_[i].low; });
  std::vector<Range> pieces;
  std::vector<Point> points;
  for (const std::uint32_t i : order) {
    Range piece = pieces_[i];
    if (!pieces.empty()) piece.low = std::max(piece.low, pieces.back().high);
    if (piece.low >= piece.high) continue;
    pieces.push_back(piece);
    points.push_back(said_.points[i]);
  }
  pieces_ = std::move(pieces);
  said_.points = std::move(points);
}

void CodeMap::add(CodeMap other) {
  if (pieces_.empty()) {
    *this = std::move(other);
    return;
  }
  lasting_ = lasting_ && other.lasting_;
  pieces_.insert(pieces_.end(), other.pieces_.begin(), other.pieces_.end());
  std::vector<ModuleStructure> both;
  both.push_back(std::move(said_));
  both.push_back(std::move(other.said_));
  said_ = combine(std::move(both));
  put_in_order();
}

std::optional<std::size_t> CodeMap::piece_at(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(pieces_, address, {}, &Range::low);
  if (after == pieces_.begin() || !(after - 1)->contains(address)) return std::nullopt;
  return static_cast<std::size_t>(after - pieces_.begin()) - 1;
}

std::vector<std::uint64_t> CodeMap::unknown(std::span<const std::uint64_t> addresses) const {
  std::vector<std::uint64_t> unknown;
  std::ranges::copy_if(addresses, std::back_inserter(unknown),
                       [this](std::uint64_t address) { return !piece_at(address); });
  return unknown;
}

ModuleStructure CodeMap::around(std::span<const std::uint64_t> addresses) const {
  Selection selection(said_);
  for (const std::uint64_t address : addresses) selection.add(said_.points.at(piece_at(address).value()));
  return selection.finish();
}

}  // namespace culprit::structure
