#pragma once

#include "database/contents.hpp"
#include "database/encoding.hpp"
#include "files/watched_mapping.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
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

  /// Whether somebody wrote to the file since it was opened: then what it says means nothing.
  [[nodiscard]] bool changed() const;

  /// Everything but the per-thread values.
  [[nodiscard]] const Contents& experiment() const;

  /// Exclusive values (of the statement contexts) of one profile, ascending by (context, metric).
  [[nodiscard]] std::vector<Value> profile_values(std::uint32_t location) const;

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

 private:
  struct Mapped;
  std::unique_ptr<Mapped> mapped_;
};

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
