// Recovers the structure around sampled addresses of one module (docs/algorithms.md 15): finds the procedure
// of each address, in debug information or by symbols and call-frame information; reads the line table of
// these procedures alone; disassembles them for loops; and says of each address its procedure, scopes and
// line, or, for the cache, the same of all addresses of these procedures in pieces. Cost: 0.19 s of CPU time
// for 703 addresses in 25 modules (docs/figures.md).
#include "structure/recover_part.hpp"

#include "structure/code_reader.hpp"
#include "structure/combine.hpp"
#include "structure/debug_servers.hpp"
#include "structure/loops.hpp"
#include "structure/nesting.hpp"
#include "structure/subprograms.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include <fmt/format.h>

namespace culprit::structure {
namespace {

/// One procedure that holds asked addresses, on its way into the result.
struct Found {
  Procedure procedure;
  std::vector<Range> ranges;
  const Subprogram* subprogram = nullptr;
  std::vector<std::size_t> points;  // indices into the request's addresses
};

bool contains(const std::vector<Range>& ranges, std::uint64_t address) {
  return std::ranges::any_of(ranges, [&](const Range& range) { return range.contains(address); });
}

/// The recovery of a part of one module, step by step.
class Recovery {
 public:
  /// `pieces`: where to put the pieces that the points of `out` then stand for; null: the points stand for
  /// the addresses of the request.
  Recovery(const Request& request, const Module& module, const FunctionBounds& bounds, ModuleStructure& out,
           std::vector<Range>* pieces)
      : request_(request),
        module_(module),
        out_(out),
        bounds_(bounds),
        code_(module, bounds_),
        pieces_(pieces) {
    if (pieces == nullptr) out_.points.resize(request.addresses.size());
  }

  void run() {
    if (request_.debug_info) read_debug_information();
    for (std::size_t i = 0; i < request_.addresses.size(); ++i) assign(i);
    read_lines();
    if (request_.loops && !code_.able())
      out_.notes.emplace_back("no loops: machine code of neither x86-64 nor aarch64");
    ScopeTable scopes(out_.scopes);
    for (std::uint32_t i = 0; i < found_.size(); ++i) {
      place(i, scopes);
      out_.procedures.push_back(std::move(found_[i].procedure));
    }
    keep_used_files(out_, files_.paths());
    out_.notes.insert(out_.notes.end(), module_.notes().begin(), module_.notes().end());
  }

  /// Whether debug information was read from split files.
  [[nodiscard]] bool split() const { return debug_ && debug_->split(); }

 private:
  void read_debug_information() {
    debug_.emplace(module_, request_.addresses, files_);
    if (!debug_->present()) {
      out_.notes.emplace_back("no debug information: no lines and no inlined procedures");
      if (servers_are_mute())
        out_.notes.emplace_back("debuginfod's servers (DEBUGINFOD_URLS) did not answer");
    }
    if (debug_->lacks_split())
      out_.notes.emplace_back("split debug information (.dwo) is missing: no inlined procedures");
    for (std::size_t i = 0; i < debug_->subprograms().size(); ++i)
      for (const Range& range : debug_->subprograms()[i].ranges) parts_.push_back({range, i});
    std::ranges::stable_sort(parts_, {}, [](const Part& part) { return part.range.low; });
  }

  void read_lines() {
    std::vector<Range> code;
    for (const Found& found : found_) code.insert(code.end(), found.ranges.begin(), found.ranges.end());
    if (debug_) lines_ = debug_->lines(code);
  }

  [[nodiscard]] std::optional<std::size_t> subprogram_at(std::uint64_t address) const {
    auto after =
        std::ranges::upper_bound(parts_, address, {}, [](const Part& part) { return part.range.low; });
    while (after != parts_.begin()) {
      --after;
      if (after->range.contains(address)) return after->subprogram;
      if (address - after->range.low > kFarthest) break;
    }
    return std::nullopt;
  }

  void assign(std::size_t point) {
    const std::uint64_t address = request_.addresses[point];
    if (const auto sub = subprogram_at(address)) return join(described(debug_->subprograms()[*sub]), point);
    Function function = bounds_.find(address);
    Found found;
    found.ranges = std::move(function.ranges);
    found.procedure.name = std::move(function.name);
    found.procedure.linkage = std::move(function.linkage);
    found.procedure.source = function.source;
    if (function.source == NameSource::none)
      found.procedure.name = fmt::format("<unknown in {}>", module_.name());
    join(std::move(found), point);
  }

  /// What a call that ends behind `address` calls by name.
  std::uint32_t callee_at(std::uint64_t address) {
    std::string callee = bounds_.stubs().called_before(address + 1);
    if (callee.empty()) return kNone;
    const auto [known, added] =
        callees_.try_emplace(std::move(callee), static_cast<std::uint32_t>(out_.callees.size()));
    if (added) out_.callees.push_back(known->first);
    return known->second;
  }

  [[nodiscard]] Found described(const Subprogram& sub) const {
    Found found;
    found.subprogram = &sub;
    found.ranges = sub.ranges;
    Procedure& procedure = found.procedure;
    procedure.name = sub.name;
    procedure.linkage = sub.linkage;
    procedure.file = sub.declared.file;
    procedure.line = sub.declared.line;
    procedure.source = NameSource::debug_info;
    if (const Symbol* symbol = bounds_.symbols().at(sub.ranges.front().low))
      prefer_symbol(*symbol, procedure);
    if (!sub.around.empty()) procedure.name = sub.around + " " + procedure.name;
    return found;
  }

  /// A part of a procedure (foo.part.0) bears the procedure's own name in debug information, what a library
  /// exports (malloc) often an internal one (__libc_malloc), and a member of an unnamed namespace none with
  /// its arguments: the symbol says more.
  static void prefer_symbol(const Symbol& symbol, Procedure& procedure) {
    const bool part = symbol.name.find('.', 1) != std::string::npos;
    const bool internal = procedure.name.starts_with('_') && !symbol.name.starts_with('_');
    const bool mangled = procedure.linkage.empty() && demangle(symbol.name) != symbol.name;
    if (part || internal || mangled || procedure.name.empty()) procedure.name = demangle(symbol.name);
    if (part || internal || procedure.linkage.empty()) procedure.linkage = symbol.name;
  }

  /// Adds the point to the procedure with the same entry, which is the new one if there is none yet.
  void join(Found&& found, std::size_t point) {
    const std::uint64_t entry = found.ranges.empty() ? 0 : found.ranges.front().low;
    const auto [known, added] = by_entry_.try_emplace(entry, found_.size());
    if (added) {
      if (!found.ranges.empty()) {
        found.procedure.low = found.ranges.front().low;
        found.procedure.high = found.ranges.front().high;
      }
      if (found.procedure.name.empty())
        found.procedure.name = fmt::format("{}@{:#x}", module_.name(), found.procedure.low);
      found_.push_back(std::move(found));
    } else {
      std::vector<Range>& ranges = found_[known->second].ranges;
      for (const Range& range : found.ranges)
        if (!contains(ranges, range.low)) ranges.push_back(range);
    }
    found_[known->second].points.push_back(point);
  }

  void place(std::uint32_t index, ScopeTable& scopes) {
    Found& found = found_[index];
    static const std::vector<Inlined> kNothing;
    const std::vector<Inlined>& inlined = found.subprogram == nullptr ? kNothing : found.subprogram->inlined;
    const FlowGraph graph = code_.read(wants_loops(found) ? found.ranges : std::vector<Range>{});
    if (graph.blocks().size() > kMostBlocks)
      out_.notes.push_back(found.procedure.name + std::string(kTooLarge));
    const LoopForest forest = find_loops(graph);
    const Nesting nesting(inlined, graph, forest, lines_);
    state_place(found);
    std::map<Nesting::Position, std::uint32_t> known;
    const auto point_at = [&](std::uint64_t address) {
      Point point;
      point.procedure = index;
      point.callee = callee_at(address);
      if (found.procedure.source == NameSource::none)
        return point;  // padding between procedures has lines, too
      const Place place = lines_.find(address);
      point.file = place.file;
      point.line = place.line;
      const Nesting::Position position = nesting.position(address);
      const auto [scope, added] = known.try_emplace(position, kNone);
      if (added) scope->second = innermost_scope(nesting, position, inlined, index, scopes);
      point.scope = scope->second;
      return point;
    };
    if (pieces_ != nullptr) return cut(found, graph, point_at);
    for (const std::size_t point : found.points) out_.points[point] = point_at(request_.addresses[point]);
  }

  std::uint32_t innermost_scope(const Nesting& nesting, Nesting::Position position,
                                const std::vector<Inlined>& inlined, std::uint32_t procedure,
                                ScopeTable& scopes) {
    std::uint32_t innermost = kNone;
    for (const Nesting::Element& element : nesting.path(position)) {
      Scope scope = element.kind == Scope::Kind::loop ? loop_scope(nesting, element.index)
                                                      : inlined_scope(inlined[element.index]);
      scope.parent = innermost;
      innermost = scopes.add(procedure, scope);
    }
    return innermost;
  }

  /// The entry of the procedure that an address is assigned to.
  [[nodiscard]] std::uint64_t entry_of(std::uint64_t address) const {
    if (const auto sub = subprogram_at(address)) return debug_->subprograms()[*sub].ranges.front().low;
    const Function function = bounds_.find(address);
    return function.ranges.empty() ? 0 : function.ranges.front().low;
  }

  /// Where another procedure may begin within a range: symbols, and parts in debug information, can overlap.
  void append_owner_bounds(const Found& found, Range range, std::vector<std::uint64_t>& bounds) const {
    const auto append = [&](Range other) {
      for (const std::uint64_t bound : {other.low, other.high})
        if (range.contains(bound)) bounds.push_back(bound);
    };
    bounds.push_back(range.low);
    auto part = std::ranges::lower_bound(parts_, range.low, {}, [](const Part& p) { return p.range.low; });
    for (; part != parts_.end() && part->range.low < range.high; ++part) append(part->range);
    if (found.subprogram != nullptr) return;
    const std::vector<Symbol>& symbols = bounds_.symbols().all();
    auto symbol =
        std::ranges::lower_bound(symbols, range.low, {}, [](const Symbol& s) { return s.range.low; });
    for (; symbol != symbols.end() && symbol->range.low < range.high; ++symbol) append(symbol->range);
  }

  /// Where what is said of a procedure's addresses may change, ascending; `owner_bounds` are among them.
  std::vector<std::uint64_t> bounds_within(const Found& found, const FlowGraph& graph,
                                           const std::vector<std::uint64_t>& owner_bounds) {
    std::vector<std::uint64_t> bounds = owner_bounds;
    for (const Range& range : found.ranges) {
      bounds.push_back(range.high);
      lines_.append_bounds(range, bounds);
      for (std::uint64_t at = range.low; at < range.high; ++at)
        if (!bounds_.stubs().called_before(at + 1).empty()) bounds.insert(bounds.end(), {at, at + 1});
    }
    if (found.subprogram != nullptr)
      for (const Inlined& instance : found.subprogram->inlined)
        for (const Range& range : instance.ranges) bounds.insert(bounds.end(), {range.low, range.high});
    for (const FlowGraph::Block& block : graph.blocks())
      bounds.insert(bounds.end(), {block.range.low, block.range.high});
    std::ranges::sort(bounds);
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    return bounds;
  }

  /// Cuts a procedure into pieces of all of whose addresses the same is said.
  template <class PointAt>
  void cut(const Found& found, const FlowGraph& graph, const PointAt& point_at) {
    const std::size_t first = pieces_->size();
    const auto put = [&](Range piece) {
      const Point point = point_at(piece.low);
      const bool follows = pieces_->size() > first && pieces_->back().high == piece.low;
      if (follows && out_.points.back() == point) {
        pieces_->back().high = piece.high;
      } else {
        pieces_->push_back(piece);
        out_.points.push_back(point);
      }
    };
    if (found.procedure.source == NameSource::none || found.ranges.empty()) {
      for (const std::size_t point : found.points)
        put({request_.addresses[point], request_.addresses[point] + 1});
      return;
    }
    std::vector<std::uint64_t> owner_bounds;
    for (const Range& range : found.ranges) append_owner_bounds(found, range, owner_bounds);
    std::ranges::sort(owner_bounds);
    const std::vector<std::uint64_t> bounds = bounds_within(found, graph, owner_bounds);
    bool mine = true;
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
      if (!contains(found.ranges, bounds[i])) continue;
      if (std::ranges::binary_search(owner_bounds, bounds[i]))
        mine = entry_of(bounds[i]) == found.ranges.front().low;
      if (mine) put({bounds[i], bounds[i + 1]});
    }
    const std::size_t last = pieces_->size();
    for (const std::size_t point : found.points) {
      const std::uint64_t address = request_.addresses[point];
      const std::span<const Range> mine_so_far = std::span(*pieces_).subspan(first, last - first);
      const auto after = std::ranges::upper_bound(mine_so_far, address, {}, &Range::low);
      if (after == mine_so_far.begin() || !(after - 1)->contains(address)) put({address, address + 1});
    }
  }

  /// A procedure that debug information does not describe as such (an outlined OpenMP region, assembly)
  /// stands where the line of its first instruction does.
  void state_place(Found& found) const {
    Procedure& procedure = found.procedure;
    if (procedure.file != kNone || procedure.source == NameSource::none) return;
    const Place first = lines_.find(procedure.low);
    procedure.file = first.file;
    procedure.line = first.line;
  }

  [[nodiscard]] bool wants_loops(const Found& found) const {
    const bool stub = found.procedure.linkage.ends_with("@plt");
    return request_.loops && code_.able() && found.procedure.source != NameSource::none && !stub;
  }

  static Scope loop_scope(const Nesting& nesting, std::uint32_t loop) {
    Scope scope;
    scope.kind = Scope::Kind::loop;
    scope.file = nesting.place(loop).file;
    scope.line = nesting.place(loop).line;
    scope.address = nesting.header_address(loop);
    return scope;
  }

  /// As the procedure is called where it is not inlined: debug information has no parameters in the names of
  /// those that only their file knows.
  std::string name_of(const Inlined& instance) {
    for (const std::uint64_t entry : instance.copies) {
      const auto [known, added] = names_of_copies_.try_emplace(entry);
      const Symbol* symbol = added ? bounds_.symbols().at(entry) : nullptr;
      if (symbol != nullptr) {
        std::string name = demangle(symbol->name);
        const bool part = name.ends_with(']');  // foo(int) [cold part]
        if (name != symbol->name && !part) known->second = std::move(name);
      }
      if (!known->second.empty()) return known->second;
    }
    return instance.name;
  }

  Scope inlined_scope(const Inlined& instance) {
    Scope scope;
    scope.kind = Scope::Kind::inlined;
    scope.name = name_of(instance);
    scope.file = instance.declared.file;
    scope.line = instance.declared.line;
    scope.call_file = instance.called.file;
    scope.call_line = instance.called.line;
    scope.address = instance.entry;
    return scope;
  }

  struct Part {
    Range range;
    std::size_t subprogram;
  };
  /// Parts may overlap in damaged information only; this far back one is looked for.
  static constexpr std::uint64_t kFarthest = std::uint64_t{1} << 26;

  const Request& request_;
  const Module& module_;
  ModuleStructure& out_;
  const FunctionBounds& bounds_;
  CodeReader code_;
  SourceFiles files_;
  std::optional<DebugInfo> debug_;
  LineTable lines_;
  std::vector<Part> parts_;
  std::vector<Found> found_;
  std::map<std::uint64_t, std::size_t> by_entry_;
  std::map<std::string, std::uint32_t> callees_;
  std::map<std::uint64_t, std::string> names_of_copies_;  ///< by entry; empty: none that says more
  std::vector<Range>* pieces_;
};

}  // namespace

ModuleStructure recover_part(const Request& request, const Module& module, const FunctionBounds& bounds) {
  ModuleStructure out;
  Recovery(request, module, bounds, out, nullptr).run();
  return out;
}

CodeMap map_part(const Request& request, const Module& module, const FunctionBounds& bounds) {
  ModuleStructure said;
  std::vector<Range> pieces;
  Recovery recovery(request, module, bounds, said, &pieces);
  recovery.run();
  return {std::move(pieces), std::move(said), !recovery.split()};
}

}  // namespace culprit::structure
