#pragma once

#include "database/database.hpp"
#include "database/encoding.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace culprit::database {

/// What a list of values may refer to.
struct ValueBounds {
  std::uint64_t indices = 0;
  std::uint64_t metrics = 0;
};

/// Appends the block of one list (docs/formats.md, "Value blocks"). Throws std::invalid_argument unless the
/// list is strictly ascending by (index, metric) and holds no zero.
void encode_values(std::span<const Value> values, Encoder& into);

/// Decodes a block of `count` values. Throws Malformed unless it is one list in order and within `bounds`.
std::vector<Value> decode_values(ByteSpan block, std::uint32_t count, const ValueBounds& bounds);

}  // namespace culprit::database
