#include "waits/timeline/context_times.hpp"

namespace culprit::waits {

void ContextTimes::add(const TimeLine& line, const LineTimes& times, const Pieces& pieces) {
  line.samples.go_through([this](const Sample& sample) { add(sample.context, sample.ns); });
  for (const std::uint32_t number : times.found()) {
    const Piece& piece = pieces[number];
    if (piece.next == Piece::kCall) add(piece.previous, times.of(number));
  }
  if (!line.events.empty()) add(times.last_call_context(), times.last_call_ns());
}

}  // namespace culprit::waits
