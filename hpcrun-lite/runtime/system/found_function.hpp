#pragma once

#include <atomic>

namespace culprit::runtime {

template <typename Place, typename Signature>
class FoundFunction;

/// A function that is looked up by its name, at its first call at the latest. `Place` has the name, the
/// address and find(), and is all that the object holds: a section of such objects is an array of places.
/// Constant-initialized: it may be called before any constructor has run.
template <typename Place, typename Result, typename... Arguments>
class FoundFunction<Place, Result(Arguments...)> {
 public:
  using Function = Result (*)(Arguments...);

  constexpr explicit FoundFunction(const char* name) : place_{.name = name, .address = nullptr} {}

  Function get() {
    void* address = place_.address.load(std::memory_order_relaxed);
    if (address == nullptr) [[unlikely]]
      address = place_.find();
    return reinterpret_cast<Function>(address);
  }
  Result operator()(Arguments... arguments) { return get()(arguments...); }
  const void* address() { return reinterpret_cast<const void*>(get()); }

 private:
  Place place_;
};

}  // namespace culprit::runtime
