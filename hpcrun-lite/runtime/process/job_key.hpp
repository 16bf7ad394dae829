#pragma once

#include "runtime/system/text.hpp"

namespace culprit::runtime {

/// What all ranks of one MPI run can know of it without talking to each other, and no other run knows.
struct JobKey {
  Text<64> id;     ///< 32 hexadecimal digits
  long rank = -1;  ///< as the launcher of the job says it; -1 unknown
  long ranks = -1;
};

/// Derives the key from the environment that mpirun, srun, mpiexec (also that of PALS, where PBS runs jobs)
/// flux or pbsdsh made, and from the launcher's processes. False outside of an MPI job. Does not allocate.
bool find_job_key(JobKey& key);

}  // namespace culprit::runtime
