#pragma once

#include "bytes/reader.hpp"
#include "structure/module.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace culprit::structure {

/// A function's bounds as its frame description entry in .eh_frame states them.
struct Frame {
  Range range;
  std::uint64_t handlers = 0;  ///< address of its language-specific data (landing pads), 0 where it has none
};

/// All function bounds of .eh_frame, in ascending order of address, one per start. Damaged entries are left
/// out.
class Frames {
 public:
  explicit Frames(const Module& module);
  /// The entry that covers `address`, null where none does.
  [[nodiscard]] const Frame* find(std::uint64_t address) const;

 private:
  std::vector<Frame> frames_;
};

/// Reads the encodings of .eh_frame and .gcc_except_table; good() says whether it could.
class EncodedBytes : public bytes::Reader<> {
 public:
  /// `address` is where the first byte is loaded: pc-relative pointers count from there.
  EncodedBytes(std::span<const std::byte> bytes, std::uint64_t address)
      : Reader(bytes), end_address_(address + bytes.size()) {}

  /// A pointer in a DW_EH_PE_* encoding; omitted, indirect, text- or data-relative ones fail. `relative`
  /// false gives the bare value (of a length).
  std::uint64_t pointer(std::uint8_t encoding, bool relative = true);

 private:
  std::uint64_t refuse() {
    fail(bytes::Failure::out_of_range);
    return 0;
  }
  std::uint64_t bare_pointer(std::uint8_t encoding);

  std::uint64_t end_address_;
};

}  // namespace culprit::structure
