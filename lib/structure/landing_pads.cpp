#include "structure/landing_pads.hpp"

#include "structure/encoded_bytes.hpp"

#include <dwarf.h>

namespace culprit::structure {

std::vector<Handler> landing_pads(const Module& module, const Frame& frame) {
  std::vector<Handler> handlers;
  if (frame.handlers == 0) return handlers;
  EncodedBytes in(module.bytes(frame.handlers), frame.handlers);
  std::uint64_t base = frame.range.low;
  if (const auto encoding = in.fixed<std::uint8_t>(); encoding != DW_EH_PE_omit) base = in.pointer(encoding);
  if (in.fixed<std::uint8_t>() != DW_EH_PE_omit) in.uleb();  // where the type table ends
  const auto encoding = in.fixed<std::uint8_t>();
  const std::uint64_t length = in.uleb();
  const std::size_t end = in.position() + length;
  while (in.good() && in.position() < end) {
    const std::uint64_t start = frame.range.low + in.pointer(encoding, false);
    const std::uint64_t size = in.pointer(encoding, false);
    const std::uint64_t pad = in.pointer(encoding, false);
    in.uleb();  // the action
    if (in.good() && pad != 0) handlers.push_back({{start, start + size}, base + pad});
  }
  return handlers;
}

}  // namespace culprit::structure
