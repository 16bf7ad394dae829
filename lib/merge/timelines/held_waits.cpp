#include "merge/timelines/held_waits.hpp"

namespace culprit::merge {

namespace trace = measurement::trace;

const HeldWait* HeldWaits::ending_from(std::uint64_t ns) {
  try {
    while (wait_.end_ns < ns && records_ != nullptr) {
      if (!records_->next(record_)) {
        records_.reset();
      } else if (record_.kind == trace::RecordKind::thread_wait && record_.holder.known()) {
        wait_ = {.kind = static_cast<measurement::WaitKind>(record_.wait),
                 .begin_ns = record_.enter_ns,
                 .end_ns = record_.exit_ns,
                 .holder = record_.holder};
      }
    }
  } catch (const measurement::MeasurementError&) {
    records_.reset();  // who reads that thread's time line reports it
  }
  return wait_.end_ns >= ns && wait_.holder.known() ? &wait_ : nullptr;
}

}  // namespace culprit::merge
