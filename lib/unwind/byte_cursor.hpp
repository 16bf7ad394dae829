#pragma once

#include "bytes/reader.hpp"

#include <cstddef>
#include <cstdint>

// Reads a module's mapped .eh_frame bytes without ever leaving [at, end): overrunning marks the cursor bad,
// and a bad cursor yields zeros. Async-signal-safe.
namespace culprit::unwind {

/// One load of a T from any address, aligned or not. The caller has made sure that it is mapped. Exempt from
/// AddressSanitizer: other functions' frames and red zones are read on purpose.
template <typename T>
[[gnu::no_sanitize_address]] inline T load_as(std::uint64_t address) noexcept {
  struct [[gnu::packed, gnu::may_alias]] Unaligned {
    T value;
  };
  return reinterpret_cast<const Unaligned*>(address)->value;
}

/// What encoded pointers are relative to, and where an indirect one may be read from.
struct PointerBases {
  std::uint64_t data = 0;                          ///< DW_EH_PE_datarel: run-time address of .eh_frame_hdr
  std::uint64_t function = 0;                      ///< DW_EH_PE_funcrel
  std::uint64_t mapped_begin = 0, mapped_end = 0;  ///< bounds of an indirection
};

/// A bounded reader of memory at an address. Every member function is async-signal-safe and does not throw.
class ByteCursor : public bytes::Reader<> {
 public:
  /// Reads [at, end); empty and bad when at > end.
  ByteCursor(std::uint64_t at, std::uint64_t end) noexcept;

  [[nodiscard]] bool ok() const noexcept { return good(); }
  [[nodiscard]] bool more() const noexcept { return !at_end(); }
  [[nodiscard]] std::uint64_t at() const noexcept { return reinterpret_cast<std::uint64_t>(at_); }
  [[nodiscard]] std::uint64_t end() const noexcept { return reinterpret_cast<std::uint64_t>(end_); }

  /// Marks the cursor bad: the bytes make no sense.
  void fail() noexcept { Reader::fail(bytes::Failure::out_of_range); }

  /// The next T, little-endian.
  template <typename T>
  T read() noexcept {
    return get<T>();
  }

  /// The next unsigned LEB128 number.
  std::uint64_t uleb() noexcept;

  /// The next signed LEB128 number.
  std::int64_t sleb() noexcept;

  /// The next pointer in a DW_EH_PE_* encoding; 0 for an omitted or null one. Unknown encodings make the
  /// cursor bad.
  std::uint64_t pointer(std::uint8_t encoding, const PointerBases& bases) noexcept;

 private:
  std::uint64_t refuse() noexcept;
  std::uint64_t raw_pointer(std::uint8_t format) noexcept;
};

}  // namespace culprit::unwind
