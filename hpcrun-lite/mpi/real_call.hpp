#pragma once

#include "runtime/system/found_function.hpp"

#include <atomic>
#include <type_traits>

namespace culprit::mpi {

/// The next definition of `name` behind ours, or that of an MPI library which the program loaded for itself
/// with dlopen. Ends the process with a message where there is none: a call of ours has nowhere to go.
void* find_symbol(const char* name);

/// A data object of the MPI library, such as Open MPI's predefined handles: the one that the whole program
/// uses, which may be a copy in the executable.
void* find_object(const char* name);

/// The name of a function of MPI's, and where the library has it.
struct LibraryFunction {
  const char* name;
  std::atomic<void*> address;

  /// As find_symbol(). Takes the loader's lock.
  void* find();
};

/// Every RealCall is declared with this mark, by which find_all_calls() knows it.
#define CULPRIT_REAL_CALL __attribute__((section("culprit_real_call")))

/// Looks all of them up that the library has: when the process starts, if the program is linked with MPI,
/// else in MPI_Init. At their first call may be too late: a library's constructor may wait for a thread, and
/// that thread's first call of MPI would wait for the loader.
void find_all_calls();

/// The MPI function behind one of ours.
template <typename Signature>
using RealCall = runtime::FoundFunction<LibraryFunction, Signature>;

/// The function of MPI itself, whoever stands between: CULPRIT_MPI(PMPI_Comm_rank)(comm, &rank).
#define CULPRIT_MPI(function)                                                                             \
  ([] {                                                                                                   \
    static CULPRIT_REAL_CALL ::culprit::mpi::RealCall<std::remove_pointer_t<decltype(&(function))>> real{ \
        #function};                                                                                       \
    return real.get();                                                                                    \
  }())

}  // namespace culprit::mpi
