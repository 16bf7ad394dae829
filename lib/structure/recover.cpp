// The structure of a module around sampled addresses (docs/algorithms.md 15): from the cache where that has
// all of it, else recovered in parts, by several threads where there are addresses enough, and put together
// (combine.cpp). A file that changes meanwhile, or is damaged, gives one procedure of which nothing is known.
#include "files/at_death.hpp"
#include "structure/cache.hpp"
#include "structure/code_map.hpp"
#include "structure/combine.hpp"
#include "structure/function_bounds.hpp"
#include "structure/module.hpp"
#include "structure/recover_part.hpp"
#include "structure/structure.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

namespace culprit::structure {
namespace {

/// Fewer addresses are not worth a thread with a handle of its own on the debug information, which costs some
/// milliseconds; reading the debug information of one address costs about one.
constexpr std::size_t kFewestAddresses = 48;

/// Everything in the module is one procedure of which nothing is known.
ModuleStructure give_up(const Request& request, std::string note) {
  ModuleStructure out;
  out.notes.push_back(std::move(note));
  if (request.addresses.empty()) return out;
  Procedure unknown;
  unknown.name = fmt::format("<unknown in {}>", request.path.filename().string());
  out.procedures.push_back(std::move(unknown));
  Point point;
  point.procedure = 0;
  out.points.assign(request.addresses.size(), point);
  return out;
}

/// The request for the `index`-th of `count` parts of its addresses.
Request part_of(const Request& request, std::size_t index, std::size_t count) {
  Request part = request;
  const auto bound = [&](std::size_t i) {
    return request.addresses.begin() + static_cast<std::ptrdiff_t>(request.addresses.size() * i / count);
  };
  part.addresses.assign(bound(index), bound(index + 1));
  return part;
}

/// How many threads are worth while: without debug information, a module takes less time than starting them.
std::size_t threads_for(const Request& request, const Module& module) {
  const std::size_t most =
      std::min<std::size_t>(request.threads, request.addresses.size() / kFewestAddresses);
  std::uint64_t bias = 0;
  if (most < 2 || !request.debug_info || module.dwarf(bias) == nullptr) return 1;
  return most;
}

/// Throws if the module, or a file of its debug information, was truncated or overwritten while this thread
/// read it.
void refuse_changed(const Module& module, const files::LostPages& lost) {
  if (lost.count() > 0 || module.changed()) throw std::runtime_error("changed while it was read");
}

/// What `one` makes of each of as many parts of the request as there are threads.
template <class Part>
std::vector<Part> in_threads(const Request& request, const Module& module, const FunctionBounds& bounds,
                             std::size_t threads,
                             Part (*one)(const Request&, const Module&, const FunctionBounds&)) {
  std::vector<Part> parts(threads);
  std::vector<std::exception_ptr> failures(threads);
  const auto work = [&](std::size_t index) {
    try {
      const Request part = part_of(request, index, threads);
      if (index == 0) {
        parts[index] = one(part, module, bounds);
        return;
      }
      const files::LostPages lost;
      std::string why;
      const std::unique_ptr<Module> own = Module::open(part, why);
      if (!own || own->build_id() != module.build_id()) throw std::runtime_error("changed while it was read");
      parts[index] = one(part, *own, bounds);
      refuse_changed(*own, lost);
    } catch (...) {
      failures[index] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < threads; ++i) helpers.emplace_back(work, i);
    work(0);
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  return parts;
}

/// All of the functions that hold the request's addresses.
CodeMap map_code(const Request& request, const Module& module) {
  const FunctionBounds bounds(module);
  CodeMap whole;
  for (CodeMap& part : in_threads(request, module, bounds, threads_for(request, module), map_part))
    whole.add(std::move(part));
  return whole;
}

/// Why nothing can be said of a module.
struct Unusable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The module, of the build that was measured.
std::unique_ptr<Module> open_measured(const Request& request) {
  std::string why;
  std::unique_ptr<Module> module = Module::open(request, why);
  if (!module) throw Unusable("cannot be read: " + why);
  if (!request.build_id.empty() && request.build_id != module->build_id())
    throw Unusable("changed since it was measured: its build-id differs");
  return module;
}

/// With what `cache` knows; what it lacks is added to it.
ModuleStructure recover_with(const Cache& cache, const Request& request, const files::LostPages& lost) {
  CodeMap known = cache.load();
  Request rest = request;
  rest.addresses = known.unknown(request.addresses);
  if (!rest.addresses.empty()) {
    const std::unique_ptr<Module> module = open_measured(rest);
    CodeMap learnt = map_code(rest, *module);
    refuse_changed(*module, lost);
    cache.store(learnt);
    known.add(std::move(learnt));
  }
  return known.around(request.addresses);
}

/// Adds what a cache or the module knows of the request's addresses.
void learn(const Request& request, CodeMap& known) {
  const files::LostPages lost;
  std::unique_ptr<Module> module = open_measured(request);
  const auto cache = Cache::of(request, *module);
  if (cache) known.add(cache->load());
  Request rest = request;
  rest.addresses = known.unknown(request.addresses);
  if (rest.addresses.empty()) return;
  if (cache) module = open_measured(rest);
  CodeMap learnt = map_code(rest, *module);
  refuse_changed(*module, lost);
  if (cache) cache->store(learnt);
  known.add(std::move(learnt));
}

}  // namespace

struct KnownCode::State {
  Request request;
  CodeMap known;
  std::string refused;  ///< why nothing can be said of the module
};

KnownCode::KnownCode(Request request) : state_(std::make_unique<State>()) {
  state_->request = std::move(request);
}
KnownCode::~KnownCode() = default;
KnownCode::KnownCode(KnownCode&&) noexcept = default;
KnownCode& KnownCode::operator=(KnownCode&&) noexcept = default;

ModuleStructure KnownCode::around(const std::vector<std::uint64_t>& addresses) {
  Request request = state_->request;
  request.addresses = state_->known.unknown(addresses);
  try {
    if (!request.addresses.empty() && state_->refused.empty()) learn(request, state_->known);
    if (state_->known.unknown(addresses).empty()) return state_->known.around(addresses);
  } catch (const std::exception& error) {
    state_->refused = error.what();
  }
  request.addresses = addresses;
  return give_up(request, state_->refused);
}

ModuleStructure recover(const Request& request) {
  try {
    const files::LostPages lost;
    std::unique_ptr<Module> module = open_measured(request);
    const auto cache = request.addresses.empty() ? std::nullopt : Cache::of(request, *module);
    if (cache) return recover_with(*cache, request, lost);
    const FunctionBounds bounds(*module);
    ModuleStructure whole =
        combine(in_threads(request, *module, bounds, threads_for(request, *module), recover_part));
    refuse_changed(*module, lost);
    return whole;
  } catch (const Unusable& reason) {
    return give_up(request, reason.what());
  } catch (const std::bad_alloc&) {
    return give_up(request, "cannot be read: out of memory");
  } catch (const std::exception& error) {
    return give_up(request, std::string("cannot be read: ") + error.what());
  }
}

}  // namespace culprit::structure
