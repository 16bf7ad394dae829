#pragma once

#include "recorder.hpp"

#include <cstdint>
#include <string>

// The load modules that tests pretend to have sampled (sampled_library.c, sampled_fortran_binding.c).
namespace sampled {

inline const std::string kLibrary = SAMPLED_LIBRARY;
inline const std::string kFortranLibrary = SAMPLED_FORTRAN_LIBRARY;

/// The ELF virtual address of a procedure of one of the two.
std::uint64_t address(const std::string& library, const char* procedure);

/// A place within a procedure of kLibrary, which is module `module` of the process.
inline recorder::At in(std::uint32_t module, const char* procedure) {
  return {.module = module, .offset = address(kLibrary, procedure) + 4};
}

}  // namespace sampled
