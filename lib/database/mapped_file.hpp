#pragma once

#include "database/encoding.hpp"

#include <filesystem>

namespace culprit::database {

/// A regular file mapped into memory for reading.
class MappedFile {
 public:
  MappedFile() = default;
  /// Throws DatabaseError if it cannot be opened or mapped, or is no regular file. Never blocks (on a FIFO).
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  /// Gives back the memory of what was looked at; the bytes stay as they are, and are read from the file
  /// again when they are looked at again.
  void release() const;
  [[nodiscard]] ByteSpan bytes() const { return bytes_; }

 private:
  ByteSpan bytes_;
};

}  // namespace culprit::database
