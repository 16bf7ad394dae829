#include "structure/landing_pads.hpp"

#include "structure/encoded_bytes.hpp"

#include <algorithm>

#include <dwarf.h>

namespace culprit::structure {

std::vector<Handler> landing_pads(const Module& module, const Frame& frame) {
  std::vector<Handler> handlers;
  if (frame.handlers == 0) return handlers;
  EncodedBytes in(module.bytes(frame.handlers), frame.handlers);
  std::uint64_t base = frame.range.low;
  if (const auto encoding = in.get<std::uint8_t>(); encoding != DW_EH_PE_omit) base = in.pointer(encoding);
  if (in.get<std::uint8_t>() != DW_EH_PE_omit) in.get_varint();  // where the type table ends
  const auto encoding = in.get<std::uint8_t>();
  const std::uint64_t length = in.get_varint();
  const std::size_t behind = in.remaining() - std::min<std::uint64_t>(length, in.remaining());
  while (in.good() && in.remaining() > behind) {
    const std::uint64_t start = frame.range.low + in.pointer(encoding, false);
    const std::uint64_t size = in.pointer(encoding, false);
    const std::uint64_t pad = in.pointer(encoding, false);
    in.get_varint();  // the action
    if (in.good() && pad != 0) handlers.push_back({{start, start + size}, base + pad});
  }
  return handlers;
}

}  // namespace culprit::structure
