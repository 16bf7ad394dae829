#include "waits/compared_line.hpp"

namespace culprit::waits {

ComparedLine::ComparedLine(const TimeLine& line, const Contexts& contexts, const Roster& roster)
    : line_(&line), wait_of_(wait_by_call(line)), starts_(interval_starts(line, contexts, roster)) {
  for (const Attendance& attended : line.attendances) {
    attended_[{attended.context, attended.instance}] = attended.event;
  }
}

std::vector<PieceTime> ComparedLine::before_wait(std::size_t wait) const {
  return between(starts_[wait].own, line_->waits[wait].event);
}

std::uint32_t ComparedLine::begins_after(const IntervalStart& start) const {
  if (start.context == 0) return start.other;
  const auto attended = attended_.find({start.context, start.instance});
  return attended == attended_.end() ? IntervalStart::kBeginning : attended->second;
}

}  // namespace culprit::waits
