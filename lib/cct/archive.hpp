#pragma once

#include "cct/canonical.hpp"
#include "cct/message.hpp"

namespace culprit::cct {

/// A tree and its modules as part of a message between ranks (cct/message.hpp). Node and module ids survive
/// the round trip.
void write(MessageWriter& message, const SharedTree& shared);

/// The reverse of write. Throws ArchiveError on any bytes that do not hold a tree.
SharedTree read(MessageReader& message);

}  // namespace culprit::cct
