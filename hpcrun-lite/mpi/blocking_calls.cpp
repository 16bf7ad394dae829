// Every blocking call of MPI, under both its names, is marked as waiting while it lasts; nothing else is
// done.
#include "mpi/call_mark.hpp"
#include "mpi/prototypes.hpp"
#include "mpi/real_call.hpp"
#include "runtime/export.hpp"

using culprit::mpi::CallMark;
using culprit::mpi::RealCall;

// NOLINTBEGIN(bugprone-macro-parentheses): parameter lists come in parentheses of their own
#define CULPRIT_MARKED(function, parameters, arguments) \
  CULPRIT_EXPORT int function parameters {              \
    static RealCall<int parameters> real{#function};    \
    const CallMark mark(CallMark::waiting);             \
    return real.get() arguments;                        \
  }
#define CULPRIT_BLOCKING(name, parameters, arguments) \
  CULPRIT_MARKED(MPI_##name, parameters, arguments)   \
  CULPRIT_MARKED(PMPI_##name, parameters, arguments)

#include "mpi/blocking_calls.def"
// NOLINTEND(bugprone-macro-parentheses)
