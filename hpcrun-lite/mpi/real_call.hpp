#pragma once

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

template <typename Signature>
class RealCall;

/// The MPI function behind one of ours. Constant-initialized.
template <typename Result, typename... Arguments>
class RealCall<Result(Arguments...)> {
 public:
  using Function = Result (*)(Arguments...);
  constexpr explicit RealCall(const char* name) : function_{.name = name, .address = nullptr} {}

  Function get() {
    void* address = function_.address.load(std::memory_order_relaxed);
    if (address == nullptr) [[unlikely]]
      address = function_.find();
    return reinterpret_cast<Function>(address);
  }

 private:
  LibraryFunction function_;
};

/// The function of MPI itself, whoever stands between: CULPRIT_MPI(PMPI_Comm_rank)(comm, &rank).
#define CULPRIT_MPI(function)                                                                             \
  ([] {                                                                                                   \
    static CULPRIT_REAL_CALL ::culprit::mpi::RealCall<std::remove_pointer_t<decltype(&(function))>> real{ \
        #function};                                                                                       \
    return real.get();                                                                                    \
  }())

}  // namespace culprit::mpi
