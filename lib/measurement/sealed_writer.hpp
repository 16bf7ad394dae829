#pragma once

#include "bytes/varint.hpp"
#include "measurement/checksum.hpp"
#include "measurement/sealed_layout.hpp"

#include <cstddef>
#include <cstdint>

namespace culprit::measurement {

/// Writes a sealed file through a buffer, which holds many sections where they are small: each write costs
/// ten system calls. Errors stick: after the first, everything is
/// ignored and finish() returns it. Async-signal-safe; its memory comes from mmap.
class SealedWriter {
 public:
  SealedWriter() = default;
  SealedWriter(const SealedWriter&) = delete;
  SealedWriter& operator=(const SealedWriter&) = delete;
  ~SealedWriter() { release(); }

  /// Starts the file on `fd` (kept by the caller) with room for `max_sections`. Returns 0 or an errno.
  int start(int fd, std::uint32_t max_sections) noexcept;

  void begin_section(sealed::SectionType type, std::uint32_t index) noexcept;
  void end_section() noexcept;

  /// A record is preceded by its length. Records are not nested and hold at most kRecord bytes.
  void begin_record() noexcept;
  void end_record() noexcept;

  void byte(unsigned value) noexcept {
    if (used_ == end_) flush();
    *used_++ = static_cast<unsigned char>(value);
  }
  void varint(std::uint64_t value) noexcept {
    bytes::write_varint(value, [this](unsigned char group) { byte(group); });
  }
  void zigzag(std::int64_t value) noexcept { varint(sealed::zigzag(value)); }
  void bytes(const void* data, std::size_t size) noexcept;
  void string(const void* data, std::size_t size) noexcept {
    varint(size);
    bytes(data, size);
  }

  /// Writes table and header, which make the file a measurement. Returns 0 or the first errno.
  int finish() noexcept;

  static constexpr std::size_t kRecord = 16384;

 private:
  static constexpr std::size_t kBuffer = 1u << 18;

  void flush() noexcept;
  void hash() noexcept;  ///< adds what the section has in the buffer to its checksum
  [[nodiscard]] std::uint64_t position() const noexcept {
    return offset_ + static_cast<std::uint64_t>(used_ - memory_);
  }
  void release() noexcept;
  [[nodiscard]] std::size_t table_bytes() const noexcept {
    return max_sections_ * sizeof(sealed::SectionEntry);
  }

  int fd_ = -1;
  int error_ = 0;
  unsigned char* memory_ = nullptr;  // buffer, record, table
  unsigned char* used_ = nullptr;    // next free byte of buffer or record
  unsigned char* end_ = nullptr;
  unsigned char* hashed_ = nullptr;  // from here on the buffer is not in the checksum yet
  unsigned char* before_record_ = nullptr;
  sealed::SectionEntry* table_ = nullptr;
  std::uint32_t max_sections_ = 0;
  std::uint32_t sections_ = 0;
  std::uint64_t offset_ = 0;  // in the file, of the buffer's first byte
  XXH64_state_t hash_{};
};

}  // namespace culprit::measurement
