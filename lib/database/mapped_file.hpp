#pragma once

#include "database/encoding.hpp"
#include "files/watched_mapping.hpp"

#include <filesystem>
#include <memory>

namespace culprit::database {

/// A regular file mapped into memory for reading. Where it is truncated or overwritten meanwhile, the process
/// ends with one line (files/at_death.hpp), or changed() says so.
class MappedFile {
 public:
  MappedFile() = default;
  /// Throws DatabaseError if it cannot be opened or mapped, or is no regular file. Never blocks (on a FIFO).
  /// `growing`: its writer is not done; then changed() says nothing.
  explicit MappedFile(const std::filesystem::path& path, bool growing = false);

  /// Gives back the memory of what was looked at; the bytes stay as they are, and are read from the file
  /// again when they are looked at again.
  void release() const;
  [[nodiscard]] ByteSpan bytes() const { return mapping_ ? mapping_->bytes() : ByteSpan(); }
  /// Whether somebody wrote to the file since it was mapped.
  [[nodiscard]] bool changed() const { return mapping_ && mapping_->changed(); }

 private:
  std::unique_ptr<files::WatchedMapping> mapping_;
};

}  // namespace culprit::database
