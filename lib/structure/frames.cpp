// Bounds of functions from .eh_frame (docs/algorithms.md 15), for code without symbols: every frame
// description entry whose common entry is understood, ascending by address. Cost: linear in the section.
#include "structure/frames.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include <dwarf.h>

namespace culprit::structure {

namespace {

/// What a common information entry says about the entries that refer to it.
struct Common {
  std::uint8_t pointers = DW_EH_PE_absptr;
  std::uint8_t handlers = DW_EH_PE_omit;
  bool augmented = false;
  bool understood = false;
};

Common read_common(EncodedBytes in) {
  Common common;
  const auto version = in.get<std::uint8_t>();
  std::string augmentation;
  for (auto c = in.get<char>(); c != '\0' && in.good(); c = in.get<char>()) augmentation += c;
  if (augmentation == "eh") return common;  // gcc 2
  in.get_varint();
  in.get_signed_varint();
  if (version == 1) {
    in.get<std::uint8_t>();
  } else {
    in.get_varint();
  }
  common.understood = true;
  if (!augmentation.starts_with('z')) {
    common.understood = augmentation.empty();
    return common;
  }
  common.augmented = true;
  in.get_varint();
  for (const char c : augmentation.substr(1)) {
    if (c == 'R') {
      common.pointers = in.get<std::uint8_t>();
    } else if (c == 'L') {
      common.handlers = in.get<std::uint8_t>();
    } else if (c == 'P') {
      const auto encoding = in.get<std::uint8_t>();
      in.pointer(encoding, false);
    } else if (c != 'S' && c != 'B') {
      break;
    }
  }
  common.understood = in.good();
  return common;
}

/// Walks the records of .eh_frame.
class FrameReader {
 public:
  explicit FrameReader(const Module::Section& section) : section_(section) {}

  std::vector<Frame> read() {
    std::size_t offset = 0;
    while (offset + 4 <= section_.bytes.size()) {
      EncodedBytes in(section_.bytes.subspan(offset), section_.address + offset);
      std::uint64_t length = in.get<std::uint32_t>();
      if (length == 0xffffffff) length = in.get<std::uint64_t>();
      if (length == 0 || length > in.remaining()) break;  // 0: the terminator
      const std::size_t body = section_.bytes.size() - in.remaining();
      if (length >= 4) record(body, length);
      offset = body + length;
    }
    return std::move(frames_);
  }

 private:
  void record(std::size_t body, std::uint64_t length) {
    EncodedBytes in(section_.bytes.subspan(body, length), section_.address + body);
    const auto distance = in.get<std::uint32_t>();
    if (distance == 0) {
      EncodedBytes rest(section_.bytes.subspan(body + 4, length - 4), section_.address + body + 4);
      commons_[body] = read_common(rest);
      return;
    }
    if (distance > body) return;
    const auto found = commons_.find(cie_body(body - distance));
    if (found == commons_.end() || !found->second.understood) return;
    const Common& common = found->second;
    Frame frame;
    frame.range.low = in.pointer(common.pointers);
    frame.range.high = frame.range.low + in.pointer(common.pointers, false);
    if (!in.good() || frame.range.high <= frame.range.low || frame.range.low == 0) return;
    if (common.augmented) {
      in.get_varint();
      if (common.handlers != DW_EH_PE_omit) frame.handlers = in.pointer(common.handlers);
      if (!in.good()) frame.handlers = 0;
    }
    frames_.push_back(frame);
  }

  /// Where the body of the record that starts at `start` begins: after its length.
  [[nodiscard]] std::size_t cie_body(std::size_t start) const {
    if (start + 4 > section_.bytes.size()) return start;
    EncodedBytes in(section_.bytes.subspan(start), 0);
    return start + (in.get<std::uint32_t>() == 0xffffffff ? 12 : 4);
  }

  const Module::Section& section_;
  std::unordered_map<std::size_t, Common> commons_;
  std::vector<Frame> frames_;
};

/// Where section headers were removed, the loaded table of .eh_frame_hdr leads to .eh_frame.
Module::Section find_section(const Module& module) {
  Module::Section section = module.section(".eh_frame");
  if (!section.bytes.empty()) return section;
  std::size_t count = 0;
  if (elf_getphdrnum(module.elf(), &count) != 0) return section;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr segment{};
    if (gelf_getphdr(module.elf(), static_cast<int>(i), &segment) == nullptr) continue;
    if (segment.p_type != PT_GNU_EH_FRAME) continue;
    EncodedBytes in(module.bytes(segment.p_vaddr), segment.p_vaddr);
    in.skip(1);
    const auto encoding = in.get<std::uint8_t>();
    in.skip(2);
    section.address = in.pointer(encoding);
    if (in.good()) section.bytes = module.bytes(section.address);
  }
  return section;
}

}  // namespace

Frames::Frames(const Module& module) {
  const Module::Section section = find_section(module);
  frames_ = FrameReader(section).read();
  std::ranges::stable_sort(frames_, {}, [](const Frame& frame) { return frame.range.low; });
  const auto same = [](const Frame& a, const Frame& b) { return a.range.low == b.range.low; };
  frames_.erase(std::unique(frames_.begin(), frames_.end(), same), frames_.end());
}

const Frame* Frames::find(std::uint64_t address) const {
  auto after =
      std::ranges::upper_bound(frames_, address, {}, [](const Frame& frame) { return frame.range.low; });
  if (after == frames_.begin()) return nullptr;
  const Frame& frame = *--after;
  return frame.range.contains(address) ? &frame : nullptr;
}

std::uint64_t EncodedBytes::bare_pointer(std::uint8_t encoding) {
  switch (encoding & 0x0fU) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
      return get<std::uint64_t>();
    case DW_EH_PE_uleb128:
      return get_varint();
    case DW_EH_PE_sleb128:
      return static_cast<std::uint64_t>(get_signed_varint());
    case DW_EH_PE_udata2:
      return get<std::uint16_t>();
    case DW_EH_PE_udata4:
      return get<std::uint32_t>();
    case DW_EH_PE_sdata2:
      return static_cast<std::uint64_t>(std::int64_t{get<std::int16_t>()});
    case DW_EH_PE_sdata4:
      return static_cast<std::uint64_t>(std::int64_t{get<std::int32_t>()});
    default:
      return refuse();
  }
}

std::uint64_t EncodedBytes::pointer(std::uint8_t encoding, bool relative) {
  const std::uint64_t base = end_address_ - remaining();
  const std::uint64_t value = bare_pointer(encoding);
  if (!good() || !relative) return value;
  if ((encoding & DW_EH_PE_indirect) != 0) return refuse();  // the value lies in the running process
  switch (encoding & 0x70U) {
    case DW_EH_PE_absptr:
      return value;
    case DW_EH_PE_pcrel:
      return value == 0 ? 0 : base + value;
    default:
      return refuse();
  }
}

}  // namespace culprit::structure
