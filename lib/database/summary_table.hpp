#pragma once

#include "database/database.hpp"
#include "database/encoding.hpp"

#include <cstdint>
#include <vector>

namespace culprit::database {

/// Index and data of all tables of one tree (docs/formats.md, "Summary tables").
struct EncodedSummaries {
  Bytes index, data;
};

/// Encodes the tables in the order given. Entries without observers are left out. Throws
/// std::invalid_argument unless entries ascend strictly by scope.
EncodedSummaries encode_summaries(const std::vector<Summary>& summaries);

/// Decodes and verifies all tables; scopes lie below `scopes`, roles below `roles`, metrics below `metrics`;
/// tables ascend strictly by (role, metric). Throws Malformed.
std::vector<Summary> decode_summaries(ByteSpan index, ByteSpan data, std::uint64_t scopes,
                                      std::uint64_t roles, std::uint64_t metrics);

}  // namespace culprit::database
