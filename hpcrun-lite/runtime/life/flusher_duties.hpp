#pragma once

#include "runtime/recording/flusher.hpp"

namespace culprit::runtime {

/// What the flusher thread does in this process.
FlusherDuties flusher_duties();

}  // namespace culprit::runtime
