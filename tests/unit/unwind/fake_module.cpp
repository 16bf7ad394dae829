#include "fake_module.hpp"

#include <cstring>
#include <stdexcept>

#include <sys/mman.h>

namespace culprit::unwind::testing {

Cfi& Cfi::u8(unsigned value) {
  bytes.push_back(static_cast<std::uint8_t>(value));
  return *this;
}
Cfi& Cfi::u16(unsigned value) {
  return u8(value & 0xffU).u8(value >> 8U);
}
Cfi& Cfi::u32(std::uint32_t value) {
  return u16(value & 0xffffU).u16(value >> 16U);
}
Cfi& Cfi::u64(std::uint64_t value) {
  return u32(static_cast<std::uint32_t>(value)).u32(static_cast<std::uint32_t>(value >> 32U));
}
Cfi& Cfi::uleb(std::uint64_t value) {
  while (value >= 0x80) {
    u8(static_cast<unsigned>(value & 0x7fU) | 0x80U);
    value >>= 7U;
  }
  return u8(static_cast<unsigned>(value));
}
Cfi& Cfi::sleb(std::int64_t value) {
  for (;;) {
    const auto low = static_cast<unsigned>(value & 0x7f);
    value >>= 7;
    if ((value == 0 && (low & 0x40U) == 0) || (value == -1 && (low & 0x40U) != 0)) return u8(low);
    u8(low | 0x80U);
  }
}
Cfi& Cfi::text(const std::string& value) {
  for (const char letter : value) u8(static_cast<unsigned char>(letter));
  return u8(0);
}
Cfi& Cfi::block(const Bytes& value) {
  uleb(value.size());
  bytes.insert(bytes.end(), value.begin(), value.end());
  return *this;
}

Bytes breg(unsigned number, std::int64_t offset) {
  return Cfi{}.u8(0x70U + number).sleb(offset).bytes;
}

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

FakeModule::FakeModule() {
  void* memory = mmap(nullptr, kSize + 0x1000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("mmap");
  mprotect(static_cast<char*>(memory) + kSize, 0x1000, PROT_NONE);
  module_.begin = reinterpret_cast<std::uint64_t>(memory);
  module_.end = module_.begin + kSize;
  module_.bias = module_.begin;
  module_.eh_frame_hdr = module_.begin + kHeader;
  module_.index = 7;
}

FakeModule::~FakeModule() {
  munmap(bytes(), kSize + 0x1000);
}

void FakeModule::write32(std::uint64_t at, std::uint64_t value) {
  const auto low = static_cast<std::uint32_t>(value);
  std::memcpy(bytes() + at, &low, sizeof low);
}

std::uint64_t FakeModule::append(const Bytes& entry) {
  Bytes padded = entry;
  while (padded.size() % 8 != 4)
    padded.push_back(0);  // DW_CFA_nop; the length field makes it a multiple of 8
  const std::uint64_t place = used_;
  if (place + 4 + padded.size() > kSize) throw std::length_error("FakeModule is full");
  write32(place, padded.size());
  std::memcpy(bytes() + place + 4, padded.data(), padded.size());
  used_ += 4 + padded.size();
  return place;
}

void FakeModule::add(std::uint64_t begin, std::uint64_t size, const Bytes& instructions,
                     const Common& common) {
  Cfi cie;
  cie.u32(0)
      .u8(common.version)
      .text(common.augmentation)
      .uleb(common.code_alignment)
      .sleb(-8)
      .u8(common.return_register);
  Cfi data;
  for (const char letter : common.augmentation) {
    if (letter == 'R') data.u8(common.pointer_encoding);
    if (letter == 'P') data.u8(0x9b).u32(0x1234);  // indirect | pcrel | sdata4, pointing nowhere
    if (letter == 'L') data.u8(0x1b);
  }
  if (common.augmentation[0] == 'z') cie.block(data.bytes);
  const std::uint64_t place = append(cie.bytes + common.initial);

  const std::uint64_t fde = used_;
  Cfi entry;
  entry.u32(static_cast<std::uint32_t>(fde + 4 - place));
  if (common.pointer_encoding == 0x1b) {
    entry.u32(static_cast<std::uint32_t>(begin - (fde + 8))).u32(static_cast<std::uint32_t>(size));
  } else {  // absolute
    entry.u64(at(begin)).u64(size);
  }
  if (common.augmentation[0] == 'z') entry.u8(0);
  append(entry.bytes + instructions);
  table_.emplace_back(begin, fde);
}

void FakeModule::code(std::uint64_t at, const Bytes& machine_code) {
  std::memcpy(bytes() + at, machine_code.data(), machine_code.size());
}

void FakeModule::finish() {
  Cfi header;
  header.u8(1).u8(0x1b).u8(0x03).u8(0x3b);
  header.u32(static_cast<std::uint32_t>(kEntries - (kHeader + 4)))
      .u32(static_cast<std::uint32_t>(table_.size()));
  for (const auto& [begin, fde] : table_)
    header.u32(static_cast<std::uint32_t>(begin - kHeader)).u32(static_cast<std::uint32_t>(fde - kHeader));
  std::memcpy(bytes() + kHeader, header.bytes.data(), header.bytes.size());
}

bool FakeModule::find(void* context, std::uint64_t pc, CodeModule& module) {
  const auto* fake = static_cast<const FakeModule*>(context);
  if (pc < fake->module_.begin || pc >= fake->module_.end) return false;
  module = fake->module_;
  return true;
}

}  // namespace culprit::unwind::testing
