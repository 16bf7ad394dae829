// Brings one time line into the order of time, for exports (docs/algorithms.md 19). A trace has records by
// their ends: a call behind the samples within it, and a series of polls behind the calls between its polls.
// Three things have to be found out:
//  - which calls lie within series of polls: calls nest, so going backwards, the series that are still open
//    are a stack; each is noted with the first call within it, and the notes are read from the last one on;
//  - what code ran between two calls: a sample's path in the time that the sample stands for; elsewhere the
//    scopes that the paths before and after have in common;
//  - how waits nest with calls: a wait is divided where a call begins within it, a call never.
// Cost: linear in records and in the frames that change; memory for the open calls of one moment.
#include "merge/timelines/line_replay.hpp"

#include "merge/timelines/time_line_scopes.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace culprit::merge {

using database::ContextId;
using database::ContextKind;
using database::kNone;
using measurement::trace::Operation;
using measurement::trace::OperationKind;
using measurement::trace::Record;
using measurement::trace::RecordKind;

namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

bool is_frame(ContextKind kind) {
  switch (kind) {
    case ContextKind::partial:
    case ContextKind::procedure:
    case ContextKind::inlined:
    case ContextKind::loop:
    case ContextKind::region:
      return true;
    default:
      return false;
  }
}

/// Whether the `index`-th call of a line has other calls of it within.
bool is_container(const waits::TimeLine& line, std::uint32_t index, const waits::Event& event) {
  return index > 0 && event.enter_ns < line.events[index - 1].exit_ns;
}

}  // namespace

// ---- the tree

FrameTree::FrameTree(const Shape& shape) {
  const std::size_t count = shape.contexts.size();
  parent_.resize(count, kNone);
  frame_.resize(count, kNone);
  around_.resize(count, kNone);
  call_.resize(count, 0);
  end_.resize(count, 0);
  for (ContextId x = 0; x < count; ++x) {
    const Shape::Scope& scope = shape.contexts[x];
    parent_[x] = scope.parent;
    call_[x] = call_scope(shape, x);
    around_[x] = scope.parent == kNone ? kNone : frame_[scope.parent];
    frame_[x] = is_frame(scope.kind) ? x : around_[x];
    end_[x] = x + 1;
  }
  for (auto x = static_cast<ContextId>(count); x-- > 0;) {
    if (parent_[x] != kNone) end_[parent_[x]] = std::max(end_[parent_[x]], end_[x]);
  }
}

ContextId FrameTree::around_both(ContextId a, ContextId b) const {
  while (a != b) (a > b ? a : b) = parent_[std::max(a, b)];  // parents come before their children
  return a;
}

// ---- arrows

Arrows::Arrows(waits::TraceStore& store) : store_(store) {
  std::uint64_t before = 0;
  for (const waits::TimeLine& line : store.lines()) {
    first_.push_back(before + 1);
    before += line.waits.size();
    starts_.emplace_back(store.spill());
  }
  for (std::size_t line = 0; line < store.lines().size(); ++line) {
    const storage::Sequence<waits::Wait>& waits = store.lines()[line].waits;
    for (std::size_t i = 0; i < waits.size(); ++i) {
      const waits::Wait wait = waits[i];
      const std::uint64_t arrow = of(line, i, wait);
      if (arrow == 0) continue;
      starts_[store.index_of(wait.cause.location)].add(
          {.event = wait.cause.index, .unused = 0, .arrow = arrow});
    }
  }
}

std::uint64_t Arrows::of(std::size_t line, std::size_t wait, const waits::Wait& what) const {
  if (!metrics::is_whole_wait(what.pattern) || !what.cause.known()) return 0;
  const waits::TimeLine& cause = store_.line(what.cause.location);
  if (what.cause.index >= cause.events.size()) return 0;
  const waits::Event event = cause.events[what.cause.index];
  if (event.enter_ns > what.until_ns || is_container(cause, what.cause.index, event)) return 0;
  return first_[line] + wait;
}

// ---- one line

LineReplay::LineReplay(const FrameTree& frames, waits::TraceStore& store, std::size_t line, Arrows* arrows)
    : frames_(frames),
      store_(store),
      number_(line),
      line_(store.lines()[line]),
      arrows_(arrows),
      containers_(store.spill()) {}

void LineReplay::run(waits::ProcessTrace& process, std::size_t thread, LineEvents& events) {
  events_ = &events;
  find_containers();
  if (!line_.events.empty()) next_ = line_.events[0];
  Record record;
  while (process.next(thread, record)) take(record);
  end();
  line_.thread_waits.for_each([&events](const waits::ThreadWait& wait) {
    events.thread_wait(wait.begin_ns, wait.end_ns, wait.pattern);
  });
}

void LineReplay::find_containers() {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> open;  // when entered, and which
  const auto close = [&](std::uint64_t exit_ns, std::uint32_t first) {
    for (; !open.empty() && open.back().first >= exit_ns; open.pop_back())
      containers_.push_back({.call = open.back().second, .first = first});
  };
  std::uint64_t later_enter_ns = 0;
  for (auto index = static_cast<std::uint32_t>(line_.events.size()); index-- > 0;) {
    const waits::Event event = line_.events[index];
    if (index + 1 < line_.events.size() && later_enter_ns < event.exit_ns)
      open.emplace_back(later_enter_ns, index + 1);
    close(event.exit_ns, index + 1);
    later_enter_ns = event.enter_ns;
  }
  close(0, 0);
}

/// Time never goes back, whatever a trace says.
std::uint64_t LineReplay::at(std::uint64_t ns) {
  now_ = std::max(now_.value_or(0), ns);
  return *now_;
}

void LineReplay::take(const Record& record) {
  if (record.kind == RecordKind::sample) {
    take_sample(record);
  } else if (record.kind == RecordKind::call) {
    take_call(record);
  }
}

void LineReplay::take_sample(const Record& record) {
  open_containers(record.exit_ns);
  const bool in_call = !open_.empty() || (next_ && record.exit_ns >= next_->enter_ns);
  if (!in_call) {
    move_to(record.enter_ns, frames_.call_of(record.node));
    known_ = std::max(*known_, at(record.exit_ns));
  } else if (!open_.empty()) {
    pass(record.exit_ns);
  }
  events_->sample(in_call ? record.exit_ns : *now_,
                  record.exit_ns - std::min(record.enter_ns, record.exit_ns), record.node);
}

void LineReplay::take_call(const Record& record) {
  waits::Event event = next_.value_or(waits::Event{});
  if (!next_) {  // no call that was analysed
    event.enter_ns = record.enter_ns;
    event.exit_ns = record.exit_ns;
    event.context = record.node;
  }
  open_containers(record.exit_ns);
  const bool container = !open_.empty() && open_.back().container && open_.back().call.index == index_;
  const bool mark =
      !record.operations.empty() && record.operations.front().kind == OperationKind::iteration && !container;
  if (mark) {
    for (const Operation& operation : record.operations)
      events_->iteration(std::max(now_.value_or(0), record.enter_ns), operation.bytes);
  } else {
    if (!container) {
      open_call(index_, event, false);
      events_->begin_operations(*now_, open_.back().call, record.operations);
    }
    pass(record.exit_ns);
    const std::uint64_t ns = at(record.exit_ns);
    if (container) events_->begin_operations(ns, open_.back().call, record.operations);
    events_->complete_operations(ns, open_.back().call, record.operations);
    close_call(ns);
  }
  ++index_;
  next_.reset();
  if (index_ < line_.events.size()) next_ = line_.events[index_];
}

/// The series of polls that begin up to then.
void LineReplay::open_containers(std::uint64_t until) {
  while (!containers_.empty()) {
    const Container container = containers_.back();
    if (container.first > index_) return;
    const waits::Event event = line_.events[container.call];
    if (event.enter_ns > until) return;
    containers_.pop_back();
    open_call(container.call, event, true);
  }
}

void LineReplay::open_call(std::uint32_t index, const waits::Event& event, bool container) {
  const ContextId context = frames_.call_of(event.context);
  if (open_.empty()) {
    const ContextId caller = frames_.parent(context);
    move_to(event.enter_ns, caller == kNone ? context : caller);
  } else {
    pass(event.enter_ns);
  }
  const std::uint64_t ns = at(event.enter_ns);
  const std::size_t around = open_.empty() ? 0 : open_.back().waits_around;
  std::vector<LineWait> divided = suspend_waits(ns, around, event.exit_ns);
  arrows_of_call_.clear();
  if (!container) take_arrows(index);
  open_.push_back(
      {.call = {.index = index, .context = context, .enter_ns = event.enter_ns, .exit_ns = event.exit_ns},
       .container = container,
       .waits_around = waits_.size()});
  events_->enter_call(ns, open_.back().call, arrows_of_call_);
  resume_waits(ns, std::move(divided));
  if (index < line_.events.size()) add_waits(index, event);
  pass(ns);
}

/// The innermost one.
void LineReplay::close_call(std::uint64_t ns) {
  std::vector<LineWait> divided = suspend_waits(ns, open_.back().waits_around, kNever);
  events_->leave_call(ns, open_.back().call);
  current_ = frames_.parent(open_.back().call.context);
  if (current_ == kNone) current_ = open_.back().call.context;
  open_.pop_back();
  known_ = ns;
  if (open_.empty()) {
    pending_.clear();
    return;
  }
  // Some began within the call and last longer than those around it.
  for (LineWait& wait : divided) {
    if (wait.end_ns <= ns) continue;
    wait.continued = true;
    begin_wait(ns, wait);
  }
  pass(ns);
}

void LineReplay::end() {
  while (!open_.empty()) close_call(at(now_.value_or(0)));
  for (; !shown_.empty(); shown_.pop_back()) events_->leave(*now_, shown_.back());
}

// ---- code

/// The code is at `context` from `ns` on; what lies before, back to where it is known, is common to both.
void LineReplay::move_to(std::uint64_t ns, ContextId context) {
  if (known_ && *known_ < ns) show(at(*known_), frames_.around_both(current_, context));
  const std::uint64_t from = at(known_ ? std::max(*known_, ns) : ns);
  show(from, context);
  known_ = from;
  current_ = context;
}

void LineReplay::show(std::uint64_t ns, ContextId context) {
  const ContextId frame = frames_.frame_of(context);
  while (!shown_.empty() && (frame == kNone || !frames_.holds(shown_.back(), frame))) {
    events_->leave(ns, shown_.back());
    shown_.pop_back();
  }
  const ContextId outer = shown_.empty() ? kNone : shown_.back();
  const std::size_t before = shown_.size();
  for (ContextId x = frame; x != outer; x = frames_.around(x)) shown_.push_back(x);
  std::reverse(shown_.begin() + static_cast<std::ptrdiff_t>(before), shown_.end());
  for (std::size_t i = before; i < shown_.size(); ++i) events_->enter(ns, shown_[i]);
}

// ---- waits

void LineReplay::add_waits(std::uint32_t call, const waits::Event& event) {
  const std::size_t last = call + 1 < line_.events.size() ? line_.events[call + 1].waits : line_.waits.size();
  for (std::size_t i = event.waits; i < std::min<std::size_t>(last, line_.waits.size()); ++i) {
    const waits::Wait wait = line_.waits[i];
    pending_.push_back({.pattern = wait.pattern,
                        .context = frames_.call_of(wait.context),
                        .cause = wait.cause.known() ? store_.index_of(wait.cause.location) : kNone,
                        .cause_context = frames_.call_of(wait.cause_context),
                        .arrow = arrows_ == nullptr ? 0 : arrows_->of(number_, i, wait),
                        .begin_ns = wait.until_ns - std::min(wait.ns, wait.until_ns),
                        .end_ns = wait.until_ns,
                        .continued = false});
  }
  if (pending_.size() < 2) return;
  // The first to begin is last; of several that begin together the longest, and a wait before its parts,
  // whose patterns have higher numbers.
  std::ranges::sort(pending_, [](const LineWait& a, const LineWait& b) {
    return std::tuple(b.begin_ns, a.end_ns, b.pattern) < std::tuple(a.begin_ns, b.end_ns, a.pattern);
  });
}

/// Waits of open calls that begin or end up to then.
void LineReplay::pass(std::uint64_t until) {
  while (!open_.empty()) {
    const bool any = waits_.size() > open_.back().waits_around;
    const std::uint64_t end_ns = any ? waits_.back().end_ns : kNever;
    const std::uint64_t begin_ns = pending_.empty() ? kNever : pending_.back().begin_ns;
    if (std::min(end_ns, begin_ns) > until || (!any && pending_.empty())) return;
    if (any && end_ns <= begin_ns) {
      end_wait(at(end_ns));
    } else {
      const LineWait wait = pending_.back();
      pending_.pop_back();
      begin_wait(at(begin_ns), wait);
    }
  }
}

/// Waits that end before it are begun again within it.
void LineReplay::begin_wait(std::uint64_t ns, LineWait wait) {
  std::vector<LineWait> within = suspend_waits(ns, open_.back().waits_around, wait.end_ns);
  events_->begin_wait(ns, wait);
  waits_.push_back(wait);
  resume_waits(ns, std::move(within));
}

void LineReplay::end_wait(std::uint64_t ns) {
  const LineWait wait = waits_.back();
  waits_.pop_back();
  events_->end_wait(ns, wait);
}

/// Ends those that would end before `until`, but for the first `keep`; the one that was begun last comes
/// last.
std::vector<LineWait> LineReplay::suspend_waits(std::uint64_t ns, std::size_t keep, std::uint64_t until) {
  std::vector<LineWait> ended;
  while (waits_.size() > keep && waits_.back().end_ns < until) {
    ended.push_back(waits_.back());
    end_wait(ns);
  }
  std::reverse(ended.begin(), ended.end());
  return ended;
}

void LineReplay::resume_waits(std::uint64_t ns, std::vector<LineWait> waits) {
  for (LineWait& wait : waits) {
    if (wait.end_ns <= ns) continue;
    wait.continued = true;
    events_->begin_wait(ns, wait);
    waits_.push_back(wait);
  }
}

/// Calls are asked for in their order.
void LineReplay::take_arrows(std::uint32_t call) {
  if (arrows_ == nullptr) return;
  waits::ByCall<ArrowStart>& starts = arrows_->starts(number_);
  const std::size_t part = call / line_.calls_sorted_together;
  while (next_part_ <= part) {
    starts.take(next_part_++, starts_,
                [](const ArrowStart& a, const ArrowStart& b) { return a.arrow < b.arrow; });
    next_start_ = 0;
  }
  while (next_start_ < starts_.size() && starts_[next_start_].event < call) ++next_start_;
  for (; next_start_ < starts_.size() && starts_[next_start_].event == call; ++next_start_)
    arrows_of_call_.push_back(starts_[next_start_].arrow);
}

}  // namespace culprit::merge
