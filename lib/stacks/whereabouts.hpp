#pragma once

#include "stacks/observation.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace culprit::stacks {

/// Threads that are in one place.
struct Whereabouts {
  std::vector<std::size_t> locations;  ///< ascending
  bool main = true;                    ///< main threads
  bool stands =
      true;           ///< at one place in all looks; else `in` is the innermost function that all looks share
  bool once = false;  ///< one look only has seen them, so nothing is known of that
  std::string in;     ///< the innermost function of the program, or what it has called of MPI or the system
  std::string under;  ///< the program's function that has called it; empty where there is none
  std::string at;     ///< the place of that call, `mesh.c:31`; empty where it is not known, or moves
};

/// Where all threads are: main threads first, largest groups first.
std::vector<Whereabouts> find_whereabouts(const Observation& observation);

/// `ranks 0-6 stand in MPI_Allreduce under solve at solve.c:41`.
std::string in_words(const Observation& observation, const Whereabouts& whereabouts);

/// `ranks 0-6`, `16 threads of ranks 0-3`, `main thread`, `threads 1-15`, `process 4711`; joined by commas.
std::string names_of(const Observation& observation, std::span<const std::size_t> locations);

/// `mesh.c:31`, empty where it is not known.
std::string place_of(const Frame& frame);

}  // namespace culprit::stacks
