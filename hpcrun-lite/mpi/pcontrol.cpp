// MPI_Pcontrol, MPI's own way to make a profiler stop (level 0) and go on (level 1 or 2). The real
// function is entered by a jump, with registers and stack as they came: only the caller knows how many
// further arguments there are, and of what types.
#include "machine/machine.hpp"
#include "mpi/prototypes.hpp"
#include "mpi/real_call.hpp"
#include "runtime/api.hpp"

namespace {

using Pcontrol = culprit::mpi::RealCall<int(int)>;

void* obey(int level, Pcontrol& real) {
  culprit_rt_control_level(level);
  return reinterpret_cast<void*>(real.get());
}

}  // namespace

// Called from the code below; they return the function to go on with.
extern "C" {
__attribute__((visibility("hidden"), used)) void* culprit_obey_MPI_Pcontrol(int level) {
  static CULPRIT_REAL_CALL Pcontrol real{"MPI_Pcontrol"};
  return obey(level, real);
}
__attribute__((visibility("hidden"), used)) void* culprit_obey_PMPI_Pcontrol(int level) {
  static CULPRIT_REAL_CALL Pcontrol real{"PMPI_Pcontrol"};
  return obey(level, real);
}
}

__asm__(CULPRIT_PCONTROL_ENTRY(MPI_Pcontrol));
__asm__(CULPRIT_PCONTROL_ENTRY(PMPI_Pcontrol));
