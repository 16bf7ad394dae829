// Finds the frame description that covers an address: a binary search in .eh_frame_hdr's table, then the
// entry and its common entry (System V ABI for x86-64 4.2.4, LSB core 10.6, DWARF 5 section 6.4;
// docs/algorithms.md 14). Every read stays inside the module's mapping; what makes no sense is no
// description.
#include "unwind/call_frame.hpp"

#include "unwind/byte_cursor.hpp"

namespace culprit::unwind {

namespace {

PointerBases bases_of(const CodeModule& module) noexcept {
  return {.data = module.eh_frame_hdr, .function = 0, .mapped_begin = module.begin, .mapped_end = module.end};
}

/// One step of parsing an entry of .eh_frame: its length, leaving a cursor bounded to the entry.
ByteCursor entry_at(const CodeModule& module, std::uint64_t entry) noexcept {
  if (entry < module.begin) return {1, 0};
  ByteCursor cursor(entry, module.end);
  std::uint64_t length = cursor.read<std::uint32_t>();
  if (length == 0xffffffff) length = cursor.read<std::uint64_t>();
  if (!cursor.ok() || length == 0 || length > cursor.end() - cursor.at()) return {1, 0};
  return {cursor.at(), cursor.at() + length};
}

/// The augmentation data of a common entry, by the letters of its string: pointer encodings and the
/// signal-frame mark.
void read_augmentation(const CodeModule& module, std::uint64_t letters, ByteCursor& cursor,
                       FrameDescription& description) noexcept {
  const PointerBases bases = bases_of(module);
  for (char letter = load_as<char>(letters); letter != 0; letter = load_as<char>(++letters)) {
    switch (letter) {
      case 'R':
        description.pointer_encoding = cursor.read<std::uint8_t>();
        break;
      case 'L':
        cursor.skip(1);
        break;
      case 'P': {
        // The personality routine itself is of no interest, and its indirection must not be followed.
        const auto encoding = cursor.read<std::uint8_t>();
        cursor.pointer(encoding & 0x7fU, bases);
        break;
      }
      case 'S':
        description.signal_frame = true;
        break;
      case 'B':  // branch protection marks: no data
      case 'G':
        break;
      default:
        cursor.fail();
        return;
    }
  }
}

bool parse_common(const CodeModule& module, std::uint64_t cie, FrameDescription& description) noexcept {
  ByteCursor cursor = entry_at(module, cie);
  if (cursor.read<std::uint32_t>() != 0) return false;  // not a common entry
  const auto version = cursor.read<std::uint8_t>();
  if (version != 1 && version != 3) return false;
  const std::uint64_t letters = cursor.at();
  while (cursor.ok() && cursor.read<std::uint8_t>() != 0) {
  }
  description.code_alignment = cursor.uleb();
  description.data_alignment = cursor.sleb();
  description.return_register = version == 1 ? cursor.read<std::uint8_t>() : cursor.uleb();
  if (!cursor.ok()) return false;
  if (load_as<char>(letters) == 'z') {
    description.augmented = true;
    const std::uint64_t length = cursor.uleb();
    if (!cursor.ok() || length > cursor.end() - cursor.at()) return false;
    ByteCursor data(cursor.at(), cursor.at() + length);
    read_augmentation(module, letters + 1, data, description);
    if (!data.ok()) return false;
    cursor.skip(length);
  } else if (load_as<char>(letters) != 0) {
    return false;  // without 'z' the length of what follows is unknown
  }
  description.initial_begin = cursor.at();
  description.initial_end = cursor.end();
  return cursor.ok();
}

}  // namespace

bool parse_description(const CodeModule& module, std::uint64_t fde, FrameDescription& description) noexcept {
  description = FrameDescription{};
  ByteCursor cursor = entry_at(module, fde);
  const std::uint64_t id_place = cursor.at();
  const std::uint64_t id = cursor.read<std::uint32_t>();
  if (!cursor.ok() || id == 0 || id > id_place - module.begin) return false;
  if (!parse_common(module, id_place - id, description)) return false;
  PointerBases bases = bases_of(module);
  description.code_begin = cursor.pointer(description.pointer_encoding, bases);
  const std::uint64_t size = cursor.pointer(description.pointer_encoding & 0x0fU, bases);
  description.code_end = description.code_begin + size;
  if (!cursor.ok() || description.code_end < description.code_begin) return false;
  if (description.augmented) cursor.skip(cursor.uleb());
  description.begin = cursor.at();
  description.end = cursor.end();
  return cursor.ok();
}

bool find_description(const CodeModule& module, std::uint64_t pc, FrameDescription& description) noexcept {
  const std::uint64_t header = module.eh_frame_hdr;
  if (header < module.begin || header >= module.end) return false;
  ByteCursor cursor(header, module.end);
  const PointerBases bases = bases_of(module);
  const auto version = cursor.read<std::uint8_t>();
  const auto frame_encoding = cursor.read<std::uint8_t>();
  const auto count_encoding = cursor.read<std::uint8_t>();
  const auto table_encoding = cursor.read<std::uint8_t>();
  if (version != 1 || count_encoding == 0xff || table_encoding != 0x3b) return false;  // datarel | sdata4
  cursor.pointer(frame_encoding & 0x7fU, bases);
  const std::uint64_t count = cursor.pointer(count_encoding, bases);
  if (!cursor.ok() || count == 0 || count > (cursor.end() - cursor.at()) / 8) return false;
  const auto relative = static_cast<std::int64_t>(pc - header);
  const std::uint64_t table = cursor.at();
  std::uint64_t low = 0;  // the first entries [0, low) start at or before pc
  for (std::uint64_t high = count; low < high;) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (load_as<std::int32_t>(table + middle * 8) <= relative) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return false;
  const std::uint64_t fde =
      header + static_cast<std::uint64_t>(std::int64_t{load_as<std::int32_t>(table + (low - 1) * 8 + 4)});
  return parse_description(module, fde, description) && pc >= description.code_begin &&
         pc < description.code_end;
}

}  // namespace culprit::unwind
