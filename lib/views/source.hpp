#pragma once

#include "database/contents.hpp"
#include "database/reader.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace culprit::views {

/// Where views get their figures: the experiment, and per-thread values on demand. A database is one
/// (DatabaseSource); tests make others. Const members may be called from several threads at once.
class Source {
 public:
  virtual ~Source() = default;

  [[nodiscard]] virtual const database::Contents& experiment() const = 0;

  /// Exclusive values of one location, ascending by (context, metric). May throw database::DatabaseError.
  [[nodiscard]] virtual std::vector<database::Value> profile_values(std::uint32_t location) const = 0;

  /// Sums of the inclusive values of some contexts (ascending, none of them below another), one entry per
  /// location (0: not observed). May throw database::DatabaseError.
  [[nodiscard]] virtual std::vector<std::uint64_t> inclusive_values(
      std::span<const database::ContextId> contexts, std::uint32_t metric) const = 0;

  /// Sums of the exclusive values of some contexts (ascending), one entry per location. May throw
  /// database::DatabaseError.
  [[nodiscard]] virtual std::vector<std::uint64_t> exclusive_values(
      std::span<const database::ContextId> contexts, std::uint32_t metric) const = 0;

  /// The file that all comes from; empty where there is none.
  [[nodiscard]] virtual std::filesystem::path file() const { return {}; }
  /// Whether somebody wrote to it since it was opened: then what it says means nothing.
  [[nodiscard]] virtual bool changed() const { return false; }

  /// The exclusive values of a file or load module, one entry per location; not set where they are not kept,
  /// and have to be added up. May throw database::DatabaseError.
  [[nodiscard]] virtual std::optional<std::vector<std::uint64_t>> flat_exclusive_values(
      database::FlatId /*scope*/, std::uint32_t /*metric*/) const {
    return std::nullopt;
  }
};

/// Figures from a database file. Throws database::DatabaseError where the file is damaged.
class DatabaseSource final : public Source {
 public:
  explicit DatabaseSource(const std::filesystem::path& path);

  [[nodiscard]] const database::Contents& experiment() const override;
  [[nodiscard]] std::vector<database::Value> profile_values(std::uint32_t location) const override;
  [[nodiscard]] std::vector<std::uint64_t> inclusive_values(std::span<const database::ContextId> contexts,
                                                            std::uint32_t metric) const override;
  [[nodiscard]] std::vector<std::uint64_t> exclusive_values(std::span<const database::ContextId> contexts,
                                                            std::uint32_t metric) const override;
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> flat_exclusive_values(
      database::FlatId scope, std::uint32_t metric) const override;
  [[nodiscard]] std::filesystem::path file() const override { return path_; }
  [[nodiscard]] bool changed() const override { return reader_.changed(); }

 private:
  std::filesystem::path path_;
  database::Reader reader_;
};

}  // namespace culprit::views
