#pragma once

#include "database/encoding.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace culprit::database {

/// Contexts one after the other, of which neighbours are often equal: varint length, u32 context, ...
inline void put_runs(const std::vector<std::uint32_t>& contexts, Encoder& into) {
  for (std::size_t at = 0; at < contexts.size();) {
    std::size_t end = at;
    while (end < contexts.size() && contexts[end] == contexts[at]) ++end;
    into.put_varint(end - at);
    into.put(contexts[at]);
    at = end;
  }
}

/// `count` of them.
inline std::vector<std::uint32_t> get_runs(std::size_t count, Decoder& from) {
  std::vector<std::uint32_t> contexts;
  while (contexts.size() < count) {
    const std::uint64_t length = from.get_varint();
    if (length == 0 || length > count - contexts.size()) from.fail("has runs that do not fit");
    contexts.insert(contexts.end(), length, from.get<std::uint32_t>());
  }
  return contexts;
}

}  // namespace culprit::database
