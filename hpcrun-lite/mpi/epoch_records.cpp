#include "mpi/epoch_records.hpp"

#include "mpi/transfer_stamps.hpp"

namespace culprit::mpi {

std::uint64_t EpochRecords::end(Kind kind, std::uint64_t peers, std::uint32_t size_class) {
  const std::uint64_t exited = occurrence_.left();
  // What a wait here is called depends on no other process's epochs: libraries that lock and flush many
  // windows from many places would use up the accumulators.
  const bool alone = kind == kAccess || kind == kLock || kind == kFlush;
  record_[records_++] = {.kind = kind,
                         .size_class = size_class,
                         .window = alone ? 0 : window_,
                         .peers = alone ? 0 : peers,
                         .time_ns = exited - entered_};
  for (std::size_t i = 0; i < stamps_; ++i) stamp_[i].exit_ns = exited;
  keep();
  return exited;
}

void EpochRecords::keep() {
  if (culprit_rt_thread.state == nullptr) return;
  stamp_level.raise_to(culprit_rt_count_epochs(record_, records_, stamp_, stamps_, occurrence_.path()));
}

void EpochRecords::add_stamp(Kind kind, std::uint32_t instance, std::uint32_t members, int peer,
                             std::uint64_t last) {
  if (window_ == 0 || stamps_ == kMaxTargets + 1) return;
  const std::uint64_t order = order_of(window_, instance);
  if (!stamp_level.keeps(order)) return;
  stamp_[stamps_++] = {.kind = kind,
                       .instance = instance,
                       .members = members,
                       .peer = static_cast<std::uint32_t>(peer),
                       .window = window_,
                       .order = order,
                       .enter_ns = entered_,
                       .exit_ns = entered_,
                       .last_ns = last};
}

void EpochRecords::add_gap(Kind kind, std::uint64_t target, std::uint64_t since) {
  record_[records_++] = {.kind = kind,
                         .size_class = 0,
                         .window = window_,
                         .peers = target,
                         .time_ns = entered_ > since ? entered_ - since : 0};
}

void EpochRecords::add_release(Kind kind, const Release& release) {
  record_[records_++] = {.kind = kind,
                         .size_class = 0,
                         .window = 0,
                         .peers = static_cast<std::uint64_t>(release.by) + 1,
                         .time_ns = release.at_ns - entered_};
}

}  // namespace culprit::mpi
