#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <utility>

// Calls of functions that a process may have several copies of (run-time libraries of OpenMP: extensions of
// an interpreter bring their own), or none. Nothing is exported under their names, so the loader finds what
// it would find without us, and so does a program that asks for it. Instead the slots through which modules
// call are redirected, once they are bound: each to an entry of ours that goes on to the very address that
// was there. No call looks anything up, or takes a lock of the loader's.
namespace culprit::runtime {

/// A way from slots of modules to a function, by an entry of ours.
struct Route {
  std::atomic<void*> target;  ///< what the slots held; null: the route is free
  std::atomic<void**> slot;   ///< the one slot that the loader has not bound yet: the target binds it, and
                              ///< goes on to the function; null: the target is the function
};

/// A function whose calls are redirected: its routes, and as many entries.
struct alignas(64) Redirected {               // side by side in a section: no compiler puts gaps between them
  static constexpr std::size_t kBound = 16;   ///< copies of the function
  static constexpr std::size_t kRoutes = 64;  ///< these, and slots that are not bound yet
  using Entry = void (*)();

  const char* name;
  Route* routes;
  const void* entries;  ///< an array of functions, each of which takes the route of its index
};

static_assert(sizeof(Redirected) == 64);

/// Every Redirected is declared with this mark, by which the slots of its name are known.
#define CULPRIT_REDIRECTED __attribute__((section("culprit_redirected"), used))

/// Records which modules the process was started with, apart from those that are loaded later: before any
/// constructor that loads one, as far as ours runs first.
void note_modules_of_start();

/// Redirects the calls of the modules that the process was started with. From the runtime's constructor: all
/// are relocated, and all see the same definitions, so those that are not bound yet are looked up.
void redirect_calls_of_start();

/// Redirects the calls of the module that `place` lies in: a library that was loaded just now, before its
/// constructors. What is not bound yet stays with the loader, until the first call. Takes the lock of the
/// list of modules, which the loader never holds while code of a module runs.
void redirect_calls_of(const void* place);

/// How many modules the loader has added to its list so far, and removed. As long as both are the same, each
/// module that was there is there.
struct LoaderCounts {
  unsigned long long added, removed;

  /// Takes the lock of the list of modules.
  static LoaderCounts now();
  friend bool operator==(const LoaderCounts&, const LoaderCounts&) = default;
};

/// After a call by a route whose slot was not bound: now it is, to a function, and is redirected to that, if
/// the slot is still there. Who called may have jumped, and is not waited for: at its return another thread
/// may have closed its library. `before`: the counts when that called.
void redirect_bound_slot(const Redirected& function, Route& route, const LoaderCounts& before);

/// In a forked child: a thread that had the lock of the list is not there any more, so nobody asks for it.
void redirect_bound_slots_no_more();

/// What a call that was redirected goes on to, whatever its type. Made when the call begins.
class AnyTarget {
 public:
  AnyTarget(const Redirected& function, Route& route) : function_(function), route_(route) {
    if (!is_bound()) [[unlikely]]
      before_ = LoaderCounts::now();
  }

  [[nodiscard]] const void* address() const { return route_.target.load(std::memory_order_relaxed); }
  [[nodiscard]] bool is_bound() const { return route_.slot.load(std::memory_order_relaxed) == nullptr; }
  /// As soon as the function runs: another thread may call it, too.
  void redirect_if_bound() const {
    if (!is_bound()) redirect_bound_slot(function_, route_, before_);
  }

 private:
  const Redirected& function_;
  Route& route_;
  LoaderCounts before_;  ///< where it is not bound
};

template <typename Signature>
class Target;
template <typename Result, typename... Arguments>
class Target<Result(Arguments...)> : public AnyTarget {
 public:
  using AnyTarget::AnyTarget;

  Result operator()(Arguments... arguments) const {
    const auto real = reinterpret_cast<Result (*)(Arguments...)>(const_cast<void*>(address()));
    if (is_bound()) [[likely]]
      return real(arguments...);
    const AtReturn at_return(*this);
    return real(arguments...);
  }

 private:
  class AtReturn {
   public:
    explicit AtReturn(const AnyTarget& target) : target_(target) {}
    ~AtReturn() { target_.redirect_if_bound(); }
    AtReturn(const AtReturn&) = delete;
    AtReturn& operator=(const AtReturn&) = delete;

   private:
    const AnyTarget& target_;
  };
};

/// The entries of a function: each calls Function::call(target, arguments...).
template <typename Function, typename Signature>
struct Entries;
template <typename Function, typename Result, typename... Arguments>
struct Entries<Function, Result(Arguments...)> {
  using List = std::array<Result (*)(Arguments...), Redirected::kRoutes>;

  static constinit inline Route routes[Redirected::kRoutes] = {};

  [[gnu::noinline]] static Result call(Route& route, Arguments... arguments) {
    return Function::call(Target<Result(Arguments...)>(Function::redirected, route), arguments...);
  }
  template <std::size_t Place>
  static Result enter(Arguments... arguments) {
    return call(routes[Place], arguments...);
  }
  template <std::size_t... Place>
  static constexpr List list(std::index_sequence<Place...> /*places*/) {
    return {enter<Place>...};
  }
  static constexpr List entries = list(std::make_index_sequence<Redirected::kRoutes>{});
};

/// That of a type with Signature, call() and redirected.
template <typename Function>
constexpr Redirected redirected_to(const char* name) {
  using Own = Entries<Function, typename Function::Signature>;
  return {.name = name, .routes = Own::routes, .entries = Own::entries.data()};
}

}  // namespace culprit::runtime
