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
  /// Where the next bytes go.
  [[nodiscard]] std::uint64_t place() const { return end_; }

  /// The table, to be written at place(), and with it the header, to be written at 0. Nothing may be added
  /// after.
  [[nodiscard]] Bytes table();
  [[nodiscard]] Bytes header() const;

 private:
  std::uint64_t end_, table_ = 0, table_sum_ = 0;
  std::uint32_t sections_ = 0;
  Encoder entries_;
};

}  // namespace culprit::database
