#pragma once

#include "runtime/state/call_mark.hpp"

namespace culprit::mpi {

/// The mark of MPI calls: `waiting` or `work`.
using runtime::CallMark;

}  // namespace culprit::mpi
