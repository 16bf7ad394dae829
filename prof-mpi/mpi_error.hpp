#pragma once

#include "exchange/communicator.hpp"

#include <string>

#include <mpi.h>

namespace culprit::prof_mpi {

/// What MPI says about one of its error codes.
inline std::string describe(int code) {
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) return "MPI error " + std::to_string(code);
  return {text, static_cast<std::size_t>(length)};
}

/// Throws ExchangeError unless `code` is success.
inline void check(int code, const char* operation) {
  if (code != MPI_SUCCESS) throw exchange::ExchangeError(std::string(operation) + ": " + describe(code));
}

}  // namespace culprit::prof_mpi
