#pragma once

#include "database/database.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::database {

/// A database cannot be read. what() is "why (what to do)".
class DatabaseError : public std::runtime_error {
 public:
  DatabaseError(std::filesystem::path path, const std::string& why)
      : std::runtime_error(why), path_(std::move(path)) {}
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A database mapped into memory. Trusts nothing: the constructor checks every index and size, and throws
/// DatabaseError on any inconsistency. Per-thread values stay in the file and are decoded on demand (a
/// damaged list throws then). Const members are thread-safe.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& path);
  /// The same for bytes in memory, which must outlive the reader and not change; `name` appears in errors.
  Reader(std::span<const std::byte> bytes, const std::filesystem::path& name);
  ~Reader();
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;

  /// Everything but the per-thread values.
  [[nodiscard]] const Experiment& experiment() const;

  /// Exclusive values (of the statement contexts) of one profile, ascending by (context, metric).
  [[nodiscard]] std::vector<Value> profile_values(std::uint32_t location) const;

  /// Inclusive values of one context in all profiles, ascending by (location, metric).
  [[nodiscard]] std::vector<Value> context_values(ContextId context) const;

  /// The same for one metric, dense: entry l is location l's inclusive value, 0 where it observed nothing.
  [[nodiscard]] std::vector<std::uint64_t> context_values(ContextId context, std::uint32_t metric) const;

  /// The summary of (role, metric) at one scope, null where nobody observed it. Binary search.
  [[nodiscard]] const SummaryEntry* context_summary(std::uint32_t role, std::uint32_t metric,
                                                    ContextId context) const;
  [[nodiscard]] const SummaryEntry* flat_summary(std::uint32_t role, std::uint32_t metric,
                                                 FlatId scope) const;

  /// Source text of a file, if it was copied.
  [[nodiscard]] const std::string* source(StringId path) const;

  [[nodiscard]] std::optional<std::uint32_t> metric(std::string_view name) const;
  [[nodiscard]] const std::string& string(StringId id) const;

 private:
  struct Mapped;
  std::unique_ptr<Mapped> mapped_;
};

}  // namespace culprit::database
