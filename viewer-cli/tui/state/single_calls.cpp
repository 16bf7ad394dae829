// Reads single MPI calls for the map of time, on a thread of its own: the measurement's time lines are read
// and matched anew once, then replayed rank by rank (merge/replay.hpp) for the part that is looked at, with
// as much time on both sides. A newer wish interrupts the reading between two ranks. The stretches kept are
// bounded by what can be drawn at once.
#include "tui/state/single_calls.hpp"

#include "export/time_lines.hpp"
#include "merge/replay.hpp"
#include "metrics/wait_pattern.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <utility>

namespace culprit::viewer::tui {
namespace {

using measurement::trace::Operation;
using measurement::trace::OperationKind;

constexpr std::size_t kMostKept = 400'000;  // a key has 50 ms to draw them
constexpr std::chrono::milliseconds kPatience{20};

bool is_receive(OperationKind kind) {
  return kind == OperationKind::receive || kind == OperationKind::receive_matched;
}

bool is_message(OperationKind kind) {
  return is_receive(kind) || kind == OperationKind::send || kind == OperationKind::send_synchronous ||
         kind == OperationKind::send_buffered;
}

/// A time line as stretches, one behind the other, and what arrived there, within a part of the run.
class Collector final : public merge::LineEvents {
 public:
  /// Adds to `read` a line of at most `most` stretches and arrivals.
  Collector(merge::Replay& replay, std::size_t line, std::uint64_t origin_ns, std::size_t most,
            CallsRead& read)
      : replay_(replay),
        line_(line),
        origin_(origin_ns),
        most_(most),
        wanted_(read.of),
        stretches_(read.lines.emplace_back()),
        arrivals_(read.arrivals.emplace_back()) {}

  /// Whether there were more than may be kept.
  [[nodiscard]] bool cut() const { return cut_; }

  void enter(std::uint64_t ns, database::ContextId frame) override {
    end_stretch(ns);
    scopes_.push_back(frame);
  }
  void leave(std::uint64_t ns, database::ContextId /*frame*/) override {
    end_stretch(ns);
    if (!scopes_.empty()) scopes_.pop_back();
  }
  void enter_call(std::uint64_t ns, const merge::LineCall& call,
                  std::span<const std::uint64_t> /*arrows*/) override {
    end_stretch(ns);
    calls_.push_back({.context = call.context, .call = true});
  }
  void leave_call(std::uint64_t ns, const merge::LineCall& call) override {
    if (calls_.empty()) return;
    add_wait(calls_.back(), call);
    end_stretch(ns);
    calls_.pop_back();
  }
  void begin_wait(std::uint64_t /*ns*/, const merge::LineWait& wait) override {
    if (!wait.continued && metrics::is_whole_wait(wait.pattern)) wait_ = wait;
  }
  void end_wait(std::uint64_t /*ns*/, const merge::LineWait& /*wait*/) override {}
  void begin_operations(std::uint64_t /*ns*/, const merge::LineCall& /*call*/,
                        std::span<const Operation> operations) override {
    for (const Operation& operation : operations) {
      if (!is_receive(operation.kind)) add(operation);  // what arrives is known where it is complete
    }
  }
  void complete_operations(std::uint64_t ns, const merge::LineCall& /*call*/,
                           std::span<const Operation> operations) override {
    for (const Operation& operation : operations) {
      if (!is_receive(operation.kind) || operation.cancelled) continue;
      add(operation);
      arrive(ns, rank_of(operation));
    }
  }

 private:
  /// Ends what the rank has been doing.
  void end_stretch(std::uint64_t ns) {
    const std::uint64_t now = ns > origin_ ? ns - origin_ : 0;
    const std::uint64_t begin = std::exchange(last_, std::max(now, last_));
    if (now <= begin || now <= wanted_.begin_ns || begin >= wanted_.end_ns) return;
    if (is_full()) return;
    Stretch next = calls_.empty() ? Stretch{} : calls_.back();
    if (calls_.empty() && !scopes_.empty()) next.context = scopes_.back();
    next.begin_ns = begin;
    next.end_ns = now;
    stretches_.push_back(next);
  }

  /// Whether no more are kept.
  bool is_full() {
    const bool full = stretches_.size() + arrivals_.size() >= most_;
    cut_ = cut_ || full;
    return full;
  }

  void arrive(std::uint64_t ns, std::int32_t from) {
    const std::uint64_t since = ns > origin_ ? ns - origin_ : 0;
    if (from < 0 || since < wanted_.begin_ns || since >= wanted_.end_ns || is_full()) return;
    arrivals_.push_back({since, from});
  }

  void add(const Operation& operation) {
    if (calls_.empty() || operation.kind == OperationKind::iteration) return;
    Stretch& call = calls_.back();
    call.bytes += operation.bytes + operation.bytes_received;
    if (!is_message(operation.kind)) return;
    const std::int32_t partner = rank_of(operation);
    call.partner = call.messages == 0 || call.partner == partner ? partner : -1;
    ++call.messages;
  }

  /// In MPI_COMM_WORLD; -1: not known.
  [[nodiscard]] std::int32_t rank_of(const Operation& operation) const {
    const std::optional<std::size_t> group = replay_.group_of(line_, operation.context);
    if (!group || operation.peer < 0) return -1;
    const merge::MessageGroup& members = replay_.groups()[*group];
    const bool inter = members.kind == measurement::trace::DefinitionKind::intercommunicator;
    const std::vector<std::int32_t>& ranks = inter ? members.remote : members.members;
    const auto peer = static_cast<std::size_t>(operation.peer);
    return peer < ranks.size() ? ranks[peer] : -1;
  }

  /// The call's own wait, if the last one was. A message ends a late sender's.
  void add_wait(Stretch& stretch, const merge::LineCall& call) {
    if (!wait_ || wait_->begin_ns < call.enter_ns || wait_->end_ns > call.exit_ns) return;
    stretch.pattern = wait_->pattern;
    stretch.waited_ns = wait_->end_ns - wait_->begin_ns;
    stretch.waited_until_ns = wait_->end_ns > origin_ ? wait_->end_ns - origin_ : 0;
    if (wait_->cause != database::kNone) stretch.waited_for = replay_.lines()[wait_->cause].rank;
    if (wait_->pattern != database::WaitPattern::late_sender) arrive(wait_->end_ns, stretch.waited_for);
  }

  merge::Replay& replay_;
  std::size_t line_;
  std::uint64_t origin_;
  std::size_t most_;
  const CallsWanted& wanted_;
  std::vector<Stretch>& stretches_;
  std::vector<Arrival>& arrivals_;
  std::vector<database::ContextId> scopes_;
  std::vector<Stretch> calls_;  // each within the one before: a series of polls has others within
  std::optional<merge::LineWait> wait_;
  std::uint64_t last_ = 0;
  bool cut_ = false;
};

/// The first time line of a rank, which the time map shows; the number of lines where there is none.
std::size_t line_of(const merge::Replay& replay, std::int32_t rank) {
  const auto found = std::ranges::find(replay.lines(), rank, &merge::ReplayedLine::rank);
  return static_cast<std::size_t>(found - replay.lines().begin());
}

}  // namespace

bool CallsWanted::covers(const CallsWanted& other) const {
  return begin_ns <= other.begin_ns && end_ns >= other.end_ns &&
         std::ranges::all_of(
             other.ranks, [&](std::int32_t rank) { return std::ranges::find(ranks, rank) != ranks.end(); });
}

SingleCalls::SingleCalls(const views::Source& source, std::string database) {
  // Signals are the terminal's thread's business.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  thread_ = std::thread([this, &source, path = std::move(database)] { run(source, path); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

SingleCalls::~SingleCalls() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool SingleCalls::want(const CallsWanted& wanted) {
  {
    const std::scoped_lock lock(mutex_);
    if (!failure_.empty()) return false;
    if (wanted_ && wanted_->serves(wanted)) return true;
    wanted_.reset();
    if (begun_ && begun_->serves(wanted)) return true;
    if (read_ && read_->serves(wanted)) return false;
    const std::uint64_t length = wanted.end_ns - wanted.begin_ns;
    // Where the last were too many, no more than is seen.
    const std::uint64_t beside = read_ && read_->cut ? 0 : length;
    wanted_ = CallsRead{.asked = wanted,
                        .of = {.ranks = wanted.ranks,
                               .begin_ns = wanted.begin_ns - std::min(beside, wanted.begin_ns),
                               .end_ns = wanted.end_ns + beside},

                        .lines = {},
                        .arrivals = {},
                        .cut = false};
  }
  changed_.notify_all();
  return true;
}

std::shared_ptr<const CallsRead> SingleCalls::read() const {
  const std::scoped_lock lock(mutex_);
  return read_;
}

bool SingleCalls::reading() const {
  std::unique_lock lock(mutex_);
  const auto done = [this] { return !failure_.empty() || (!wanted_ && !begun_); };
  return !changed_.wait_for(lock, kPatience, done);
}

std::string SingleCalls::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

std::optional<CallsRead> SingleCalls::next() {
  std::unique_lock lock(mutex_);
  begun_.reset();
  changed_.notify_all();
  changed_.wait(lock, [this] { return ending_ || wanted_; });
  if (ending_) return std::nullopt;
  begun_ = std::exchange(wanted_, std::nullopt);
  return begun_;
}

bool SingleCalls::superseded() const {
  const std::scoped_lock lock(mutex_);
  return ending_ || wanted_;
}

void SingleCalls::run(const views::Source& source, const std::string& database) {
  std::string why;
  try {
    const TimeLineRequest request{
        .given = database, .purpose = "single calls", .directory = {}, .on_screen = true};
    with_time_lines(source, request, [&](const RunLines& lines) {
      while (std::optional<CallsRead> wanted = next()) {
        const auto read = std::make_shared<CallsRead>(*std::move(wanted));
        if (!read_lines(lines, *read)) continue;
        const std::scoped_lock lock(mutex_);
        read_ = read;
      }
    });
  } catch (const std::exception& error) {
    why = error.what();
  }
  const std::scoped_lock lock(mutex_);
  failure_ = why.empty() ? "single calls: they cannot be read any more" : why;
  changed_.notify_all();
}

bool SingleCalls::read_lines(const RunLines& lines, CallsRead& read) const {
  const std::uint64_t origin = lines.experiment().trace().time_map.begin_ns;
  std::size_t left = kMostKept;
  for (const std::int32_t rank : read.of.ranks) {
    if (superseded()) return false;
    const std::size_t line = line_of(lines.replay(), rank);
    Collector collector(lines.replay(), line, origin, left, read);
    if (line == lines.replay().lines().size()) continue;
    lines.run(line, collector);
    left -= std::min(left, read.lines.back().size() + read.arrivals.back().size());
    read.cut = read.cut || collector.cut();
  }
  return true;
}

}  // namespace culprit::viewer::tui
