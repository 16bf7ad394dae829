// Remote intervals: what delayers did whose time lines other ranks of the analysis have. Asked for some
// hundred at a time, once for all waits that one explains; answers hold the regions' times and the samples.
// While others answer, the answers to the last questions are gone through.
#include "waits/causes/asked_intervals.hpp"

#include <algorithm>

namespace culprit::waits {

std::uint32_t AskedIntervals::ask(int holder, const CauserIntervals::Key& key) {
  std::uint32_t& latest = latest_[key.hash() % kLatest];
  if (latest == kNone || asked_[latest].key != key) {
    latest = static_cast<std::uint32_t>(asked_.size());
    asked_.push_back({.key = key, .holder = holder});
  }
  ++asked_[latest].waits;
  return latest;
}

void AskedIntervals::send(exchange::Mail& mail) {
  if (asked_.empty()) return;
  std::uint32_t number = 0;
  for (const Asked& one : asked_) {
    mail.send(one.holder,
              AskedLetter{.interval = one.key, .waits = one.waits, .number = number++, .from = mail.here()});
  }
  asked_.clear();
  std::fill(latest_.begin(), latest_.end(), kNone);
}

void AskedIntervals::receive(const AnswerLetter& letter, std::span<const PieceTime> items) {
  if (letter.number >= answers_.size()) answers_.resize(letter.number + std::size_t{1});
  const std::span<const PieceTime> samples = items.subspan(letter.times);
  answers_[letter.number] = {.letter = letter,
                             .first_time = times_.size(),
                             .first_sample = samples_.size(),
                             .samples = samples.size()};
  for (const PieceTime& time : items.first(letter.times))
    times_.push_back({.piece = time.piece, .ns = time.ns});
  samples_.insert(samples_.end(), samples.begin(), samples.end());
}

CauserInterval AskedIntervals::operator[](std::uint32_t number) {
  const Answer& answer = answers_[number];
  return {.times = std::span(times_).subspan(answer.first_time, answer.letter.times),
          .samples = std::span(samples_).subspan(answer.first_sample, answer.samples),
          .waits = answer.letter.waits,
          .waits_ns = answer.letter.waits_ns,
          .met_piece = answer.letter.met_piece};
}

void AskedIntervals::forget() {
  answers_.clear();
  times_.clear();
  samples_.clear();
}

}  // namespace culprit::waits
