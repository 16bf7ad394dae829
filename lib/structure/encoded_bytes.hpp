#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace culprit::structure {

/// A bounded cursor over little-endian bytes with the encodings of .eh_frame and .gcc_except_table. Once a
/// read goes past the end, `good()` is false and every further read gives 0.
class EncodedBytes {
 public:
  /// `address` is where the first byte is loaded: pc-relative pointers count from there.
  EncodedBytes(std::span<const std::byte> bytes, std::uint64_t address) : bytes_(bytes), address_(address) {}

  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return position_ >= bytes_.size(); }
  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] std::uint64_t address() const { return address_ + position_; }
  void skip(std::size_t count) {
    if (count > bytes_.size() - position_) {
      fail();
    } else {
      position_ += count;
    }
  }

  template <class Integer>
  Integer fixed() {
    Integer value{};
    if (sizeof value > bytes_.size() - position_) {
      fail();
      return value;
    }
    std::memcpy(&value, bytes_.data() + position_, sizeof value);
    position_ += sizeof value;
    return value;
  }
  std::uint64_t uleb();
  std::int64_t sleb();
  /// A pointer in a DW_EH_PE_* encoding; omitted, indirect, text- or data-relative ones fail. `relative`
  /// false gives the bare value (of a length).
  std::uint64_t pointer(std::uint8_t encoding, bool relative = true);

 private:
  void fail() {
    good_ = false;
    position_ = bytes_.size();
  }
  std::span<const std::byte> bytes_;
  std::uint64_t address_;
  std::size_t position_ = 0;
  bool good_ = true;
};

}  // namespace culprit::structure
