#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace culprit::database {

/// Makes every checksum of a damaged database right again, as far as its tables still point inside it, so
/// that tests reach what lies behind the checksums. Leaves bytes that are no database as they are.
void repair_checksums(std::vector<std::byte>& file);

/// Opens the bytes as a database and reads everything in it. True if all of it could be read, false if a
/// DatabaseError was thrown; anything else is the caller's to catch.
bool read_all(std::span<const std::byte> file);

}  // namespace culprit::database
