#pragma once

#include "cct/canonical.hpp"
#include "cct/message.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace culprit::cct {

/// A tree and its modules as a message between ranks (cct/message.hpp). Node and module ids survive the round
/// trip.
std::vector<std::byte> pack(const SharedTree& shared);

/// The reverse of pack. Throws ArchiveError on any bytes that do not hold a tree.
SharedTree unpack(std::span<const std::byte> message);

/// The same as part of a larger message.
void write(MessageWriter& message, const SharedTree& shared);
SharedTree read(MessageReader& message);

}  // namespace culprit::cct
