#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace culprit::runtime {

/// A function of a library that the runtime is not linked with, and of which a process may have several
/// copies: extensions of an interpreter bring their own, which nobody else sees. The one that a caller would
/// have called without us: the next definition behind ours, if that was loaded before the caller, else that
/// of the caller's own dependencies.
struct alignas(64) LibraryFunction {  // side by side in a section: no compiler puts gaps between them
  static constexpr std::size_t kLibraries = 14;  ///< such copies; of further ones none is seen

  const char* name;
  std::atomic<void*> next;             ///< null: there was none when the process started
  std::atomic<void*> own[kLibraries];  ///< by library

  /// For code at `place`: the caller's, or that of a function that it passes. Where `place` is of no library
  /// that has a copy, since the call is the last of a function, and a jump: the copy that the thread's last
  /// call had, else any. Null where there is none. Takes the loader's lock at the first call from a library.
  void* of(const void* place) {
    void* known = next.load(std::memory_order_relaxed);
    return known != nullptr ? known : find(place);
  }
  /// For the begin of a section, and the same copy for its end, which is often the last call of a function,
  /// and a jump.
  void* of_begin(const void* place);
  void* of_end();

 private:
  void* find(const void* place);
};

static_assert(sizeof(LibraryFunction) == 128);

/// Every LibraryFunction is declared with this mark, by which find_library_functions() knows it.
#define CULPRIT_OF_LIBRARY __attribute__((section("culprit_of_library")))

/// Looks up those that the program was linked with: at the start of the process, as find_all_next() does.
void find_library_functions();

/// The copy that the thread's last call of a function of a library had; 0: it called none yet, or all of the
/// process have the one that the program was linked with.
std::uint32_t library_in_use();

/// Lives while the thread does work of a region or task that a thread began by library_in_use(). A library
/// that is linked with the same copy, and calls for the first time in there, is not looked for.
class WorkOf {
 public:
  explicit WorkOf(std::uint32_t library);
  ~WorkOf();
  WorkOf(const WorkOf&) = delete;
  WorkOf& operator=(const WorkOf&) = delete;

 private:
  std::uint32_t around_;
};

/// With its type. Constant-initialized.
template <typename Signature>
class OfLibrary;
template <typename Result, typename... Arguments>
class OfLibrary<Result(Arguments...)> {
 public:
  using Function = Result (*)(Arguments...);
  constexpr explicit OfLibrary(const char* name) : function_{.name = name, .next = nullptr, .own = {}} {}
  Function of(const void* place) { return reinterpret_cast<Function>(function_.of(place)); }
  Function of_begin(const void* place) { return reinterpret_cast<Function>(function_.of_begin(place)); }
  Function of_end() { return reinterpret_cast<Function>(function_.of_end()); }

 private:
  LibraryFunction function_;
};

}  // namespace culprit::runtime
