#pragma once

#include <cstdint>

namespace culprit::mpi {

/// MPI_Init or MPI_Finalize in the time line, from its construction at the call's enter on.
class TracedLifetime {
 public:
  TracedLifetime();
  /// At the end of MPI_Init, after join_world(): from now on calls are followed, if there is a trace.
  void began() const;
  /// In MPI_Finalize, while MPI still works.
  void ends() const;
  /// At its end.
  void ended() const;

 private:
  std::uint64_t entered_;
};

}  // namespace culprit::mpi
