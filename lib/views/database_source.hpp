#pragma once

#include "database/reader.hpp"
#include "views/source.hpp"

#include <filesystem>

namespace culprit::views {

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
