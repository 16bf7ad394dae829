#pragma once

#include "runtime/modules/map_snapshot.hpp"
#include "unwind/walker.hpp"

#include <cstdint>

namespace culprit::runtime {

/// Prepares find_loaded; called by the constructor.
void prepare_modules();

/// Finds the module that maps `address`. Async-signal-safe, without locks.
bool find_loaded(std::uint64_t address, LoadedModule& module);

/// As the walker asks for it: enters the module in the measurement at first sight. The file must be open.
bool find_module(void* context, std::uint64_t address, unwind::CodeModule& module);

/// Whether the vdso, in which clocks are read, holds `address`. Async-signal-safe.
[[nodiscard]] bool is_in_vdso(std::uint64_t address);

/// Marks the library that holds `address` as the sampler's own.
void add_own_library(std::uint64_t address);

/// True once a sample lay in an MPI library.
bool mpi_was_sampled();

}  // namespace culprit::runtime
