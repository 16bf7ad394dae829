#pragma once

#include "database/checked_bytes.hpp"
#include "database/database.hpp"
#include "database/section_table.hpp"
#include "database/summary_table.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What a database says beside per-thread values, looked up in the file: only what is looked at is read and
// verified. Everything here trusts nothing and throws DatabaseError where what it needs is damaged or
// contradicts itself; an index beyond the end throws it too. Const members are thread-safe.
namespace culprit::database {

/// Names, as they may come out of any tool (print/printable.hpp): those that hold what is not printable are
/// handed out spelled, so that no output has to think of it.
class Strings {
 public:
  Strings() = default;
  Strings(CheckedBytes ends, CheckedBytes bytes);
  [[nodiscard]] std::size_t size() const { return ends_.size() / format::kStringEndSize; }
  /// Belongs to the database.
  [[nodiscard]] std::string_view operator[](StringId id) const;

 private:
  struct Spelled;
  [[nodiscard]] std::string_view spelled(StringId id, std::string_view name) const;

  CheckedBytes ends_, bytes_;
  std::shared_ptr<Spelled> spelled_;
};

/// How many of what a scope may refer to there are.
struct ScopeBounds {
  std::size_t strings = 0, flat = 0;
};

/// A tree in pre-order, in the file. Every scope that is handed out has its parent before it, its end behind
/// it, and refers to nothing that does not exist.
template <class Scope>
class ScopeTree {
 public:
  ScopeTree() = default;
  ScopeTree(CheckedBytes bytes, const ScopeBounds& bounds)
      : bytes_(std::move(bytes)), size_(bytes_.size() / sizeof(Scope)), bounds_(bounds) {}
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// Belongs to the file.
  [[nodiscard]] const Scope& operator[](std::size_t id) const {
    const auto& scope = *reinterpret_cast<const Scope*>(bytes_.at(id * sizeof(Scope), sizeof(Scope)).data());
    if (!is_sound(scope, id))
      bytes_.fail("is no tree in pre-order, or refers to something that does not exist");
    return scope;
  }

 private:
  [[nodiscard]] bool is_sound(const Scope& scope, std::size_t id) const {
    const bool placed = id == 0 ? scope.parent == kNone : scope.parent < id;
    const bool named =
        scope.name < bounds_.strings && scope.file < bounds_.strings && scope.module < bounds_.strings;
    bool instance = true;
    if constexpr (requires { scope.flat; }) instance = scope.flat == kNone || scope.flat < bounds_.flat;
    return placed && named && instance && scope.end > id && scope.end <= size_ &&
           scope.kind <= ContextKind::region;
  }

  CheckedBytes bytes_;
  std::size_t size_ = 0;
  ScopeBounds bounds_;
};
static_assert(sizeof(Context) == format::kContextSize && sizeof(FlatScope) == format::kFlatSize);

/// A location as it is handed out; the host's name belongs to the database.
struct LocationEntry {
  std::int32_t rank = -1;
  std::uint32_t thread = 0, role = 0;
  std::uint64_t pid = 0;
  std::string_view host;
  std::uint64_t start_ns = 0, end_ns = 0;
  bool cut_short = false, left = false;
};

class Locations {
 public:
  Locations() = default;
  Locations(CheckedBytes bytes, std::shared_ptr<const std::vector<std::string>> hosts, std::size_t roles)
      : bytes_(std::move(bytes)), hosts_(std::move(hosts)), roles_(roles) {}
  [[nodiscard]] std::size_t size() const { return bytes_.size() / format::kLocationSize; }
  [[nodiscard]] LocationEntry operator[](std::size_t location) const;

 private:
  CheckedBytes bytes_;
  std::shared_ptr<const std::vector<std::string>> hosts_;
  std::size_t roles_ = 0;
};

/// Blame by context (docs/algorithms.md 5.3).
class BlameTable {
 public:
  BlameTable() = default;
  BlameTable(CheckedBytes rows, CheckedBytes flat_rows, std::size_t roles, std::size_t contexts)
      : rows_(std::move(rows)), flat_rows_(std::move(flat_rows)), roles_(roles), contexts_(contexts) {}

  /// Sums over a role's rows of contexts in [first, end). Binary search.
  [[nodiscard]] BlameSums between(std::uint32_t role, ContextId first, ContextId end) const;
  /// Of a flat scope (lookup_tables.hpp). Binary search.
  [[nodiscard]] BlameSums of_flat(std::uint32_t role, FlatId scope, bool inclusive) const;
  /// All rows, by role, ascending by context.
  [[nodiscard]] std::vector<std::vector<BlameRow>> read() const;
  [[nodiscard]] std::size_t roles() const { return roles_; }

 private:
  [[nodiscard]] std::uint64_t lower_bound(const CheckedBytes& rows, std::uint64_t stride, std::uint32_t role,
                                          std::uint32_t scope) const;
  [[nodiscard]] BlameSums sums_before(std::uint64_t row, std::uint32_t role) const;

  CheckedBytes rows_, flat_rows_;
  std::size_t roles_ = 0, contexts_ = 0;
};

/// Lists of contexts, one per key; see lookup_tables.hpp.
class ContextListTable {
 public:
  ContextListTable() = default;
  /// `ends`: one u32 per key, at `offset` in records of `stride` bytes.
  ContextListTable(CheckedBytes ends, std::uint64_t stride, std::uint64_t offset, CheckedBytes contexts,
                   std::size_t bound)
      : ends_(std::move(ends)),
        stride_(stride),
        offset_(offset),
        contexts_(std::move(contexts)),
        bound_(bound) {}
  [[nodiscard]] std::size_t size() const { return stride_ == 0 ? 0 : ends_.size() / stride_; }
  /// The lists of keys [first, last), one after the other; each ascends.
  [[nodiscard]] std::vector<ContextId> between(std::size_t first, std::size_t last) const;
  [[nodiscard]] std::vector<ContextId> operator[](std::size_t key) const { return between(key, key + 1); }
  [[nodiscard]] bool is_empty(std::size_t key) const { return end(key) == end(key + 1); }

 private:
  [[nodiscard]] std::uint32_t end(std::size_t keys) const;

  CheckedBytes ends_;
  std::uint64_t stride_ = 0, offset_ = 0;
  CheckedBytes contexts_;
  std::size_t bound_ = 0;
};

/// The procedures of the view of callers (lookup_tables.hpp).
class ProcedureTable {
 public:
  struct Entry {
    ContextId first = 0;
    FlatId flat = kNone;
    std::uint8_t flags = 0;
  };
  ProcedureTable() = default;
  ProcedureTable(const CheckedBytes& procedures, CheckedBytes of_context, CheckedBytes instances,
                 const ScopeBounds& bounds, std::size_t contexts);
  [[nodiscard]] std::size_t size() const { return procedures_.size() / format::kProcedureSize; }
  [[nodiscard]] Entry operator[](std::size_t number) const;
  /// The procedure that a context is an instance of, kNone where it is no procedure or inlined procedure.
  [[nodiscard]] std::uint32_t of_context(ContextId context) const;
  /// Contexts of kind procedure; none for inlined procedures.
  [[nodiscard]] const ContextListTable& instances() const { return instances_; }

 private:
  CheckedBytes procedures_, of_context_;
  ContextListTable instances_;
  std::size_t flat_ = 0, contexts_ = 0;
};

/// Everything but the per-thread values. All texts are spelled like Strings, but for the words of the command
/// and the lines of sources, which are what was given.
struct Contents {
  Contents() = default;
  Contents(const CheckedSections& sections, const std::filesystem::path& path);

  // Read when the database is opened: they do not grow with contexts or threads.
  Run run;
  Quality quality;
  std::vector<ModuleInfo> modules;
  std::vector<Metric> metrics;
  std::vector<Role> roles;

  Strings strings;
  ScopeTree<Context> contexts;
  ScopeTree<FlatScope> flat;
  ContextListTable flat_instances;  ///< by flat scope
  ProcedureTable procedures;
  Locations locations;
  SummaryTables context_summaries, flat_summaries;
  BlameTable blame;

  [[nodiscard]] Balance balance(std::uint32_t role, ContextId context) const;
  // Read in whole when first asked for.
  [[nodiscard]] const std::vector<Suspect>& suspects() const;    ///< largest explains first
  [[nodiscard]] const std::vector<Wait>& waits() const;          ///< longest first
  [[nodiscard]] const std::vector<SourceFile>& sources() const;  ///< ascending by path
  [[nodiscard]] const TraceAnalyses& trace() const;
  [[nodiscard]] const Machine& machine() const;
  [[nodiscard]] const std::vector<VaryingGap>& varying_gaps() const;  ///< most unexplained first
  [[nodiscard]] const Communication& communication() const;

 private:
  struct Late;
  std::shared_ptr<Late> late_;
};

}  // namespace culprit::database
