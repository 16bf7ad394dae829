#pragma once

#include "structure/plt.hpp"
#include "structure/symbols.hpp"

#include <vector>

namespace culprit::structure {

/// Names for the functions that a named one hands over to at once: where all that `MPI_Waitany` does is jump
/// to an internal function (as in Debian's MPICH), or all that `pthread_join` does is set arguments and jump
/// (glibc), that one never returns through the named one, which is on no call path; the function it jumps to
/// is what MPI_Waitany is. One symbol for each target that no symbol of `symbols` begins at or covers, and
/// that is no linkage stub, with the target's address and unknown size; none where other near jumps lead to
/// it as well (`localtime` where `gmtime` does, all binary operators of CPython): which of them was called
/// only the caller knows.
std::vector<Symbol> forwarded_symbols(const Module& module, const Symbols& symbols,
                                      const LinkageStubs& stubs);

/// Names for the functions that exactly one small named function, or a function so named, leaves its frame to
/// when it does not just return, as `GOMP_barrier` does where there is a team: `GOMP_barrier.part`. Others
/// may call them as well, so they do not get the name itself. One symbol for each target that no symbol of
/// `symbols` begins at or covers, and that is no linkage stub, with the target's address and unknown size.
std::vector<Symbol> part_symbols(const Module& module, const Symbols& symbols, const LinkageStubs& stubs);

}  // namespace culprit::structure
