// Which functions left their frames by tail calls (docs/algorithms.md 1). Where a call names another function
// than the one whose frame was found below it, the tail calls that lead from the former to the latter are
// sought, breadth first. As long as only one leads on, it stands for the frame that is missing; of a function
// that several lead on from, it is known that it was called, but not which of its jumps was taken, nor what
// came behind it. Cost: a look at the bytes before each distinct return address, and the instructions of the
// functions on the way.
#include "merge/attribution/tail_calls.hpp"

#include "files/at_death.hpp"
#include "structure/tail_calls.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace culprit::merge {
namespace {

/// How many tail calls may follow each other, and how many functions are looked at for them.
constexpr int kMostJumps = 6;
constexpr std::size_t kMostFunctions = 200;

struct Jump {
  std::uint64_t address = 0;
  Place to;
};

/// What tail calls lead to from one function.
struct Reached {
  std::map<Place, std::vector<Jump>> jumps;  ///< of each function on the way
  bool whole = true;                         ///< whether that is all, not just as far as was looked
};

/// The functions that left their frames between a call and what was found below it.
struct Missing {
  std::vector<Place> jumps;  ///< outermost first
  std::string callee;        ///< the name of what was found
};
/// By the call and the entry of the function that was found below it.
using Found = std::map<std::pair<Place, Place>, Missing>;

class Search {
 public:
  Search(const cct::SharedTree& shared, const structure::Request& common, const RecoveredStructure& structure)
      : shared_(shared), common_(common), structure_(structure), code_(shared.modules.size()) {}

  /// All that are missing, by the call and the function that was found below it.
  Found run();

 private:
  [[nodiscard]] bool names_callee(const Place& call, const structure::Procedure& callee) const;
  std::vector<Place> between(const Place& call, const Place& callee);
  std::vector<Place> find_between(const Place& call, const Place& callee);
  Place called(const Place& call, cct::ModuleId callee);
  Reached reach(const Place& from, const Place& callee);
  std::vector<Jump> jumps_of(const Place& function, cct::ModuleId callee);
  Place named(const std::string& name, cct::ModuleId callee, cct::ModuleId caller);
  structure::TailCalls& code(cct::ModuleId module);

  const cct::SharedTree& shared_;
  const structure::Request& common_;
  const RecoveredStructure& structure_;
  std::vector<std::unique_ptr<structure::TailCalls>> code_;  ///< by module, read when first asked for
};

structure::TailCalls& Search::code(cct::ModuleId module) {
  if (!code_[module]) {
    structure::Request request = common_;
    request.path = shared_.modules[module].path;
    request.build_id = shared_.modules[module].build_id;
    code_[module] = std::make_unique<structure::TailCalls>(request);
  }
  return *code_[module];
}

/// The function of a name that `caller` knows: the callee's module is where it is sought first.
Place Search::named(const std::string& name, cct::ModuleId callee, cct::ModuleId caller) {
  for (const cct::ModuleId module : {callee, caller})
    if (const std::uint64_t entry = code(module).exported(name); entry != 0) return {module, entry};
  return {};
}

std::vector<Jump> Search::jumps_of(const Place& function, cct::ModuleId callee) {
  std::vector<Jump> jumps;
  for (const structure::TailCall& jump : code(function.module).of(function.offset)) {
    const Place to =
        jump.entry != 0 ? Place{function.module, jump.entry} : named(jump.name, callee, function.module);
    if (to.module != cct::kNoModule) jumps.push_back({jump.address, to});
  }
  return jumps;
}

/// The function that the call names; no place where it names none.
Place Search::called(const Place& call, cct::ModuleId callee) {
  const structure::Point& point = *structure_.point(call);
  const std::vector<std::string>& names = structure_.modules()[call.module].structure.callees;
  if (point.callee < names.size()) return named(names[point.callee], callee, call.module);
  const std::uint64_t entry = code(call.module).called_before(call.offset + 1);
  return entry == 0 ? Place{} : Place{call.module, entry};
}

Reached Search::reach(const Place& from, const Place& callee) {
  Reached reached;
  std::vector<Place> open{from};
  for (int jumps = 0; jumps < kMostJumps && !open.empty(); ++jumps) {
    std::vector<Place> next;
    for (const Place& function : open) {
      if (function == callee || reached.jumps.contains(function)) continue;
      if (reached.jumps.size() == kMostFunctions) break;
      const std::vector<Jump>& out = reached.jumps[function] = jumps_of(function, callee.module);
      for (const Jump& jump : out) next.push_back(jump.to);
    }
    open = std::move(next);
  }
  reached.whole = std::ranges::all_of(
      open, [&](const Place& function) { return function == callee || reached.jumps.contains(function); });
  reached.whole = reached.whole && reached.jumps.size() < kMostFunctions;
  return reached;
}

/// Of those reached, all from which tail calls lead to the callee.
std::set<Place> leading_to(const Place& callee, const Reached& reached) {
  std::set<Place> leading{callee};
  const auto leads = [&](const auto& function) {
    return std::ranges::any_of(function.second, [&](const Jump& jump) { return leading.contains(jump.to); });
  };
  for (bool more = true; more;) {
    more = false;
    for (const auto& function : reached.jumps)
      if (!leading.contains(function.first) && leads(function)) more = leading.insert(function.first).second;
  }
  return leading;
}

std::vector<Place> Search::find_between(const Place& call, const Place& callee) {
  Place at = called(call, callee.module);
  if (at.module == cct::kNoModule || at == callee) return {};
  const Reached reached = reach(at, callee);
  const std::set<Place> leading = leading_to(callee, reached);
  std::vector<Place> missing;
  for (bool one_way = leading.contains(at); one_way && at != callee;) {
    std::vector<Jump> on = reached.jumps.at(at);
    std::erase_if(on, [&](const Jump& jump) { return !leading.contains(jump.to); });
    const bool one_jump = reached.whole && on.size() == 1;
    one_way =
        reached.whole && std::ranges::all_of(on, [&](const Jump& jump) { return jump.to == on.front().to; });
    missing.push_back({at.module, one_jump ? on.front().address : at.offset});
    at = on.front().to;
  }
  return missing;
}

std::vector<Place> Search::between(const Place& call, const Place& callee) {
  try {
    return find_between(call, callee);
  } catch (const std::exception&) {
    return {};  // a damaged module
  }
}

/// A look that spares reading modules all of whose calls lead where they say.
bool Search::names_callee(const Place& call, const structure::Procedure& callee) const {
  const structure::Point& point = *structure_.point(call);
  const std::vector<std::string>& names = structure_.modules()[call.module].structure.callees;
  return point.callee < names.size() && names[point.callee] == callee.linkage;
}

Found Search::run() {
  const files::LostPages lost;
  Found found;
  std::set<Found::key_type> seen;
  for (const cct::Node& node : shared_.tree.nodes()) {
    if (node.parent == cct::kNoNode) continue;
    const cct::FrameKey& above = shared_.tree[node.parent].frame;
    if (above.kind != cct::FrameKind::call || node.frame.kind == cct::FrameKind::region) continue;
    const Place call{above.module, above.offset}, below{node.frame.module, node.frame.offset};
    const Place caller = structure_.entry(call), callee = structure_.entry(below);
    // The address of a function stands in for its frame: no call returns to the byte after its first.
    if (caller.module == cct::kNoModule || caller == call || callee.module == cct::kNoModule) continue;
    const structure::Procedure& procedure = *structure_.procedure(below);
    if (!seen.emplace(call, callee).second || names_callee(call, procedure)) continue;
    std::vector<Place> jumps = between(call, callee);
    if (!jumps.empty()) found.emplace(std::pair(call, callee), Missing{std::move(jumps), procedure.name});
  }
  if (lost.count() > 0) found.clear();  // what was read means nothing
  return found;
}

/// Adds the structure around the jumps.
void add_structure(const cct::SharedTree& shared, const structure::Request& common, const Found& found,
                   RecoveredStructure& structure) {
  std::map<cct::ModuleId, std::set<std::uint64_t>> more;
  for (const auto& [where, missing] : found)
    for (const Place& jump : missing.jumps)
      if (structure.point(jump) == nullptr) more[jump.module].insert(jump.offset);
  for (const auto& [module, addresses] : more) {
    structure::Request request = common;
    request.path = shared.modules[module].path;
    request.build_id = shared.modules[module].build_id;
    request.addresses.assign(addresses.begin(), addresses.end());
    structure.add(module, request.addresses, structure::recover(request));
  }
}

/// Without what says nothing: code of which nothing is known, and a procedure above one of the same name (its
/// cold part, or what it only forwards to).
std::vector<Place> telling(const RecoveredStructure& structure, const Missing& missing) {
  std::vector<Place> kept;
  std::string below = missing.callee;
  for (std::size_t i = missing.jumps.size(); i-- > 0;) {
    const Place& jump = missing.jumps[i];
    if (structure.entry(jump).module == cct::kNoModule) continue;
    const std::string& name = structure.procedure(jump)->name;
    if (name != below) kept.push_back(jump);
    below = name;
  }
  std::ranges::reverse(kept);
  return kept;
}

}  // namespace

void find_tail_calls(const cct::SharedTree& shared, const structure::Request& common,
                     RecoveredStructure& structure) {
  const Found found = Search(shared, common, structure).run();
  add_structure(shared, common, found, structure);
  RecoveredStructure::Jumps jumps;
  for (const auto& [where, missing] : found) jumps.emplace(where, telling(structure, missing));
  structure.set_jumps(std::move(jumps));
}

}  // namespace culprit::merge
