#pragma once

#include "database/contents.hpp"
#include "database/database_error.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::database {

/// A database mapped into memory. Trusts nothing: throws DatabaseError where what is asked for is damaged or
/// contradicts itself. Opening reads and verifies only what does not grow with contexts or threads; the rest
/// is verified when it is looked at. Const members are thread-safe.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& path);
  /// The same for bytes in memory, which must outlive the reader and not change; `name` appears in errors.
  Reader(std::span<const std::byte> bytes, const std::filesystem::path& name);
  ~Reader();
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;

  /// Whether somebody wrote to the file since it was opened: then what it says means nothing.
  [[nodiscard]] bool changed() const;

  /// Everything but the per-thread values.
  [[nodiscard]] const Contents& experiment() const;

  /// Exclusive values (of the statement contexts) of one profile, ascending by (context, metric).
  [[nodiscard]] std::vector<Value> profile_values(std::uint32_t location) const;

  /// Inclusive values of one metric at a context: entry l is location l's, 0 where it observed nothing.
  [[nodiscard]] std::vector<std::uint64_t> context_values(ContextId context, std::uint32_t metric) const;

  /// Sums of the inclusive values of one metric at some contexts (ascending, none of them below another), one
  /// per location.
  [[nodiscard]] std::vector<std::uint64_t> inclusive_values(std::span<const ContextId> contexts,
                                                            std::uint32_t metric) const;

  /// Sums of the exclusive values of one metric at some contexts (ascending), one per location.
  [[nodiscard]] std::vector<std::uint64_t> exclusive_values(std::span<const ContextId> contexts,
                                                            std::uint32_t metric) const;

  /// The exclusive values of one metric at a file or load module, one per location. Not set where the
  /// database has none (of older writers, or of another kind of scope): they are those of all procedures in
  /// it.
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> flat_exclusive_values(FlatId scope,
                                                                                std::uint32_t metric) const;

  /// Reads all per-thread values once.
  void verify_values() const;

  /// The summary of (role, metric) at one scope, nothing where nobody observed it. Binary search.
  [[nodiscard]] std::optional<SummaryEntry> context_summary(std::uint32_t role, std::uint32_t metric,
                                                            ContextId context) const;
  [[nodiscard]] std::optional<SummaryEntry> flat_summary(std::uint32_t role, std::uint32_t metric,
                                                         FlatId scope) const;

  /// Source text of a file, if it was copied.
  [[nodiscard]] const std::string* source(StringId path) const;

  [[nodiscard]] std::optional<std::uint32_t> metric(std::string_view name) const;

 private:
  struct Mapped;
  std::unique_ptr<Mapped> mapped_;
};

}  // namespace culprit::database
