#pragma once

#include "runtime/modules/map_snapshot.hpp"
#include "unwind/walker.hpp"

#include <cstdint>

namespace culprit::runtime {

/// Asks the loader how modules are found, in every process, also one that is not measured.
void prepare_find_loaded();
/// Prepares find_module, after that; called by the constructor.
void prepare_modules();

/// Finds the module that maps `address`. Async-signal-safe, without locks.
bool find_loaded(std::uint64_t address, LoadedModule& module);

/// The same, also of what was loaded a moment ago where the C library is too old to be asked without a lock:
/// not for handlers. The lock is that of the list of modules, which the loader holds for moments only.
bool find_loaded_now(std::uint64_t address, LoadedModule& module);

/// As the walker asks for it: enters the module in the measurement at first sight. The file must be open.
bool find_module(void* context, std::uint64_t address, unwind::CodeModule& module);

/// Marks the library that holds `address` as the sampler's own.
void add_own_library(std::uint64_t address);

/// True once a sample lay in an MPI library.
bool mpi_was_sampled();

}  // namespace culprit::runtime
