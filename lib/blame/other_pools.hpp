#pragma once

#include "blame/blame.hpp"

namespace culprit::blame {

/// Whether threads of the role may belong to pools that have nothing to do with each other, though they
/// start in the same function: they are workers, and wait neither in teams of OpenMP nor mostly in MPI.
bool may_be_several_pools(std::span<const database::Context> contexts, const RoleThreads& threads,
                          const RoleView& role);

/// What single threads worked, in their order, ns.
struct WorkOfThreads {
  std::span<const std::uint64_t> code;  ///< in a suspect's code
  std::span<const std::uint64_t> all;   ///< in their whole lives
};

/// Whether threads that never had any of a suspect's work may be there for other work: two culprits or more,
/// who work alike, are all that run the code, and the others hardly work at all, but for those that work for
/// about as long in other code. `culprits` ascend, indices of threads.
bool others_may_serve(const WorkOfThreads& work, std::span<const std::uint32_t> culprits);

}  // namespace culprit::blame
