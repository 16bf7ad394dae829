// Every MPI call that waits, communicates, reads or writes, or makes or frees what those refer to: under both
// its names, the real function inside an ObservedCall. The tables are lib/mpi_calls/*.def:
// CULPRIT_CALL(name without MPI_, parameters, arguments, facts); CULPRIT_COUNTED_CALL is the same for calls
// of which MPI 4 has a form for large counts, with CULPRIT_COUNT and CULPRIT_DISPLACEMENT for the types in
// which the two forms differ.
#include "mpi/observed_call.hpp"
#include "mpi/real_call.hpp"
#include "runtime/system/export.hpp"

#include <mpi.h>

using namespace culprit::mpi;

// NOLINTBEGIN(bugprone-macro-parentheses): parameter lists come in parentheses of their own
#define CULPRIT_WRAPPER(function, parameters, arguments, ...)          \
  CULPRIT_EXPORT int function parameters {                             \
    static CULPRIT_REAL_CALL RealCall<int parameters> real{#function}; \
    const auto next = real.get();                                      \
    ObservedCall observed(__VA_ARGS__);                                \
    const void* const behind = reinterpret_cast<const void*>(next);    \
    observed.begin(behind);                                            \
    const CallMark mark(observed.kind(), behind);                      \
    static constexpr CallName name(#function);                         \
    observed.enter(mark, name);                                        \
    const int result = observed.real(next) arguments;                  \
    observed.exit(mark, result, number_of_call(#function));            \
    return result;                                                     \
  }
#define CULPRIT_CALL(name, parameters, arguments, ...)            \
  CULPRIT_WRAPPER(MPI_##name, parameters, arguments, __VA_ARGS__) \
  CULPRIT_WRAPPER(PMPI_##name, parameters, arguments, __VA_ARGS__)

#define CULPRIT_COUNTED_CALL CULPRIT_CALL
#define CULPRIT_COUNT int
#define CULPRIT_DISPLACEMENT int
#include "mpi_calls/all.def"

#if MPI_VERSION >= 4
#undef CULPRIT_CALL
#undef CULPRIT_COUNTED_CALL
#undef CULPRIT_COUNT
#undef CULPRIT_DISPLACEMENT
#define CULPRIT_CALL(name, parameters, arguments, ...)
#define CULPRIT_COUNTED_CALL(name, parameters, arguments, ...)        \
  CULPRIT_WRAPPER(MPI_##name##_c, parameters, arguments, __VA_ARGS__) \
  CULPRIT_WRAPPER(PMPI_##name##_c, parameters, arguments, __VA_ARGS__)
#define CULPRIT_COUNT MPI_Count
#define CULPRIT_DISPLACEMENT MPI_Aint
#include "mpi_calls/all.def"
#endif
// NOLINTEND(bugprone-macro-parentheses)
