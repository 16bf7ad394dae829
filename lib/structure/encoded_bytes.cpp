#include "structure/encoded_bytes.hpp"

#include <dwarf.h>

namespace culprit::structure {

std::uint64_t EncodedBytes::uleb() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; good_; shift += 7) {
    const auto byte = fixed<std::uint8_t>();
    if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
    if ((byte & 0x80U) == 0) break;
  }
  return value;
}

std::int64_t EncodedBytes::sleb() {
  std::uint64_t value = 0;
  unsigned shift = 0;
  while (good_) {
    const auto byte = fixed<std::uint8_t>();
    if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
    shift += 7;
    if ((byte & 0x80U) != 0) continue;
    if (shift < 64 && (byte & 0x40U) != 0) value |= ~std::uint64_t{0} << shift;
    break;
  }
  return static_cast<std::int64_t>(value);
}

std::uint64_t EncodedBytes::pointer(std::uint8_t encoding, bool relative) {
  const std::uint64_t base = address();
  std::uint64_t value = 0;
  switch (encoding & 0x0fU) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
      value = fixed<std::uint64_t>();
      break;
    case DW_EH_PE_uleb128:
      value = uleb();
      break;
    case DW_EH_PE_sleb128:
      value = static_cast<std::uint64_t>(sleb());
      break;
    case DW_EH_PE_udata2:
      value = fixed<std::uint16_t>();
      break;
    case DW_EH_PE_udata4:
      value = fixed<std::uint32_t>();
      break;
    case DW_EH_PE_sdata2:
      value = static_cast<std::uint64_t>(std::int64_t{fixed<std::int16_t>()});
      break;
    case DW_EH_PE_sdata4:
      value = static_cast<std::uint64_t>(std::int64_t{fixed<std::int32_t>()});
      break;
    default:
      fail();
      return 0;
  }
  if (!relative) return value;
  if ((encoding & 0x80U) != 0) {  // DW_EH_PE_indirect: the value lies in the running process
    fail();
    return 0;
  }
  switch (encoding & 0x70U) {
    case DW_EH_PE_absptr:
      return value;
    case DW_EH_PE_pcrel:
      return value == 0 ? 0 : base + value;
    default:
      fail();
      return 0;
  }
}

}  // namespace culprit::structure
