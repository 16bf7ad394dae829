// MPI's beginning and end (docs/algorithms.md 5.1). MPI_Init is set-up work, not waiting. MPI_Finalize waits
// for the last rank first, in a reduction of our own that is marked as waiting; what it then does is work.
// And MPI_Pcontrol, MPI's own way to make a profiler stop (level 0) and go on (level 1 or 2).
#include "machine/machine.hpp"
#include "mpi/counted_requests.hpp"
#include "mpi/occurrence.hpp"
#include "mpi/predefined.hpp"
#include "mpi/published_call.hpp"
#include "mpi/real_call.hpp"
#include "mpi/traced_lifetime.hpp"
#include "mpi/world.hpp"
#include "runtime/api.hpp"
#include "runtime/state/call_mark.hpp"
#include "runtime/system/export.hpp"

#include <mpi.h>

namespace {

using culprit::mpi::PublishedFinalize;
using culprit::mpi::RealCall;
using culprit::mpi::TracedLifetime;
using culprit::runtime::CallMark;

using InitCall = RealCall<int(int*, char***)>;
using InitThreadCall = RealCall<int(int*, char***, int, int*)>;
using FinalizeCall = RealCall<int()>;
using AbortCall = RealCall<int(MPI_Comm, int)>;
using PcontrolCall = RealCall<int(int)>;

template <typename Real>
const void* address(Real& real) {
  return reinterpret_cast<const void*>(real.get());
}

/// A program that is not linked with MPI has loaded it by now.
void find_everything() {
  culprit::mpi::find_all_calls();
  culprit::mpi::find_all_predefined();
}

void join(const TracedLifetime& trace) {
  culprit::mpi::join_world();
  culprit::mpi::publishing::place();  // where the thread is can be seen before its first call that waits
  culprit::mpi::count_requests(false);
  trace.began();
}

// Inlined, so that the frame of the function that the program called stays: `viewer-cli stacks` names it.

[[gnu::always_inline]] inline int init(InitCall& real, int* argc, char*** argv) {
  const CallMark mark(CallMark::work, address(real));
  const TracedLifetime trace;
  if (mark.outermost()) find_everything();
  const int result = real.get()(argc, argv);
  if (mark.outermost() && result == MPI_SUCCESS) join(trace);
  return result;
}

[[gnu::always_inline]] inline int init_thread(InitThreadCall& real, int* argc, char*** argv, int required,
                                              int* provided) {
  const CallMark mark(CallMark::work, address(real));
  const TracedLifetime trace;
  if (mark.outermost()) find_everything();
  const int result = real.get()(argc, argv, required, provided);
  if (mark.outermost() && result == MPI_SUCCESS) join(trace);
  return result;
}

[[gnu::always_inline]] inline int finalize(FinalizeCall& real) {
  const CallMark mark(CallMark::waiting, address(real));
  if (!mark.outermost()) return real.get()();
  const TracedLifetime trace;
  const PublishedFinalize published;
  CulpritPath path{};
  culprit_rt_end_stretches(culprit::mpi::monotonic_time(), &path);
  culprit::mpi::leave_world();
  mark.change(CallMark::work);
  trace.ends();
  culprit::mpi::stop_counting_requests();
  const int result = real.get()();
  culprit_rt_leave_world();
  trace.ended();
  return result;
}

[[gnu::always_inline]] inline int abort_run(AbortCall& real, MPI_Comm communicator, int status) {
  const CallMark mark(CallMark::work, address(real));
  if (mark.outermost()) culprit_rt_abort();
  return real.get()(communicator, status);
}

const void* control(int level, PcontrolCall& real) {
  culprit_rt_control_level(level);
  return address(real);
}

#if MPI_VERSION >= 4
using SessionCall = RealCall<int(MPI_Info, MPI_Errhandler, MPI_Session*)>;

[[gnu::always_inline]] inline int init_session(SessionCall& real, MPI_Info info, MPI_Errhandler handler,
                                               MPI_Session* session) {
  const CallMark mark(CallMark::work, address(real));
  if (mark.outermost()) find_everything();
  const int result = real.get()(info, handler, session);
  if (mark.outermost() && result == MPI_SUCCESS) {
    culprit::mpi::join_by_session(*session);
    culprit::mpi::count_requests(true);
  }
  return result;
}
#endif

/// Frames of this library never appear in call paths.
__attribute__((constructor)) void announce_library() {
  static const char here = 0;
  culprit_rt_own_library(&here);
}

}  // namespace

#define CULPRIT_LIFETIME(prefix)                                                                  \
  CULPRIT_EXPORT int prefix##_Init(int* argc, char*** argv) {                                     \
    static CULPRIT_REAL_CALL InitCall real{#prefix "_Init"};                                      \
    return init(real, argc, argv);                                                                \
  }                                                                                               \
  CULPRIT_EXPORT int prefix##_Init_thread(int* argc, char*** argv, int required, int* provided) { \
    static CULPRIT_REAL_CALL InitThreadCall real{#prefix "_Init_thread"};                         \
    return init_thread(real, argc, argv, required, provided);                                     \
  }                                                                                               \
  CULPRIT_EXPORT int prefix##_Finalize() {                                                        \
    static CULPRIT_REAL_CALL FinalizeCall real{#prefix "_Finalize"};                              \
    return finalize(real);                                                                        \
  }                                                                                               \
  CULPRIT_EXPORT int prefix##_Abort(MPI_Comm communicator, int status) {                          \
    static CULPRIT_REAL_CALL AbortCall real{#prefix "_Abort"};                                    \
    return abort_run(real, communicator, status);                                                 \
  }

CULPRIT_LIFETIME(MPI)
CULPRIT_LIFETIME(PMPI)

#if MPI_VERSION >= 4
#define CULPRIT_SESSION(function)                                                            \
  CULPRIT_EXPORT int function(MPI_Info info, MPI_Errhandler handler, MPI_Session* session) { \
    static CULPRIT_REAL_CALL SessionCall real{#function};                                    \
    return init_session(real, info, handler, session);                                       \
  }

CULPRIT_SESSION(MPI_Session_init)
CULPRIT_SESSION(PMPI_Session_init)
#endif

// The real MPI_Pcontrol is entered by a jump, with registers and stack as they came: only the caller knows
// how many further arguments there are, and of what types. The jump leads to what these return.
#define CULPRIT_PCONTROL(function)                                                                       \
  extern "C" __attribute__((visibility("hidden"), used)) const void* culprit_obey_##function(int level); \
  const void* culprit_obey_##function(int level) {                                                       \
    static CULPRIT_REAL_CALL PcontrolCall real{#function};                                               \
    return control(level, real);                                                                         \
  }                                                                                                      \
  __asm__(CULPRIT_PCONTROL_ENTRY(function));

CULPRIT_PCONTROL(MPI_Pcontrol)
CULPRIT_PCONTROL(PMPI_Pcontrol)
