#pragma once

#include "database/checked_bytes.hpp"
#include "database/encoding.hpp"
#include "database/format.hpp"

#include <array>
#include <filesystem>

namespace culprit::database {

/// The sections of a file by number − 1; their bytes are verified when they are looked at.
using CheckedSections = std::array<CheckedBytes, format::kLastSection>;

/// Finds the sections of a file: checks the header, the table, their checksums, and that every section is
/// there once, in bounds, of whole elements. Sections of unknown number are skipped (later versions add
/// some). Throws DatabaseError.
CheckedSections find_sections(ByteSpan file, const std::filesystem::path& path);

/// Makes the bytes of sections and of the table that leads to them, one after the other from `offset` on.
class SectionTable {
 public:
  explicit SectionTable(std::uint64_t offset) : end_(offset) {}

  /// The section as it is to be written at place(): padding first, then its bytes and their checksums.
  [[nodiscard]] Bytes add(format::Section section, ByteSpan bytes);
  /// A section that is too large to be held at once: what begin() returns, any number of pieces, all but the
  /// last of whole chunks (format::kChunk), and what end() returns, each to be written at place() before the
  /// next call. Nothing else may be added in between.
  [[nodiscard]] Bytes begin(format::Section section);
  void extend(ByteSpan piece);
  [[nodiscard]] Bytes end();
  /// Where the next bytes go.
  [[nodiscard]] std::uint64_t place() const { return end_; }

  /// The table, to be written at place(), and with it the header, to be written at 0. Nothing may be added
  /// after.
  [[nodiscard]] Bytes table();
  [[nodiscard]] Bytes header() const;

 private:
  /// The section that is being added.
  struct Open {
    format::Section section{};
    std::uint64_t offset = 0, size = 0, padding = 0;  ///< padding: in front of its checksums
    Encoder sums;
  };

  std::uint64_t end_, table_ = 0, table_sum_ = 0;
  std::uint32_t sections_ = 0;
  Encoder entries_;
  Open open_;
};

}  // namespace culprit::database
