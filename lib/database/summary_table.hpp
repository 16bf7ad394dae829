#pragma once

#include "database/checked_bytes.hpp"
#include "database/database.hpp"
#include "database/encoding.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace culprit::database {

/// Index and data of all tables of one tree (docs/formats.md, "Summary tables").
struct EncodedSummaries {
  Bytes index, data;
};

/// Encodes the tables in the order given. Entries without observers are left out. Throws
/// std::invalid_argument unless entries ascend strictly by scope.
EncodedSummaries encode_summaries(const std::vector<Summary>& summaries);

/// All summary tables of one tree, looked up in the file. Trusts nothing: throws DatabaseError where what it
/// needs is damaged. Const members are thread-safe.
class SummaryTables {
 public:
  SummaryTables() = default;

  /// Roles lie below `roles`, metrics below `metrics`. Costs time with the number of tables.
  SummaryTables(const CheckedBytes& index, CheckedBytes data, std::uint64_t roles, std::uint64_t metrics);

  /// The inclusive or exclusive accumulator of (role, metric) at a scope; the identity where nobody observed
  /// it.
  [[nodiscard]] metrics::Accumulator get(std::uint32_t role, std::uint32_t metric, std::uint32_t scope,
                                         bool inclusive) const;

  static constexpr std::size_t kColumns = 5;
  using Widths = std::array<std::uint8_t, kColumns>;

 private:
  struct Table {
    std::uint32_t role = 0, metric = 0;
    std::uint64_t offset = 0, size = 0;
    std::uint32_t entries = 0, own = 0;
    Widths inclusive{}, exclusive{};
  };
  [[nodiscard]] const Table* table(std::uint32_t role, std::uint32_t metric) const;
  [[nodiscard]] std::optional<std::uint32_t> search(std::uint64_t scopes, std::uint32_t count,
                                                    std::uint32_t scope) const;
  [[nodiscard]] metrics::Accumulator row(std::uint64_t columns, std::uint32_t count, const Widths& widths,
                                         std::uint32_t number) const;
  [[nodiscard]] metrics::Accumulator exclusive(const Table& table, std::uint32_t number) const;

  CheckedBytes data_;
  std::vector<Table> tables_;
};

}  // namespace culprit::database
