#pragma once

#include "unwind/walker.hpp"

#include <cstdint>

namespace culprit::runtime {

/// A loaded module as the loader knows it.
struct LoadedModule {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t bias = 0;
  std::uint64_t eh_frame_hdr = 0;
  const char* name = nullptr;  ///< as the loader has it: empty for the program itself
};

/// Prepares find_loaded; called by the constructor.
void prepare_modules();

/// Finds the module that maps `address`. Async-signal-safe, without locks.
bool find_loaded(std::uint64_t address, LoadedModule& module);

/// As the walker asks for it: enters the module in the measurement at first sight. The file must be open.
bool find_module(void* context, std::uint64_t address, unwind::CodeModule& module);

/// Marks the library that holds `address` as the sampler's own.
void add_own_library(std::uint64_t address);

/// True once a sample lay in an MPI library.
bool mpi_was_sampled();

/// Counts up whenever modules may have been unloaded; a walker that saw an older value must be invalidated.
std::uint32_t module_generation();

/// True while some thread is in dlclose.
bool module_is_unloading();

/// In a forked child, where that thread is not any more.
void forget_unloading();

}  // namespace culprit::runtime
