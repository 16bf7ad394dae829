#pragma once

#include "exchange/communicator.hpp"
#include "files/at_death.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace culprit::merge {

/// Collective: runs `work`, which must not communicate, on every rank. If it threw on any, throws
/// std::runtime_error with the message of the lowest such rank on every rank, so that no rank waits for one
/// that gave up.
void collectively(exchange::Communicator& comm, const std::function<void()>& work);

/// Collective: every rank gets what rank 0 makes for it, one message after the other, so that rank 0 holds no
/// more than one. Throws as collectively() does where `make` throws.
exchange::Bytes scatter(exchange::Communicator& comm, const std::function<exchange::Bytes(int rank)>& make);

/// Collective: all ranks' lines on rank 0, in rank order; the others get nothing.
std::vector<std::string> gather_lines(exchange::Communicator& comm, const std::vector<std::string>& lines);

/// Called now and then on rank 0: phase, and done of total in it.
using Progress = std::function<void(const char* phase, std::uint64_t done, std::uint64_t total)>;

/// Counts the steps of one phase and informs rank 0's observer. The total is rank 0's share.
class Phase {
 public:
  /// `progress` must outlive this.
  Phase(const exchange::Communicator& comm, const Progress& progress, const char* name, std::uint64_t total)
      : before_(std::exchange(current, name)),
        progress_(comm.rank() == 0 && progress ? &progress : nullptr),
        name_(name),
        total_(total) {
    if (progress_ != nullptr) (*progress_)(name_, 0, total_);
  }

  ~Phase() { current = before_; }
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;

  /// What this rank is at, for messages.
  static const char* now() { return current; }

  void step() {
    ++done_;
    if (progress_ != nullptr) (*progress_)(name_, std::min(done_, total_), total_);
  }

 private:
  static constinit inline thread_local const char* current = "start";

  const char* before_;
  const Progress* progress_;
  const char* name_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
};

/// The line for std::bad_alloc.
inline std::string out_of_memory() {
  return std::string("merge: ") + Phase::now() + ": " + files::kOutOfMemory;
}

/// Why a phase failed, in one line.
inline std::string reason_of(const std::exception& error) {
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ? out_of_memory() : error.what();
}

}  // namespace culprit::merge
