// Reads debug information around sampled addresses (DWARF 5, section 3.3; docs/algorithms.md 15): only the
// compilation units that hold some, each in one pass, which keeps the procedures that hold some with all
// their inlined instances. Damaged parts are left out. Cost: linear in the entries of the units that are
// read.
#include "structure/subprograms.hpp"

#include "structure/qualified_names.hpp"

#include <algorithm>
#include <set>

#include <dwarf.h>

namespace culprit::structure {
namespace {

/// Debug information nests this deep at most before it counts as damaged (real: below 50).
constexpr int kDeepestEntry = 400;
constexpr std::size_t kMostRanges = 1U << 20;

const char* string_of(Dwarf_Die* die, unsigned attribute_name) {
  Dwarf_Attribute attribute;
  return dwarf_formstring(dwarf_attr_integrate(die, attribute_name, &attribute));
}

std::string linkage_of(Dwarf_Die* die) {
  const char* name = string_of(die, DW_AT_linkage_name);
  if (name == nullptr) name = string_of(die, DW_AT_MIPS_linkage_name);
  return name == nullptr ? std::string() : std::string(name);
}

/// The name that the debug information states itself, as the user wrote it; `whole`: with all that is around
/// it.
std::string name_of(Dwarf_Die* die, const std::string& linkage, bool& whole) {
  whole = true;
  if (!linkage.empty()) return demangle(linkage);
  const char* name = dwarf_diename(die);
  if (name == nullptr) return {};
  std::string readable = demangle(name);
  whole = readable != name;
  return readable;
}

std::vector<Range> ranges_of(Dwarf_Die* die, std::uint64_t bias) {
  std::vector<Range> ranges;
  Dwarf_Addr base = 0, low = 0, high = 0;
  for (std::ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &low, &high)) > 0;) {
    if (high > low && low > bias)
      ranges.push_back({low - bias, high - bias});  // at 0: left out by the linker
    if (ranges.size() > kMostRanges) break;
  }
  return ranges;
}

bool holds_any(std::span<const std::uint64_t> addresses, const std::vector<Range>& ranges) {
  return std::ranges::any_of(ranges, [&](const Range& range) {
    const auto first = std::ranges::lower_bound(addresses, range.low);
    return first != addresses.end() && *first < range.high;
  });
}

std::uint32_t number_of(Dwarf_Die* die, unsigned attribute_name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(die, attribute_name, &attribute), &value) != 0) return 0;
  return value < kNone ? static_cast<std::uint32_t>(value) : 0;
}

/// Whether clang made this of an OpenMP region or task: what it says of it leads to no procedure.
bool is_openmp_region(const std::string& readable) {
  return readable.starts_with("[OpenMP");
}

/// The procedure of a unit that begins last before a place in the source.
struct ProcedureAround {
  SourceFiles& files;
  Place place;
  std::uint32_t line = 0;
  std::string name;

  static int consider(Dwarf_Die* die, void* argument) {
    auto& self = *static_cast<ProcedureAround*>(argument);
    int line = 0;
    if (dwarf_decl_line(die, &line) != 0 || line <= 0) return DWARF_CB_OK;
    const auto begin = static_cast<std::uint32_t>(line);
    if (begin > self.place.line || begin < self.line) return DWARF_CB_OK;
    if (self.files.add(dwarf_decl_file(die)) != self.place.file) return DWARF_CB_OK;
    bool whole = false;
    std::string name = name_of(die, linkage_of(die), whole);
    if (name.empty() || name.starts_with('.') || is_openmp_region(name)) return DWARF_CB_OK;
    self.line = begin;
    self.name = std::move(name);
    return DWARF_CB_OK;
  }
};

/// The concrete procedures of one compilation unit.
class UnitWalk {
 public:
  UnitWalk(std::span<const std::uint64_t> addresses, std::uint64_t bias, SourceFiles& files,
           QualifiedNames& names, std::size_t& budget, std::vector<Subprogram>& out)
      : addresses_(addresses), bias_(bias), files_(files), names_(names), budget_(budget), out_(out) {}

  void run(Dwarf_Die& unit) {
    cpp_ = is_cpp(&unit);
    if (dwarf_getsrcfiles(&unit, &call_files_, &call_file_count_) != 0) call_file_count_ = 0;
    const std::size_t first = out_.size();
    children(&unit, 0);
    for (std::size_t i = first; i < out_.size(); ++i) {
      if (!is_openmp_region(out_[i].name)) continue;
      ProcedureAround found{.files = files_, .place = out_[i].declared, .name = {}};
      dwarf_getfuncs(&unit, ProcedureAround::consider, &found, 0);
      out_[i].around = std::move(found.name);
    }
  }

  /// Only what QualifiedNames wants to know of the unit.
  void note_names(Dwarf_Die& unit) { children(&unit, 0); }

  /// A procedure or an instance whose name lacks what is around it.
  struct Unqualified {
    Dwarf_Die die;
    std::size_t owner;
    std::uint32_t instance;  ///< kNone: the procedure itself
    bool overloadable;       ///< only with its parameters it is named as its symbol would name it
  };
  [[nodiscard]] const std::vector<Unqualified>& unqualified() const { return unqualified_; }

  /// The code of a procedure without a linkage name, by its declaration.
  struct Copy {
    const void* declaration = nullptr;
    std::uint64_t entry = 0;
    friend auto operator<=>(const Copy&, const Copy&) = default;  // NOLINT(modernize-use-nullptr)
  };
  [[nodiscard]] const std::vector<Copy>& copies() const { return copies_; }

 private:
  void children(Dwarf_Die* parent, int depth) {
    Dwarf_Die die;
    if (depth > kDeepestEntry || dwarf_child(parent, &die) != 0) return;
    do {
      switch (dwarf_tag(&die)) {
        case DW_TAG_subprogram:
          subprogram(&die, depth);
          break;
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
          named_scope(&die, depth);
          break;
        default:
          break;
      }
    } while (next(&die));
  }

  void named_scope(Dwarf_Die* die, int depth) {
    names_.enter(*die);
    children(die, depth + 1);
    names_.leave();
  }

  /// A sibling attribute of damaged information can lead back: every step is counted.
  bool next(Dwarf_Die* die) {
    if (budget_ == 0) return false;
    --budget_;
    if (dwarf_siblingof(die, die) != 0) return false;
    names_.visit(*die);
    return true;
  }

  void subprogram(Dwarf_Die* die, int depth) {
    std::vector<Range> ranges = ranges_of(die, bias_);
    const bool concrete = !ranges.empty(), wanted = holds_any(addresses_, ranges);
    const std::size_t mine = out_.size();
    if (concrete && linkage_of(die).empty())
      copies_.push_back({QualifiedNames::declaration_of(*die).addr, ranges.front().low});
    if (wanted) {
      Subprogram& sub = out_.emplace_back();
      sub.linkage = linkage_of(die);
      bool whole = false;
      sub.name = name_of(die, sub.linkage, whole);
      if (!whole) unqualified_.push_back({*die, mine, kNone, overloadable(die)});
      sub.declared = declared(die);
      Dwarf_Addr entry = 0;
      if (dwarf_entrypc(die, &entry) == 0)
        std::stable_partition(ranges.begin(), ranges.end(),
                              [&](const Range& range) { return range.contains(entry - bias_); });
      sub.ranges = std::move(ranges);
    }
    if (!concrete && dwarf_hasattr(die, DW_AT_declaration) != 0) return;
    names_.enter(*die);
    scopes(die, wanted ? mine : kNobody, kNone, depth + 1);
    names_.leave();
  }

  /// What lies within a procedure or one of its inlined instances: instances, procedures contained in it
  /// (Fortran), and classes with members of their own (lambdas).
  void scopes(Dwarf_Die* parent, std::size_t owner, std::uint32_t within, int depth) {
    Dwarf_Die die;
    if (depth > kDeepestEntry || dwarf_child(parent, &die) != 0) return;
    do {
      switch (dwarf_tag(&die)) {
        case DW_TAG_subprogram:
          subprogram(&die, depth);
          break;
        case DW_TAG_lexical_block:
          scopes(&die, owner, within, depth + 1);
          break;
        case DW_TAG_inlined_subroutine:
          if (owner != kNobody) inlined(&die, owner, within, depth);
          break;
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
          named_scope(&die, depth);
          break;
        default:
          break;
      }
    } while (next(&die));
  }

  void inlined(Dwarf_Die* die, std::size_t owner, std::uint32_t within, int depth) {
    std::vector<Range> ranges = ranges_of(die, bias_);
    std::uint32_t mine = within;
    bool whole = false;
    std::string name = name_of(die, linkage_of(die), whole);
    // With debug information, clang puts a function of its own between an OpenMP region and its body.
    const bool same = is_openmp_region(name) && is_openmp_region(out_[owner].name);
    const Place called{call_file(number_of(die, DW_AT_call_file)), number_of(die, DW_AT_call_line)};
    const std::string& around = within == kNone ? out_[owner].name : out_[owner].inlined[within].name;
    const bool rest = name == around && called_where_declared(die, called);
    if (!ranges.empty() && !same && !rest) {
      Inlined instance;
      instance.parent = within;
      instance.name = std::move(name);
      if (instance.name.empty()) instance.name = "<unnamed>";
      instance.declared = declared(die);
      instance.called = called;
      Dwarf_Addr entry = 0;
      const bool stated = dwarf_entrypc(die, &entry) == 0 && entry > bias_;
      instance.entry = stated ? entry - bias_ : ranges.front().low;
      instance.ranges = std::move(ranges);
      mine = static_cast<std::uint32_t>(out_[owner].inlined.size());
      if (!whole) unqualified_.push_back({*die, owner, mine, overloadable(die)});
      out_[owner].inlined.push_back(std::move(instance));
    }
    scopes(die, owner, mine, depth + 1);
  }

  /// gcc splits a procedure, inlines its beginning, and then perhaps the rest, there: as if it called itself
  /// from the place of its own name.
  bool called_where_declared(Dwarf_Die* die, const Place& called) {
    int column = 0;
    return called.line != 0 && called == declared(die) && dwarf_decl_column(die, &column) == 0 &&
           column > 0 && number_of(die, DW_AT_call_column) == static_cast<std::uint32_t>(column);
  }

  /// C++ procedures that only their file knows; of others without a linkage name (main, extern "C") the name
  /// is all.
  [[nodiscard]] bool overloadable(Dwarf_Die* die) const {
    return cpp_ && dwarf_hasattr_integrate(die, DW_AT_external) == 0;
  }

  Place declared(Dwarf_Die* die) {
    int line = 0;
    const bool known = dwarf_decl_line(die, &line) == 0 && line > 0;
    return {files_.add(dwarf_decl_file(die)), known ? static_cast<std::uint32_t>(line) : 0};
  }

  std::uint32_t call_file(std::uint32_t index) {
    if (index >= call_file_count_) return kNone;
    return files_.add(dwarf_filesrc(call_files_, index, nullptr, nullptr));
  }

  static constexpr std::size_t kNobody = static_cast<std::size_t>(-1);
  std::span<const std::uint64_t> addresses_;
  std::uint64_t bias_;
  SourceFiles& files_;
  QualifiedNames& names_;
  std::size_t& budget_;
  std::vector<Subprogram>& out_;
  std::vector<Unqualified> unqualified_;
  std::vector<Copy> copies_;
  bool cpp_ = false;
  Dwarf_Files* call_files_ = nullptr;
  std::size_t call_file_count_ = 0;
};

/// The parts of `code` that lie in `unit`, ascending and disjoint.
std::vector<Range> common(const std::vector<Range>& code, const std::vector<Range>& unit) {
  std::vector<Range> parts;
  for (const Range& part : code)
    for (const Range& range : unit) {
      const Range both{std::max(part.low, range.low), std::min(part.high, range.high)};
      if (both.low < both.high) parts.push_back(both);
    }
  std::ranges::sort(parts, {}, &Range::low);
  std::vector<Range> merged;
  for (const Range& range : parts) {
    if (!merged.empty() && range.low <= merged.back().high) {
      merged.back().high = std::max(merged.back().high, range.high);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

/// Whether libdw may be let look for a unit's split part, which it seeks by itself.
bool may_seek_split(const Module& module, Dwarf_Die& head) {
  const auto text = [&](unsigned name) {
    Dwarf_Attribute attribute;
    const char* const value = dwarf_formstring(dwarf_attr(&head, name, &attribute));
    return value == nullptr ? "" : value;
  };
  const char* name = text(DW_AT_dwo_name);
  if (*name == '\0') name = text(DW_AT_GNU_dwo_name);
  return *name == '\0' || (module.may_seek(name) && module.may_seek(name, text(DW_AT_comp_dir)));
}

}  // namespace

/// `body` has the DIEs: the unit itself or its split part (.dwo).
struct DebugInfo::Unit {
  Dwarf_Die head{}, body{};
  std::vector<Range> ranges;
};

DebugInfo::DebugInfo(const Module& module, std::span<const std::uint64_t> addresses, SourceFiles& files)
    : files_(files) {
  dwarf_ = module.dwarf(bias_);
  if (dwarf_ == nullptr) return;
  select_units(module, addresses);
  std::size_t file_size = 0;
  elf_rawfile(dwarf_getelf(dwarf_), &file_size);
  // Every entry takes a byte or more; compressed sections hold more than the file, hence the factor.
  std::size_t budget = file_size * 16;
  QualifiedNames names;
  std::set<const void*> walked;
  std::vector<UnitWalk::Unqualified> unqualified;
  std::vector<UnitWalk::Copy> copies;
  for (Unit& unit : units_) {
    UnitWalk walk(addresses, bias_, files, names, budget, subprograms_);
    walk.run(unit.body);
    walked.insert(unit.body.addr);
    unqualified.insert(unqualified.end(), walk.unqualified().begin(), walk.unqualified().end());
    copies.insert(copies.end(), walk.copies().begin(), walk.copies().end());
  }
  // Code that was optimised as a whole program is described in one unit and declared in others.
  for (const UnitWalk::Unqualified& one : unqualified) {
    Dwarf_Die declaration = QualifiedNames::declaration_of(one.die), unit;
    if (dwarf_diecu(&declaration, &unit, nullptr, nullptr) == nullptr) continue;
    if (walked.insert(unit.addr).second)
      UnitWalk({}, bias_, files, names, budget, subprograms_).note_names(unit);
  }
  names.sort();
  Parameters parameters(names);
  std::ranges::sort(copies);
  for (const UnitWalk::Unqualified& one : unqualified) {
    Subprogram& sub = subprograms_[one.owner];
    std::string& name = one.instance == kNone ? sub.name : sub.inlined[one.instance].name;
    name = names.qualify(one.die, std::move(name));
    if (one.overloadable) name += parameters.of(one.die);
    if (one.instance == kNone) continue;
    const void* declaration = QualifiedNames::declaration_of(one.die).addr;
    for (auto copy = std::ranges::lower_bound(copies, declaration, {}, &UnitWalk::Copy::declaration);
         copy != copies.end() && copy->declaration == declaration; ++copy)
      sub.inlined[one.instance].copies.push_back(copy->entry);
  }
}

DebugInfo::~DebugInfo() = default;

void DebugInfo::select_units(const Module& module, std::span<const std::uint64_t> addresses) {
  Dwarf_CU* unit = nullptr;
  Dwarf_Half version = 0;
  std::uint8_t type = 0;
  Unit found;
  while (dwarf_get_units(dwarf_, unit, &unit, &version, &type, &found.head, nullptr) == 0) {
    if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
    found.ranges = ranges_of(&found.head, bias_);
    if (!holds_any(addresses, found.ranges)) continue;
    found.body = {};
    if (type == DW_UT_skeleton) {
      split_ = true;
      if (may_seek_split(module, found.head))
        dwarf_cu_info(unit, nullptr, nullptr, nullptr, &found.body, nullptr, nullptr, nullptr);
    }
    const bool missing = type == DW_UT_skeleton && dwarf_tag(&found.body) == DW_TAG_invalid;
    lacks_split_ = lacks_split_ || missing;
    if (type != DW_UT_skeleton || missing) found.body = found.head;
    units_.push_back(found);
  }
}

LineTable DebugInfo::lines(const std::vector<Range>& code) const {
  LineTable table;
  for (const Unit& unit : units_) {
    Dwarf_Die head = unit.head;
    const std::vector<Range> wanted = common(code, unit.ranges);
    if (!wanted.empty()) table.read(head, bias_, wanted, files_);
  }
  table.sort();
  return table;
}

}  // namespace culprit::structure
