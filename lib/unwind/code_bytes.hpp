#pragma once

#include "unwind/byte_cursor.hpp"
#include "unwind/stack_bounds.hpp"

#include <cstdint>

namespace culprit::unwind {

/// A mapped load module, as the module callback describes it. `bias` is the run-time address minus the ELF
/// virtual address; `index` is the caller's own number for it.
struct CodeModule {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t bias = 0;
  std::uint64_t eh_frame_hdr = 0;  ///< run-time address of .eh_frame_hdr, 0 where there is none
  std::uint32_t index = 0;
  bool own = false;  ///< one of the sampler's own libraries
};

/// Finds the module that maps `pc`. Async-signal-safe. False: no known module.
using FindModule = bool (*)(void* context, std::uint64_t pc, CodeModule& module);

/// Reads machine code around an address, byte by byte, within a module (or anywhere, without one) and never
/// in a page that is not readable: between a module's segments there may be gaps. Async-signal-safe.
class CodeBytes {
 public:
  /// `module` null: code outside all modules, such as a just-in-time compiler's.
  CodeBytes(const CodeModule* module, std::uint64_t address) noexcept
      : address_(address),
        begin_(module != nullptr ? module->begin : StackBounds::kPage),
        end_(module != nullptr ? module->end : ~std::uint64_t{0} - StackBounds::kPage) {}

  /// The byte at address + offset, or -1.
  [[nodiscard]] int at(int offset) noexcept {
    const std::uint64_t place = address_ + static_cast<std::uint64_t>(std::int64_t{offset});
    return readable(place) ? load_as<std::uint8_t>(place) : -1;
  }

  [[nodiscard]] bool has(int offset, int first, int second) noexcept {
    return at(offset) == first && at(offset + 1) == second;
  }

  /// `size` (1, 2, 4 or 8) bytes at address + offset, sign-extended; 0 where they cannot be read.
  [[nodiscard]] std::int64_t number(int offset, int size) noexcept {
    std::uint64_t value = 0;
    for (int i = size - 1; i >= 0; --i) value = value << 8U | static_cast<unsigned>(at(offset + i) & 0xff);
    const int unused = 64 - 8 * size;
    return static_cast<std::int64_t>(value << unused) >> unused;
  }

  [[nodiscard]] std::uint64_t address() const noexcept { return address_; }
  void move_to(std::uint64_t address) noexcept { address_ = address; }

 private:
  bool readable(std::uint64_t place) noexcept {
    const std::uint64_t page = place & ~(StackBounds::kPage - 1);
    if (place < begin_ || place >= end_) return false;
    if (page == readable_) return true;
    if (!page_is_readable(page)) return false;
    readable_ = page;
    return true;
  }

  std::uint64_t address_;
  std::uint64_t begin_, end_;
  std::uint64_t readable_ = 1;  // the page that was asked for last; no page begins at 1
};

}  // namespace culprit::unwind
