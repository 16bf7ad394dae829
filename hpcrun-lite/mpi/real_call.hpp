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

template <typename Signature>
class RealCall;

/// The MPI function behind one of ours, looked up at the first call. Constant-initialized.
template <typename Result, typename... Arguments>
class RealCall<Result(Arguments...)> {
 public:
  using Function = Result (*)(Arguments...);
  constexpr explicit RealCall(const char* name) : name_(name) {}

  Function get() {
    Function function = function_.load(std::memory_order_relaxed);
    if (function == nullptr) {
      function = reinterpret_cast<Function>(find_symbol(name_));
      function_.store(function, std::memory_order_relaxed);
    }
    return function;
  }

 private:
  const char* name_;
  std::atomic<Function> function_{nullptr};
};

}  // namespace culprit::mpi

/// The function of MPI itself, whoever stands between, looked up once: CULPRIT_MPI(PMPI_Comm_rank)(comm,
/// &rank).
#define CULPRIT_MPI(function)                                                                    \
  ([] {                                                                                          \
    static culprit::mpi::RealCall<std::remove_pointer_t<decltype(&(function))>> real{#function}; \
    return real.get();                                                                           \
  }())
