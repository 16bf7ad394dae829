#pragma once

#include "database/encoding.hpp"
#include "database/format.hpp"

#include <atomic>
#include <filesystem>
#include <memory>

namespace culprit::database {

/// Bytes of one part of a file, and behind them (at the next multiple of 8) a checksum per chunk of them. A
/// chunk is verified when it is first looked at, so that opening a database costs nothing that grows with it.
/// Thread-safe. Copies share what was verified.
class CheckedBytes {
 public:
  /// Nothing.
  CheckedBytes() = default;

  /// The part of `file` at `offset`; `sum`: the checksum of its checksums. `path` and `what` appear in
  /// errors. Throws DatabaseError where the part lies outside the file. The file's bytes must outlive this.
  CheckedBytes(ByteSpan file, std::uint64_t offset, std::uint64_t size, std::uint64_t sum,
               const std::filesystem::path& path, std::string what);

  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// `size` bytes from `offset` on, verified. Throws DatabaseError where they are damaged or not there.
  [[nodiscard]] ByteSpan at(std::uint64_t offset, std::uint64_t size) const {
    if (offset > size_ || size > size_ - offset) fail("refers to something that does not exist");
    if (size != 0) {
      const std::uint64_t last = (offset + size - 1) / format::kChunk;
      for (std::uint64_t chunk = offset / format::kChunk; chunk <= last; ++chunk) {
        if (!good_[chunk].load(std::memory_order_relaxed)) verify(chunk);
      }
    }
    return {data_ + offset, static_cast<std::size_t>(size)};
  }
  [[nodiscard]] ByteSpan all() const { return at(0, size_); }

  /// Throws DatabaseError(path, "WHAT WHY (merge again)").
  [[noreturn]] void fail(const char* why) const;

 private:
  struct State;
  void verify(std::uint64_t chunk) const;

  const std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
  std::atomic<bool>* good_ = nullptr;  ///< per chunk
  std::shared_ptr<State> state_;
};

/// How many bytes of the file a part of `size` bytes takes, with padding and checksums.
[[nodiscard]] std::uint64_t part_size(std::uint64_t size);

/// What stands behind a part in the file: padding and checksums. `sum` is set to the checksum of those.
[[nodiscard]] Bytes checksums_of(ByteSpan bytes, std::uint64_t& sum);

}  // namespace culprit::database
