// Reads the encoded pointers of .eh_frame and .eh_frame_hdr (DW_EH_PE_*; Linux Standard Base, DWARF
// extensions; docs/algorithms.md 14). What an indirect one refers to is read only within the module.
#include "unwind/byte_cursor.hpp"

namespace culprit::unwind {

namespace {

// DW_EH_PE_*: low four bits the format, next three what it is relative to, top bit indirection.
constexpr std::uint8_t kOmitted = 0xff;
constexpr std::uint8_t kIndirect = 0x80;

}  // namespace

ByteCursor::ByteCursor(std::uint64_t at, std::uint64_t end) noexcept
    : Reader({reinterpret_cast<const std::byte*>(at), at <= end ? end - at : 0}) {
  if (at > end) fail();
}

std::uint64_t ByteCursor::uleb() noexcept {
  return get_varint();
}

std::int64_t ByteCursor::sleb() noexcept {
  return get_signed_varint();
}

std::uint64_t ByteCursor::refuse() noexcept {
  fail();
  return 0;
}

std::uint64_t ByteCursor::raw_pointer(std::uint8_t format) noexcept {
  switch (format) {
    case 0x00:  // absptr
    case 0x04:  // udata8
    case 0x0c:  // sdata8
      return read<std::uint64_t>();
    case 0x01:
      return uleb();
    case 0x02:
      return read<std::uint16_t>();
    case 0x03:
      return read<std::uint32_t>();
    case 0x09:
      return static_cast<std::uint64_t>(sleb());
    case 0x0a:
      return static_cast<std::uint64_t>(std::int64_t{read<std::int16_t>()});
    case 0x0b:
      return static_cast<std::uint64_t>(std::int64_t{read<std::int32_t>()});
    default:
      return refuse();
  }
}

std::uint64_t ByteCursor::pointer(std::uint8_t encoding, const PointerBases& bases) noexcept {
  if (encoding == kOmitted) return 0;
  if (encoding == 0x50) skip(-at() & 7U);  // DW_EH_PE_aligned: an absolute pointer, aligned
  const std::uint64_t place = at();
  std::uint64_t value = raw_pointer(encoding == 0x50 ? std::uint8_t{0} : encoding & 0x0fU);
  if (!ok() || value == 0) return 0;
  switch (encoding & 0x70U) {
    case 0x00:
    case 0x50:
      break;
    case 0x10:
      value += place;
      break;
    case 0x30:
      value += bases.data;
      break;
    case 0x40:
      value += bases.function;
      break;
    default:  // textrel has no meaning here
      return refuse();
  }
  if ((encoding & kIndirect) != 0) {
    if (value < bases.mapped_begin || value > bases.mapped_end || bases.mapped_end - value < 8)
      return refuse();
    value = load_as<std::uint64_t>(value);
  }
  return value;
}

}  // namespace culprit::unwind
