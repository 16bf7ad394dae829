#pragma once

#include <atomic>
#include <cstdint>

#include <dlfcn.h>

namespace culprit::runtime {

template <typename Signature>
class Real;

/// The function that an interposed function stands before: the next definition of the same name, looked up at
/// the first call (which may come before any constructor has run). Constant-initialized.
template <typename Result, typename... Arguments>
class Real<Result(Arguments...)> {
 public:
  using Function = Result (*)(Arguments...);

  constexpr explicit Real(const char* name) : name_(name) {}

  Function get() {
    Function function = function_.load(std::memory_order_relaxed);
    if (function == nullptr) {
      function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name_));
      function_.store(function, std::memory_order_relaxed);
    }
    return function;
  }
  Result operator()(Arguments... arguments) { return get()(arguments...); }
  const void* address() { return reinterpret_cast<const void*>(get()); }

 private:
  const char* name_;
  std::atomic<Function> function_{nullptr};
};

}  // namespace culprit::runtime
