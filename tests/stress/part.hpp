#pragma once

#include <cstddef>
#include <cstdint>

// What the stress program is made of: parts that each do one thing that a sampler may break. A part works in
// rounds; each round does the same work and returns the same checksum, however it is interrupted.
namespace stress {

/// One round; throws std::runtime_error where the system failed it.
using Round = std::uint64_t (*)();

std::uint64_t throw_and_catch();
std::uint64_t load_and_unload();
std::uint64_t allocate_and_free();
std::uint64_t fork_and_exec();
std::uint64_t create_and_end_threads();
std::uint64_t handle_on_alternate_stacks();
std::uint64_t jump_out();
std::uint64_t switch_coroutines();
std::uint64_t block_and_unblock();

/// Threads that one round of create_and_end_threads creates.
inline constexpr unsigned kThreadsPerRound = 250;

/// The library that load_and_unload loads and the program that fork_and_exec executes (this one, with
/// `kChild SEED` it prints digest(SEED)).
void set_plugin(const char* path);
void set_program(const char* path);
inline constexpr const char* kChild = "--child";

/// Some computation, in which samples fall: `steps` steps from `seed`.
inline std::uint64_t digest(std::uint64_t seed, unsigned steps = 20'000) {
  for (unsigned i = 0; i < steps; ++i) {
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    seed *= 0x2545f4914f6cdd1dU;
  }
  return seed;
}

/// Folds `value` into `sum`; the order counts.
inline void fold(std::uint64_t& sum, std::uint64_t value) {
  sum = (sum ^ value) * 0x100000001b3U;
}

[[noreturn]] void fail(const char* what);

}  // namespace stress
