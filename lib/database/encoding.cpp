#include "database/encoding.hpp"

#include <xxhash.h>

namespace culprit::database {

std::uint64_t checksum(ByteSpan bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace culprit::database
