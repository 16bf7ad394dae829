#pragma once

#include "database/encoding.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace culprit::database {

/// Rows of values that belong to others, sparse in `indices`: metric m of row i is columns[m][i].
struct ValueRows {
  std::span<const std::uint32_t> indices;  ///< ascending
  std::vector<std::span<const std::uint64_t>> columns;
};

/// Writes lists. Keeps its memory from one to the next.
class ValueListWriter {
 public:
  /// Appends a list of rows (docs/formats.md, "Value lists"). Indices are below `universe`. A column that
  /// follows from earlier ones (equal to one, the difference of two) costs a few bytes, one that is close to
  /// the first costs the difference.
  void write(const ValueRows& rows, std::uint32_t universe, Encoder& into);

 private:
  void put_indices(std::span<const std::uint32_t> indices, std::uint32_t universe, Encoder& into);
  void put_column(const ValueRows& rows, std::size_t c, Encoder& into);

  std::vector<std::uint64_t> numbers_;  ///< gaps, or differences to the first column
  Encoder packed_;
};

/// Reads lists. Keeps its memory from one to the next.
class ValueListReader {
 public:
  /// Reads the rows of a list and nothing of their values yet. Throws Malformed unless its indices ascend
  /// below `universe`. `list` must stay as long as its columns are asked for.
  void read(ByteSpan list, std::uint32_t universe, std::size_t metrics);

  [[nodiscard]] std::span<const std::uint32_t> indices() const { return indices_; }

  /// The values of one metric, one per row; valid until the next call. Throws Malformed.
  [[nodiscard]] std::span<const std::uint64_t> column(std::size_t metric);

 private:
  struct Column {
    std::uint8_t form = 0;
    std::uint32_t a = 0, b = 0;  ///< the columns it refers to, earlier ones
    ByteSpan packed;
    bool ready = false;
    std::vector<std::uint64_t> values;
  };
  void read_indices(Decoder& from, std::uint32_t universe);
  void form(Column& column);

  std::vector<std::uint32_t> indices_;
  std::vector<std::uint64_t> gaps_;
  std::vector<Column> columns_;
};

}  // namespace culprit::database
