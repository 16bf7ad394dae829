#pragma once

#include "unwind/call_frame.hpp"
#include "unwind/code_bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// A load module made by hand: code bytes, .eh_frame and .eh_frame_hdr in one mapping whose last page is
// followed by an inaccessible one, so that any read beyond the module is fatal.
namespace culprit::unwind::testing {

using Bytes = std::vector<std::uint8_t>;

/// Call-frame instructions and expressions, byte by byte.
struct Cfi {
  Bytes bytes;

  Cfi& u8(unsigned value);
  Cfi& u16(unsigned value);
  Cfi& u32(std::uint32_t value);
  Cfi& u64(std::uint64_t value);
  Cfi& uleb(std::uint64_t value);
  Cfi& sleb(std::int64_t value);
  Cfi& text(const std::string& value);
  Cfi& block(const Bytes& value);  ///< its length as ULEB128, then the bytes

  Cfi& advance(unsigned count) { return u8(0x40U | count); }
  Cfi& def_cfa(unsigned number, std::uint64_t offset) { return u8(0x0c).uleb(number).uleb(offset); }
  Cfi& def_cfa_offset(std::uint64_t offset) { return u8(0x0e).uleb(offset); }
  Cfi& def_cfa_register(unsigned number) { return u8(0x0d).uleb(number); }
  Cfi& offset(unsigned number, std::uint64_t factor) { return u8(0x80U | number).uleb(factor); }
  Cfi& expression(unsigned number, const Bytes& value) { return u8(0x10).uleb(number).block(value); }
  Cfi& cfa_expression(const Bytes& value) { return u8(0x0f).block(value); }
  Cfi& undefined(unsigned number) { return u8(0x07).uleb(number); }
};

/// DW_OP_bregN offset.
Bytes breg(unsigned number, std::int64_t offset);
Bytes operator+(Bytes a, const Bytes& b);

class FakeModule {
 public:
  static constexpr std::uint64_t kCodeSize = 0x4000;

  /// What a common entry may look like; as it is, that of x86-64.
  struct Common {
    std::string augmentation = "zR";
    unsigned version = 1;
    unsigned pointer_encoding = 0x1b;  ///< pcrel | sdata4
    Bytes initial = Cfi{}.def_cfa(7, 8).offset(16, 1).bytes;
    unsigned code_alignment = 1;
    unsigned return_register = 16;
  };

  /// As compilers for aarch64 write it.
  static Common aarch64() {
    Common common;
    common.initial = Cfi{}.def_cfa(31, 0).bytes;
    common.code_alignment = 4;
    common.return_register = 30;
    return common;
  }

  FakeModule();
  ~FakeModule();
  FakeModule(const FakeModule&) = delete;
  FakeModule& operator=(const FakeModule&) = delete;

  /// Describes the code at [begin, begin + size) of the module. In ascending order.
  void add(std::uint64_t begin, std::uint64_t size, const Bytes& instructions, const Common& common);
  void add(std::uint64_t begin, std::uint64_t size, const Bytes& instructions) {
    add(begin, size, instructions, Common{});
  }
  /// Writes machine code.
  void code(std::uint64_t at, const Bytes& bytes);
  /// Writes the search table; the module can be used from now on.
  void finish();

  /// Run-time address of an offset.
  [[nodiscard]] std::uint64_t at(std::uint64_t offset) const { return module_.begin + offset; }
  [[nodiscard]] const CodeModule& module() const { return module_; }
  [[nodiscard]] std::uint8_t* bytes() { return reinterpret_cast<std::uint8_t*>(module_.begin); }
  /// The part that holds .eh_frame_hdr and .eh_frame.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> tables() const { return {kCodeSize, used_}; }

  /// A FindModule; its context is a FakeModule.
  static bool find(void* context, std::uint64_t pc, CodeModule& module);

 private:
  static constexpr std::uint64_t kHeader = kCodeSize;
  static constexpr std::uint64_t kEntries = kCodeSize + 0x1000;
  static constexpr std::uint64_t kSize = kCodeSize + 0x3000;

  std::uint64_t append(const Bytes& entry);
  void write32(std::uint64_t at, std::uint64_t value);

  CodeModule module_;
  std::uint64_t used_ = kEntries;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> table_;
};

}  // namespace culprit::unwind::testing
