#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace culprit::runtime {

/// A function of a library that the runtime is not linked with, and of which a process may have several
/// copies: extensions of an interpreter bring their own, which nobody else sees. The one that a caller would
/// have called without us: the next definition behind ours, else that of the caller's own dependencies.
struct alignas(64) LibraryFunction {  // side by side in a section: no compiler puts gaps between them
  static constexpr std::size_t kCallers =
      14;  ///< libraries that bring their own; of further ones none is seen

  const char* name;
  std::atomic<void*> next;           ///< null: there was none when the process started
  std::atomic<void*> own[kCallers];  ///< by caller's library

  /// For the call that returns to `caller`; null where there is none. Takes the loader's lock at the first
  /// call from a library that brings its own.
  void* of(const void* caller) {
    void* known = next.load(std::memory_order_relaxed);
    return known != nullptr ? known : find(caller);
  }

 private:
  void* find(const void* caller);
};

static_assert(sizeof(LibraryFunction) == 128);

/// Every LibraryFunction is declared with this mark, by which find_library_functions() knows it.
#define CULPRIT_OF_LIBRARY __attribute__((section("culprit_of_library")))

/// Looks up those that the program was linked with: at the start of the process, as find_all_next() does.
void find_library_functions();

/// With its type. Constant-initialized.
template <typename Signature>
class OfLibrary;
template <typename Result, typename... Arguments>
class OfLibrary<Result(Arguments...)> {
 public:
  using Function = Result (*)(Arguments...);
  constexpr explicit OfLibrary(const char* name) : function_{.name = name, .next = nullptr, .own = {}} {}
  Function of(const void* caller) { return reinterpret_cast<Function>(function_.of(caller)); }

 private:
  LibraryFunction function_;
};

}  // namespace culprit::runtime
