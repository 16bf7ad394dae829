// Overlays static structure on the united tree (docs/algorithms.md 1). In the order of nodes, each raw frame
// becomes the frame of its procedure, the loops and inlined procedures around its address, and a statement or
// a call by file and line; equal siblings merge. Bindings of one MPI call fold into its outermost frame; a
// function that left its frame by a jump is put back where the call names it. The flat tree is grown from the
// same scopes. Both are numbered in canonical pre-order, so ids do not depend on the order of insertion.
// Cost: a few hash look-ups per node.
#include "merge/attribution/attribute.hpp"

#include "measurement/python_function.hpp"
#include "merge/attribution/scope_forest.hpp"
#include "merge/attribution/string_pool.hpp"
#include "structure/short_symbol.hpp"
#include "structure/structure.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>

namespace culprit::merge {
namespace {

using database::ContextKind;
using database::kNone;
using database::StringId;
using Id = ScopeForest::Id;

/// A procedure of the recovered structure as contexts name it.
struct ProcedureName {
  Label label;
  StringId mpi = 0;  ///< the MPI call that it is a binding of, 0: none
  bool unresolved = false;
  bool nameless = false;  ///< no symbol shows its name
};

/// The position of a raw frame in the forest: what its children hang below.
struct Position {
  Id scope = 0;     ///< innermost scope around the frame
  Id call = kNone;  ///< its call context, made when the first child needs it; for roots: themselves
  Label call_label;
  std::uint32_t callee = structure::kNone;  ///< the function of another module that is called here by name
  Id stand_in = kNone;                      ///< its procedure's frame, if an address stands in for that
  std::uint32_t procedure = structure::kNone;
  Id mpi_frame = kNone;  ///< nearest enclosing frame of an MPI call, and which
  StringId mpi = 0;
  bool python = false;  ///< of a Python function
};

class Overlay {
 public:
  Overlay(const cct::SharedTree& shared, const RecoveredStructure& structure, const IdleRules& rules,
          const PrefixMap& prefixes)
      : shared_(shared),
        structure_(structure),
        rules_(rules),
        prefixes_(prefixes),
        names_(shared.modules.size()),
        files_(shared.modules.size()),
        forest_(Label{}) {}

  Attribution run();

 private:
  void place(cct::NodeId node);
  void place_root(cct::NodeId node, ContextKind kind, const char* name);
  void place_region(cct::NodeId node);
  void place_python(cct::NodeId node, const measurement::PythonFunction& function);
  void place_interpreter(cct::NodeId node, Position& function);
  void bypass(Id scope, Id frame);
  std::vector<std::uint8_t> find_empty();
  Id call_context(Position& position);
  Id frame_context(Position& parent, const ProcedureName& procedure, Position& here);
  Id enter_scopes(Id scope, cct::ModuleId module, std::uint32_t innermost);
  ProcedureName procedure(cct::ModuleId module, const structure::Point* point);
  Position name_jump(Position& parent, cct::ModuleId module, const std::string& callee);
  Position jumped_from(Position& parent, const Place& jump);
  Position& caller_of(cct::NodeId node, const ProcedureName& procedure, Position& between);
  void locate(cct::ModuleId module, const structure::Point* point, Position& here);
  void note_call(const cct::FrameKey& frame, const structure::Point& point, Position& here);
  ProcedureName name_procedure(cct::ModuleId module, const structure::Procedure& procedure);
  StringId file(cct::ModuleId module, std::uint32_t index);
  [[nodiscard]] bool is_loader(cct::ModuleId module) const;
  StringId module_path(cct::ModuleId module);
  StringId loop_name(cct::ModuleId module, std::uint64_t address);
  std::vector<Id> build_flat(ScopeForest& flat, const std::vector<std::uint8_t>& empty);
  Id flat_file(ScopeForest& flat, const Label& procedure);
  Attribution number(ScopeForest& flat, const std::vector<Id>& flat_of,
                     const std::vector<std::uint8_t>& empty);
  static std::vector<database::FlatScope> number_flat(const ScopeForest& flat,
                                                      const ScopeForest::Order& order);

  const cct::SharedTree& shared_;
  const RecoveredStructure& structure_;
  const IdleRules& rules_;
  const PrefixMap& prefixes_;
  std::vector<std::vector<std::optional<ProcedureName>>> names_;  ///< [module][procedure], named on first use
  std::vector<std::vector<std::optional<StringId>>> files_;       ///< [module][file]
  StringPool strings_;
  ScopeForest forest_;
  std::vector<std::uint8_t> unresolved_;  ///< by forest id, as far as set
  std::vector<std::uint8_t>
      bypassed_;  ///< by forest id, as far as set: lies between a frame and one folded into it
  std::vector<Position> positions_;  ///< by raw node
  std::vector<Id> own_;              ///< by raw node
};

/// Code that binds a function at its first call lies between the call and the function, and is not left by
/// it.
bool Overlay::is_loader(cct::ModuleId module) const {
  return module < shared_.modules.size() &&
         std::filesystem::path(shared_.modules[module].path).filename().string().starts_with("ld-");
}

StringId Overlay::module_path(cct::ModuleId module) {
  return module < shared_.modules.size() ? strings_.add(shared_.modules[module].path) : 0;
}

StringId Overlay::file(cct::ModuleId module, std::uint32_t index) {
  const std::vector<std::string>& paths = structure_.modules()[module].structure.files;
  if (index >= paths.size()) return 0;
  files_[module].resize(paths.size());
  std::optional<StringId>& known = files_[module][index];
  if (!known) known = strings_.add(replace_prefix(paths[index], prefixes_));
  return *known;
}

ProcedureName Overlay::name_procedure(cct::ModuleId module, const structure::Procedure& procedure) {
  std::string mpi = rules_.mpi_call(procedure.name);
  if (mpi.empty()) mpi = rules_.mpi_call(procedure.linkage);
  const std::string& shown = mpi.empty() ? procedure.name : mpi;
  return {.label = {.kind = ContextKind::procedure,
                    .name = strings_.add(shown),
                    .module = module_path(module),
                    .file = file(module, procedure.file),
                    .line = procedure.line},
          .mpi = mpi.empty() ? 0 : strings_.add(mpi),
          .unresolved = procedure.source == structure::NameSource::none,
          .nameless = procedure.source == structure::NameSource::eh_frame ||
                      procedure.source == structure::NameSource::none ||
                      procedure.linkage.ends_with(structure::kPartSuffix)};
}

ProcedureName Overlay::procedure(cct::ModuleId module, const structure::Point* point) {
  if (point != nullptr) {
    const std::vector<structure::Procedure>& all = structure_.modules()[module].structure.procedures;
    if (point->procedure < all.size()) {
      names_[module].resize(all.size());
      std::optional<ProcedureName>& known = names_[module][point->procedure];
      if (!known) known = name_procedure(module, all[point->procedure]);
      return *known;
    }
  }
  // The same code lies at different addresses in every process where it belongs to no module: one name for
  // all.
  return {.label = {.kind = ContextKind::procedure,
                    .name = strings_.add("<unknown code>"),
                    .module = module_path(module)},
          .unresolved = true};
}

/// Without a line a loop is named as code without a symbol is, by its address in its module.
StringId Overlay::loop_name(cct::ModuleId module, std::uint64_t address) {
  const std::string& path = shared_.modules[module].path;
  std::array<char, 16> digits{};
  char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), address, 16).ptr;
  return strings_.add(structure::module_name(path) + "@0x" + std::string(digits.data(), end));
}

Id Overlay::enter_scopes(Id scope, cct::ModuleId module, std::uint32_t innermost) {
  const std::vector<structure::Scope>& scopes = structure_.modules()[module].structure.scopes;
  std::vector<std::uint32_t> chain;
  for (std::uint32_t s = innermost; s < scopes.size() && chain.size() < scopes.size(); s = scopes[s].parent) {
    chain.push_back(s);
  }
  std::ranges::reverse(chain);
  const StringId path = module_path(module);
  for (const std::uint32_t s : chain) {
    const structure::Scope& inner = scopes[s];
    if (inner.kind == structure::Scope::Kind::loop) {
      const bool placed = inner.line != 0 || inner.file != structure::kNone;
      scope = forest_.child(scope, {.kind = ContextKind::loop,
                                    .name = placed ? StringId{} : loop_name(module, inner.address),
                                    .module = path,
                                    .file = file(module, inner.file),
                                    .line = inner.line,
                                    .address = inner.line == 0 ? inner.address : 0});
    } else {
      scope = forest_.child(scope, {.kind = ContextKind::inlined,
                                    .name = strings_.add(inner.name),
                                    .module = path,
                                    .file = file(module, inner.call_file),
                                    .line = inner.call_line});
    }
  }
  return scope;
}

void Overlay::bypass(Id scope, Id frame) {
  bypassed_.resize(forest_.size());
  for (; scope != frame && bypassed_[scope] == 0; scope = forest_.parent(scope)) bypassed_[scope] = 1;
}

/// Which scopes a fold went past and left without anything below them.
std::vector<std::uint8_t> Overlay::find_empty() {
  bypassed_.resize(forest_.size());
  std::vector<std::uint32_t> children(forest_.size(), 0);
  for (Id scope = 1; scope < forest_.size(); ++scope) ++children[forest_.parent(scope)];
  std::vector<std::uint8_t> empty(forest_.size(), 0);
  for (auto scope = static_cast<Id>(forest_.size()); scope-- > 1;) {
    if (bypassed_[scope] == 0 || children[scope] != 0) continue;
    empty[scope] = 1;
    --children[forest_.parent(scope)];
  }
  return empty;
}

Id Overlay::call_context(Position& position) {
  if (position.call == kNone) position.call = forest_.child(position.scope, position.call_label);
  return position.call;
}

/// The context of `procedure`'s frame below the raw frame at `parent`; also sets which MPI call encloses
/// `here`.
Id Overlay::frame_context(Position& parent, const ProcedureName& procedure, Position& here) {
  here.mpi = parent.mpi;
  here.mpi_frame = parent.mpi_frame;
  if (procedure.mpi != 0 && procedure.mpi == parent.mpi) {
    bypass(parent.scope, parent.mpi_frame);
    return parent.mpi_frame;
  }
  const Id frame = forest_.child(call_context(parent), procedure.label);
  if (procedure.mpi != 0) {
    here.mpi = procedure.mpi;
    here.mpi_frame = frame;
  }
  unresolved_.resize(forest_.size());
  unresolved_[frame] = procedure.unresolved ? 1 : 0;
  return frame;
}

/// The loops and inlined procedures around an address, and the call there, within its procedure's frame.
void Overlay::locate(cct::ModuleId module, const structure::Point* point, Position& here) {
  here.call_label = {.kind = ContextKind::call, .module = module_path(module)};
  if (point == nullptr) return;
  here.scope = enter_scopes(here.scope, module, point->scope);
  here.call_label.file = file(module, point->file);
  here.call_label.line = point->line;
}

/// The frame of a function that was called by name, and left its frame by a jump that is not known.
Position Overlay::name_jump(Position& parent, cct::ModuleId module, const std::string& callee) {
  structure::Procedure called;
  called.linkage = callee;
  called.name = structure::demangle(callee);
  called.source = structure::NameSource::symbol;
  Position between;
  between.scope = frame_context(parent, name_procedure(module, called), between);
  locate(module, nullptr, between);
  return between;
}

/// The frame of a function that left it by a jump.
Position Overlay::jumped_from(Position& parent, const Place& jump) {
  const structure::Point* const point = structure_.point(jump);
  Position between;
  between.scope = frame_context(parent, procedure(jump.module, point), between);
  locate(jump.module, point, between);
  return between;
}

/// What the frame of `procedure` hangs below: its raw parent, or `between`, which is made the frame of the
/// last function that left its own by a jump.
Position& Overlay::caller_of(cct::NodeId node, const ProcedureName& procedure, Position& between) {
  const cct::FrameKey& frame = shared_.tree[node].frame;
  const cct::FrameKey& call = shared_.tree[shared_.tree[node].parent].frame;
  Position* caller = &positions_[shared_.tree[node].parent];
  if (call.kind != cct::FrameKind::call) return *caller;
  const Place callee = structure_.entry({frame.module, frame.offset});
  for (const Place& jump : structure_.jumps({call.module, call.offset}, callee)) {
    between = jumped_from(*caller, jump);
    caller = &between;
  }
  const bool by_name = caller->callee != structure::kNone && call.module != frame.module;
  if (by_name && procedure.nameless && !is_loader(frame.module)) {
    const std::string& called = structure_.modules()[call.module].structure.callees[caller->callee];
    between = name_jump(*caller, frame.module, called);
    caller = &between;
  }
  return *caller;
}

/// What is to be known of a frame when the frames that it called are placed.
void Overlay::note_call(const cct::FrameKey& frame, const structure::Point& point, Position& here) {
  const structure::ModuleStructure& module = structure_.modules()[frame.module].structure;
  here.procedure = point.procedure;
  if (frame.kind != cct::FrameKind::call || point.procedure >= module.procedures.size()) return;
  // No call can return to the byte after a function's first.
  if (module.procedures[point.procedure].low == frame.offset) {
    here.stand_in = here.scope;
  } else if (point.callee < module.callees.size()) {
    here.callee = point.callee;
  }
}

void Overlay::place_root(cct::NodeId node, ContextKind kind, const char* name) {
  const Id scope = node == 0 ? 0 : forest_.child(0, {.kind = kind, .name = strings_.add(name)});
  positions_[node] = {.scope = scope, .call = scope, .call_label = {}};
  own_[node] = scope;
}

/// A Python function's calls are at the lines of its source.
void Overlay::place_python(cct::NodeId node, const measurement::PythonFunction& function) {
  const cct::Node& raw = shared_.tree[node];
  Position& parent = positions_[raw.parent];
  const StringId module = strings_.add(database::kPythonModule);
  const StringId file =
      function.file.empty() ? 0 : strings_.add(replace_prefix(std::string(function.file), prefixes_));
  const Label label{.kind = ContextKind::procedure,
                    .name = strings_.add(function.name),
                    .module = module,
                    .file = file,
                    .line = function.line};
  const Id scope = forest_.child(call_context(parent), label);
  const Label at{.kind = ContextKind::call,
                 .module = module,
                 .file = file,
                 .line = static_cast<std::uint32_t>(raw.frame.offset)};
  positions_[node] = {
      .scope = scope, .call_label = at, .mpi_frame = parent.mpi_frame, .mpi = parent.mpi, .python = true};
}

/// Interpreting a Python function is that function's own work.
void Overlay::place_interpreter(cct::NodeId node, Position& function) {
  if (shared_.tree[node].frame.kind == cct::FrameKind::sample) {
    Label statement = function.call_label;
    statement.kind = ContextKind::statement;
    own_[node] = forest_.child(function.scope, statement);
  } else {
    static_cast<void>(call_context(function));
  }
  positions_[node] = function;
}

void Overlay::place_region(cct::NodeId node) {
  const cct::Node& raw = shared_.tree[node];
  Position& parent = positions_[raw.parent];
  const cct::ModuleId name = raw.frame.module;
  if (raw.frame.offset != 0 && name < shared_.modules.size()) {
    if (const auto function = measurement::python_function(shared_.modules[name].path))
      return place_python(node, *function);
  }
  const std::string& text = name < shared_.modules.size() ? shared_.modules[name].path : "<region>";
  const Label label = raw.frame == cct::kGap
                          ? Label{.kind = ContextKind::procedure, .name = strings_.add(kLeftOut)}
                          : Label{.kind = ContextKind::region, .name = strings_.add(text)};
  const Id scope = forest_.child(call_context(parent), label);
  positions_[node] = {
      .scope = scope, .call = scope, .call_label = {}, .mpi_frame = parent.mpi_frame, .mpi = parent.mpi};
  own_[node] = scope;
}

void Overlay::place(cct::NodeId node) {
  const cct::Node& raw = shared_.tree[node];
  switch (raw.frame.kind) {
    case cct::FrameKind::root:
      return place_root(node, ContextKind::root, "");
    case cct::FrameKind::program_root:
      return place_root(node, ContextKind::root, "<program root>");
    case cct::FrameKind::thread_root:
      return place_root(node, ContextKind::thread_root, "<thread root>");
    case cct::FrameKind::partial:
      return place_root(node, ContextKind::partial, "<partial>");
    case cct::FrameKind::region:
      return place_region(node);
    case cct::FrameKind::call:
    case cct::FrameKind::sample:
    case cct::FrameKind::interrupted:
      break;
  }
  const cct::ModuleId module = raw.frame.module;
  const structure::Point* point = structure_.point({.module = module, .offset = raw.frame.offset});
  Position& parent = positions_[raw.parent];
  const bool same_module = shared_.tree[raw.parent].frame.module == module;
  const ProcedureName name = procedure(module, point);
  // Below a Python function: by its name, or a part of it that was moved out of line and has none.
  const bool below_python = parent.python && shared_.tree[raw.parent].frame.kind == cct::FrameKind::region;
  if (below_python &&
      (name.nameless || strings_[name.label.name].starts_with(measurement::kPythonInterpreter)))
    return place_interpreter(node, parent);
  Position here;
  if (same_module && parent.stand_in != kNone && point != nullptr && parent.procedure == point->procedure) {
    here.mpi = parent.mpi;
    here.mpi_frame = parent.mpi_frame;
    here.scope = parent.stand_in;
  } else {
    Position between;
    here.scope = frame_context(caller_of(node, name, between), name, here);
  }
  if (point != nullptr) note_call(raw.frame, *point, here);
  locate(module, point, here);
  if (raw.frame.kind == cct::FrameKind::sample) {
    Label statement = here.call_label;
    statement.kind = ContextKind::statement;
    own_[node] = forest_.child(here.scope, statement);
  }
  positions_[node] = here;
}

Id Overlay::flat_file(ScopeForest& flat, const Label& procedure) {
  const StringId module_name = procedure.module != 0 ? procedure.module : strings_.add("<unknown module>");
  const StringId file_name = procedure.file != 0 ? procedure.file : strings_.add("<unknown file>");
  const Id module =
      flat.child(0, {.kind = ContextKind::module, .name = module_name, .module = procedure.module});
  return flat.child(
      module,
      {.kind = ContextKind::file, .name = file_name, .module = procedure.module, .file = procedure.file});
}

/// Grows the flat tree: every procedure, loop, inlined procedure and statement by what it is, whatever its
/// callers.
std::vector<Id> Overlay::build_flat(ScopeForest& flat, const std::vector<std::uint8_t>& empty) {
  std::vector<Id> flat_of(forest_.size(), kNone);
  for (Id scope = 1; scope < forest_.size(); ++scope) {
    if (empty[scope] != 0) continue;
    const Label& label = forest_.label(scope);
    switch (label.kind) {
      case ContextKind::procedure:
        flat_of[scope] = flat.child(flat_file(flat, label), label);
        break;
      case ContextKind::inlined:
      case ContextKind::loop:
      case ContextKind::statement:
        flat_of[scope] = flat.child(flat_of[forest_.parent(scope)], label);
        break;
      default:
        break;
    }
  }
  return flat_of;
}

std::vector<database::FlatScope> Overlay::number_flat(const ScopeForest& flat,
                                                      const ScopeForest::Order& order) {
  std::vector<database::FlatScope> scopes;
  scopes.reserve(flat.size());
  for (Id at = 0; at < flat.size(); ++at) {
    const Label& label = flat.label(order.scope[at]);
    const Id parent = flat.parent(order.scope[at]);
    scopes.push_back({.parent = parent == kNone ? kNone : order.position[parent],
                      .end = order.end[at],
                      .name = label.name,
                      .file = label.file,
                      .line = label.line,
                      .module = label.module,
                      .kind = label.kind});
  }
  return scopes;
}

Attribution Overlay::number(ScopeForest& flat, const std::vector<Id>& flat_of,
                            const std::vector<std::uint8_t>& empty) {
  const std::vector<StringId> final_ids = strings_.sort();
  forest_.rename(final_ids);
  flat.rename(final_ids);
  const ScopeForest::Order order = forest_.order(empty);
  const ScopeForest::Order flat_order = flat.order();
  Attribution result;
  unresolved_.resize(forest_.size());
  for (std::size_t at = 0; at < order.scope.size(); ++at) {
    const Id scope = order.scope[at];
    const Label& label = forest_.label(scope);
    const Id parent = forest_.parent(scope);
    result.contexts.push_back({.parent = parent == kNone ? kNone : order.position[parent],
                               .end = order.end[at],
                               .name = label.name,
                               .file = label.file,
                               .line = label.line,
                               .module = label.module,
                               .flat = flat_of[scope] == kNone ? kNone : flat_order.position[flat_of[scope]],
                               .kind = label.kind});
    result.unresolved.push_back(unresolved_[scope]);
  }
  result.flat = number_flat(flat, flat_order);
  for (const Id scope : own_) result.own.push_back(order.position[scope]);
  result.strings = strings_.take();
  return result;
}

Attribution Overlay::run() {
  const auto nodes = static_cast<cct::NodeId>(shared_.tree.size());
  positions_.resize(nodes);
  own_.resize(nodes, kNone);
  for (cct::NodeId node = 0; node < nodes; ++node) place(node);
  for (cct::NodeId node = 0; node < nodes; ++node) {
    // Values at a frame that is no sample (the arena was full) belong to the call, if it has a context of its
    // own.
    if (own_[node] == kNone) {
      own_[node] = positions_[node].call != kNone ? positions_[node].call : positions_[node].scope;
    }
  }
  ScopeForest flat{Label{}};
  const std::vector<std::uint8_t> empty = find_empty();
  const std::vector<Id> flat_of = build_flat(flat, empty);
  return number(flat, flat_of, empty);
}

}  // namespace

std::string replace_prefix(const std::string& path, const PrefixMap& prefixes) {
  for (const auto& [old_prefix, new_prefix] : prefixes) {
    if (path.starts_with(old_prefix)) return new_prefix + path.substr(old_prefix.size());
  }
  return path;
}

Attribution attribute(const cct::SharedTree& shared, const RecoveredStructure& structure,
                      const IdleRules& rules, const PrefixMap& prefixes) {
  return Overlay(shared, structure, rules, prefixes).run();
}

}  // namespace culprit::merge
