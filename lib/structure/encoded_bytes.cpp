#include "structure/encoded_bytes.hpp"

#include <dwarf.h>

namespace culprit::structure {

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
