#pragma once

#include "launcher/program.hpp"

#include <cstdint>
#include <string>

namespace culprit::launcher {

enum class Mpi : std::uint8_t { none, openmpi, mpich, unknown };

/// Which MPI the program will use: what it links, directly or through other libraries; else (a script, an
/// interpreter, a program that loads MPI itself) the one whose launcher started us. `unknown`: an MPI with
/// another binary interface; `library` then names it.
Mpi choose_mpi(const Program& program, std::string& library);

}  // namespace culprit::launcher
