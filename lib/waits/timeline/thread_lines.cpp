// Makes time lines as ranks have them of the threads of one process without MPI (docs/algorithms.md 12.2,
// ours): what holds of ranks that wait for each other then holds of threads. Records say when each thread
// waited, not for whom. That is concluded: threads whose waits ended together were released by the one that
// came last, or that worked then. They and it take part in a barrier, for which all but the last wait. Cost:
// all records are read once more; each wait takes a binary search for each thread, and some 100 bytes.
#include "waits/timeline/thread_lines.hpp"

#include "measurement/kinds.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

namespace culprit::waits {
namespace {

namespace trace = measurement::trace;
using measurement::WaitKind;
using trace::Record;
using trace::RecordKind;

/// How long after the first of several threads another may go on that was released with it: what a thread
/// takes to wake up on a busy processor.
constexpr std::uint64_t kWakingNs = 1'000'000;
/// A thread's first wait, for the one that creates it: 1 ns, by which the critical path goes on there.
constexpr std::uint64_t kBirthNs = 2;
constexpr std::uint32_t kUnnamed = ~std::uint32_t{0};
/// Among a thread's definitions: itself alone. Groups follow.
constexpr trace::Context kAlone = 0;

bool is_for_threads(std::uint8_t wait) {
  const auto kind = static_cast<WaitKind>(wait);
  return kind != WaitKind::none && kind != WaitKind::mpi;
}

struct Interval {
  std::uint64_t begin_ns = 0, end_ns = 0;
};

/// A wait for threads, or a moment at which a thread released others.
struct ThreadCall {
  std::uint64_t enter_ns = 0, exit_ns = 0;
  std::uint32_t context = kUnnamed;
  WaitKind kind = WaitKind::none;
  trace::Context group = trace::kNoContext;  ///< among the thread's definitions; kNoContext: nobody knows
};

/// What one thread recorded, but for samples of its work.
struct Recorded {
  std::vector<ThreadCall> waits;                           // one after the other
  std::vector<Record> regions;                             // parallel ones
  std::uint64_t begin_ns = ~std::uint64_t{0}, end_ns = 0;  // of what it did, its last wait left out
  bool in_teams = false;                                   // of OpenMP

  void add(const Record& record);
  void name_waits();
  /// The first wait that ends at this time or later; waits.size(): there is none.
  [[nodiscard]] std::size_t wait_at(std::uint64_t ns) const {
    const auto found = std::ranges::lower_bound(waits, ns, {}, &ThreadCall::exit_ns);
    return static_cast<std::size_t>(found - waits.begin());
  }

 private:
  void add_wait(const Record& record);

  struct Seen {
    std::uint64_t ns = 0;
    std::uint32_t context = 0;
  };
  std::optional<Seen> waiting_;  // the last sample of a wait
};

void Recorded::add(const Record& record) {
  if (record.kind == RecordKind::short_waits) return;
  const bool sample = record.kind == RecordKind::sample;
  begin_ns = std::min(begin_ns, record.enter_ns);
  if (sample && is_for_threads(record.wait)) {
    waiting_ = {record.exit_ns, record.node};
    return;
  }
  end_ns = std::max(end_ns, record.exit_ns);
  if (record.kind == RecordKind::parallel_region) regions.push_back(record);
  if (record.kind == RecordKind::thread_wait) add_wait(record);
}

void Recorded::add_wait(const Record& record) {
  const std::uint64_t begin = std::max(record.enter_ns, waits.empty() ? 0 : waits.back().exit_ns);
  if (begin >= record.exit_ns) return;
  ThreadCall wait{.enter_ns = begin, .exit_ns = record.exit_ns, .kind = static_cast<WaitKind>(record.wait)};
  in_teams = in_teams || wait.kind == WaitKind::omp_barrier || wait.kind == WaitKind::omp_idle;
  if (waiting_ && waiting_->ns >= begin) wait.context = waiting_->context;
  waits.push_back(wait);
}

/// Waits that no sample met: as those of their kind before them, or behind.
void Recorded::name_waits() {
  std::array<std::uint32_t, measurement::kWaitKinds> last{};
  last.fill(kUnnamed);
  const auto pass = [&last](ThreadCall& wait) {
    std::uint32_t& context = last.at(static_cast<std::size_t>(wait.kind));
    if (wait.context == kUnnamed) wait.context = context;
    context = wait.context;
  };
  std::ranges::for_each(waits, pass);
  std::for_each(waits.rbegin(), waits.rend(), pass);
  for (ThreadCall& wait : waits) wait.context = wait.context == kUnnamed ? 0 : wait.context;
}

/// Which wait of which thread.
struct WaitId {
  std::uint32_t thread = 0, wait = 0;
};

/// What is known of a thread that may have released others at some time.
struct Releaser {
  std::uint32_t thread = 0;
  bool waits = false;          ///< it had begun to wait,
  std::uint64_t came_ns = 0;   ///< then; else the time itself
  std::uint64_t since_ns = 0;  ///< it had worked since its wait before
};

/// Later before earlier; of those that work the one that has for longest.
bool is_likelier(const Releaser& a, const Releaser& b) {
  return std::tuple(b.came_ns, a.since_ns, a.thread) < std::tuple(a.came_ns, b.since_ns, b.thread);
}

/// Finds who released whom, and gives each thread its calls.
class Releases {
 public:
  explicit Releases(std::vector<Recorded>& threads)
      : threads_(threads), calls_(threads.size()), definitions_(threads.size()), groups_of_(threads.size()) {
    for (std::uint32_t thread = 0; thread < threads.size(); ++thread) define(thread, {thread});
  }

  void find();
  std::vector<ThreadCall> take_calls(std::uint32_t thread) { return std::move(calls_[thread]); }
  std::vector<trace::Definition> take_definitions(std::uint32_t thread) {
    return std::move(definitions_[thread]);
  }

 private:
  using Members = std::vector<std::uint32_t>;

  void define(std::uint32_t thread, const Members& members);
  void release(std::uint32_t by, std::uint64_t ns, std::uint32_t context, std::span<const WaitId> waits);
  void find_births();
  void find_starts();
  void find_barriers(WaitKind kind);
  void close_barrier(std::span<const WaitId> waits, WaitKind kind);
  void find_ends();
  [[nodiscard]] std::optional<Releaser> at(std::uint32_t thread, std::uint64_t ns, bool of_team) const;
  [[nodiscard]] std::vector<WaitId> waits_of(WaitKind kind) const;
  ThreadCall& wait(WaitId id) { return threads_[id.thread].waits[id.wait]; }

  std::vector<Recorded>& threads_;
  std::vector<std::vector<ThreadCall>> calls_;               // by thread: its releases, then its waits
  std::vector<std::vector<trace::Definition>> definitions_;  // by thread
  std::vector<std::map<Members, trace::Context>> groups_of_;
  std::map<Members, std::uint64_t> global_ids_;
};

void Releases::define(std::uint32_t thread, const Members& members) {
  std::vector<trace::Definition>& all = definitions_[thread];
  const auto [group, added] =
      groups_of_[thread].try_emplace(members, static_cast<trace::Context>(all.size()));
  if (!added) return;
  const std::uint64_t id = global_ids_.try_emplace(members, global_ids_.size() + 1).first->second;
  const auto rank = std::ranges::lower_bound(members, thread) - members.begin();
  trace::Definition& definition = all.emplace_back();
  definition.global_id = id;
  definition.size = static_cast<std::uint32_t>(members.size());
  definition.rank = static_cast<std::int32_t>(rank);
  if (rank == 0) definition.members.assign(members.begin(), members.end());
}

/// What of the calls of a thread comes first.
bool comes_before(const ThreadCall& a, const ThreadCall& b) {
  return std::tuple(a.exit_ns, a.enter_ns) < std::tuple(b.exit_ns, b.enter_ns);
}

void Releases::release(std::uint32_t by, std::uint64_t ns, std::uint32_t context,
                       std::span<const WaitId> waits) {
  Members members{by};
  for (const WaitId id : waits) members.push_back(id.thread);
  std::ranges::sort(members);
  for (const std::uint32_t member : members) define(member, members);
  for (const WaitId id : waits) wait(id).group = groups_of_[id.thread].at(members);
  calls_[by].push_back(
      {.enter_ns = ns, .exit_ns = ns, .context = context, .group = groups_of_[by].at(members)});
}

std::vector<WaitId> Releases::waits_of(WaitKind kind) const {
  std::vector<WaitId> ids;
  for (std::uint32_t thread = 0; thread < threads_.size(); ++thread) {
    for (std::uint32_t i = 0; i < threads_[thread].waits.size(); ++i) {
      if (threads_[thread].waits[i].kind == kind) ids.push_back({thread, i});
    }
  }
  std::ranges::stable_sort(ids, {}, [this](WaitId id) { return threads_[id.thread].waits[id.wait].exit_ns; });
  return ids;
}

/// Nothing where the thread had not begun, or had ended. `of_team`: OpenMP's threads end with the process,
/// but nobody knows when they began to idle for the last time.
std::optional<Releaser> Releases::at(std::uint32_t thread, std::uint64_t ns, bool of_team) const {
  const Recorded& recorded = threads_[thread];
  if (recorded.begin_ns >= ns || (of_team ? !recorded.in_teams : recorded.end_ns < ns)) return std::nullopt;
  const std::size_t next = recorded.wait_at(ns);
  const bool waits = next < recorded.waits.size() && recorded.waits[next].enter_ns < ns;
  return Releaser{.thread = thread,
                  .waits = waits,
                  .came_ns = waits ? recorded.waits[next].enter_ns : std::min(ns, recorded.end_ns),
                  .since_ns = next == 0 ? recorded.begin_ns : recorded.waits[next - 1].exit_ns};
}

/// A thread begins when another one creates it.
void Releases::find_births() {
  for (std::uint32_t thread = 1; thread < threads_.size(); ++thread) {
    const std::uint64_t ns = threads_[thread].begin_ns;
    std::optional<Releaser> parent;
    for (std::uint32_t other = 0; other < threads_.size(); ++other) {
      const std::optional<Releaser> one = other == thread ? std::nullopt : at(other, ns, false);
      if (one && !one->waits && (!parent || is_likelier(*one, *parent))) parent = one;
    }
    if (!parent || ns < kBirthNs) continue;
    std::vector<ThreadCall>& waits = threads_[thread].waits;
    waits.insert(waits.begin(), {.enter_ns = ns - kBirthNs, .exit_ns = ns, .context = 0});
    release(parent->thread, ns - 1, 0, std::array{WaitId{thread, 0}});
  }
}

/// OpenMP's workers idle until the main thread begins its next parallel region.
void Releases::find_starts() {
  const std::vector<Record>& regions = threads_.front().regions;
  std::map<std::size_t, std::vector<WaitId>> by_region;
  for (const WaitId id : waits_of(WaitKind::omp_idle)) {
    const auto next = std::ranges::upper_bound(regions, wait(id).exit_ns, {}, &Record::enter_ns);
    if (next == regions.begin() || std::prev(next)->enter_ns <= wait(id).enter_ns || id.thread == 0) continue;
    by_region[static_cast<std::size_t>(next - regions.begin()) - 1].push_back(id);
  }
  for (const auto& [number, waits] : by_region)
    release(0, regions[number].enter_ns, regions[number].charged, waits);
}

/// Those that begin before the first of them ends wait for the same.
void Releases::find_barriers(WaitKind kind) {
  const std::vector<WaitId> waits = waits_of(kind);
  for (std::size_t i = 0; i < waits.size();) {
    const std::uint64_t first_ns = wait(waits[i]).exit_ns;
    const bool bounded = kind != WaitKind::omp_barrier;
    std::size_t end = i + 1;
    while (end < waits.size() && wait(waits[end]).enter_ns < first_ns &&
           (!bounded || wait(waits[end]).exit_ns <= first_ns + kWakingNs))
      ++end;
    close_barrier(std::span(waits).subspan(i, end - i), kind);
    i = end;
  }
}

void Releases::close_barrier(std::span<const WaitId> waits, WaitKind kind) {
  const bool of_team = kind == WaitKind::omp_barrier;
  const std::uint64_t first_ns = wait(waits.front()).exit_ns;
  std::optional<Releaser> by;
  for (std::uint32_t thread = 0; thread < threads_.size(); ++thread) {
    const std::optional<Releaser> one = at(thread, first_ns, of_team);
    if (!one) continue;
    const bool member = std::ranges::find(waits, thread, &WaitId::thread) != waits.end();
    // Who was released on a condition has not released itself; who wakes another may wait at once.
    if (!of_team && (member || one->came_ns + kWakingNs < first_ns)) continue;
    if (!by || is_likelier(*one, *by)) by = one;
  }
  if (!by) return;
  // It lets them go before the first of them goes on.
  const std::uint64_t ns = by->waits ? std::min(by->came_ns, first_ns - 1) : first_ns - 1;
  std::vector<WaitId> released;
  std::uint32_t context = 0;
  for (const WaitId id : waits) {
    if (id.thread != by->thread && wait(id).enter_ns < ns) released.push_back(id);
    context = wait(id).context;
  }
  if (!released.empty()) release(by->thread, ns, context, released);
}

/// A thread that is waited for ends when the wait does.
void Releases::find_ends() {
  for (const WaitId id : waits_of(WaitKind::join)) {
    const ThreadCall& one = wait(id);
    std::optional<std::uint32_t> last;
    for (std::uint32_t thread = 0; thread < threads_.size(); ++thread) {
      const std::uint64_t end_ns = threads_[thread].end_ns;
      if (thread == id.thread || end_ns <= one.enter_ns || end_ns > one.exit_ns + kWakingNs) continue;
      if (!last || end_ns > threads_[*last].end_ns) last = thread;
    }
    if (last) release(*last, std::min(threads_[*last].end_ns, one.exit_ns - 1), 0, std::array{id});
  }
}

void Releases::find() {
  find_births();
  find_starts();
  find_barriers(WaitKind::omp_barrier);
  find_barriers(WaitKind::condition);
  find_ends();
  for (std::uint32_t thread = 0; thread < threads_.size(); ++thread) {
    std::vector<ThreadCall>& calls = calls_[thread];
    calls.insert(calls.end(), threads_[thread].waits.begin(), threads_[thread].waits.end());
    std::ranges::stable_sort(calls, comes_before);
  }
}

/// The main thread's parallel regions of which a thread did not idle all the time.
std::vector<Record> regions_of(const Recorded& thread, const std::vector<Record>& all) {
  std::vector<Record> own;
  if (!thread.in_teams) return own;
  for (const Record& region : all) {
    const std::size_t next = thread.wait_at(region.exit_ns);
    const bool idle = next < thread.waits.size() && thread.waits[next].enter_ns <= region.enter_ns;
    if (!idle && thread.begin_ns < region.exit_ns && region.enter_ns < thread.end_ns) own.push_back(region);
  }
  return own;
}

Record record_of(const ThreadCall& call) {
  Record record;
  record.kind = RecordKind::call;
  record.enter_ns = call.enter_ns;
  record.exit_ns = call.exit_ns;
  record.node = call.context;
  if (call.group != trace::kNoContext)
    record.operations = {{.kind = trace::OperationKind::barrier, .context = call.group}};
  return record;
}

/// What one thread's line adds to its records, and in what order.
class ThreadLine final : public ProcessTrace {
 public:
  /// What lies between its records: both in the order of their ends.
  struct Added {
    std::vector<trace::Definition> definitions;
    std::vector<Record> calls, regions;
  };

  ThreadLine(std::shared_ptr<ProcessTrace> process, std::uint32_t thread, Added added, BesideMain beside)
      : process_(std::move(process)), thread_(thread), added_(std::move(added)), beside_(std::move(beside)) {
    advance();
  }

  [[nodiscard]] std::int32_t rank() const override { return static_cast<std::int32_t>(thread_); }
  [[nodiscard]] const std::vector<trace::Definition>& definitions() const override {
    return added_.definitions;
  }
  [[nodiscard]] std::size_t threads() const override { return 1; }
  [[nodiscard]] unsigned halvings(std::size_t /*thread*/) const override {
    return process_->halvings(thread_);
  }

  bool next(std::size_t /*thread*/, Record& record) override {
    const std::uint64_t own_ns = more_ ? own_.exit_ns : kNever;
    const std::uint64_t call_ns = end_of(added_.calls, next_call_);
    const std::uint64_t region_ns = end_of(added_.regions, next_region_);
    if (std::min({own_ns, call_ns, region_ns}) == kNever) return false;
    if (own_ns <= std::min(call_ns, region_ns)) {
      std::swap(record, own_);
      advance();
    } else {
      record = call_ns <= region_ns ? added_.calls[next_call_++] : added_.regions[next_region_++];
    }
    return true;
  }

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  static std::uint64_t end_of(const std::vector<Record>& records, std::size_t at) {
    return at < records.size() ? records[at].exit_ns : kNever;
  }

  /// To the next record that is not of a wait, which are calls here.
  void advance() {
    do {
      more_ = process_->next(thread_, own_);
    } while (more_ && (own_.kind == RecordKind::thread_wait ||
                       (own_.kind == RecordKind::sample && is_for_threads(own_.wait))));
    if (more_ && own_.kind == RecordKind::sample) charge();
  }

  /// A sample is shown where the main thread called the region that it is in.
  void charge() {
    const std::vector<Record>& regions = added_.regions;
    while (around_ < regions.size() && regions[around_].exit_ns < own_.exit_ns) ++around_;
    if (around_ < regions.size() && regions[around_].enter_ns <= own_.exit_ns &&
        regions[around_].charged != 0)
      own_.charged = beside_(regions[around_].charged, own_.node);
  }

  std::shared_ptr<ProcessTrace> process_;
  std::uint32_t thread_;
  Added added_;
  BesideMain beside_;
  Record own_;
  bool more_ = false;
  std::size_t next_call_ = 0, next_region_ = 0;
  std::size_t around_ = 0;  // the first region that ends after what was read
};

/// Calls of a line from the process's begin to its end, at which other lines are, too: the main thread's are
/// those that the critical path lies between.
std::vector<Record> calls_between(std::uint32_t thread, const Recorded& recorded,
                                  std::span<const ThreadCall> calls, Interval process) {
  const auto outside = [thread](std::uint64_t enter_ns, std::uint64_t exit_ns, trace::OperationKind kind) {
    Record record = record_of({.enter_ns = enter_ns, .exit_ns = exit_ns, .context = 0});
    if (thread == 0) record.operations = {{.kind = kind, .context = kAlone}};
    return record;
  };
  std::vector<Record> records;
  const std::uint64_t born_ns = thread == 0 ? process.begin_ns : recorded.begin_ns;
  records.push_back(outside(process.begin_ns,
                            born_ns - (thread == 0 ? 0 : std::min(kBirthNs, born_ns - process.begin_ns)),
                            trace::OperationKind::initialize));
  for (const ThreadCall& call : calls) records.push_back(record_of(call));
  const std::uint64_t ended_ns =
      thread == 0 ? process.end_ns : std::max(recorded.end_ns, calls.empty() ? 0 : calls.back().exit_ns);
  records.push_back(outside(ended_ns, process.end_ns, trace::OperationKind::finalize));
  return records;
}

std::vector<Recorded> read_all(ProcessTrace& process) {
  std::vector<Recorded> threads(process.threads());
  Record record;
  for (std::size_t thread = 0; thread < threads.size(); ++thread) {
    while (process.next(thread, record)) threads[thread].add(record);
    threads[thread].name_waits();
  }
  return threads;
}

}  // namespace

std::vector<std::unique_ptr<ProcessTrace>> thread_lines(std::unique_ptr<ProcessTrace> process,
                                                        const BesideMain& beside) {
  std::vector<Recorded> threads = read_all(*process);
  std::vector<std::unique_ptr<ProcessTrace>> lines;
  Interval whole{.begin_ns = ~std::uint64_t{0}, .end_ns = 0};
  for (const Recorded& thread : threads) {
    whole.begin_ns = std::min(whole.begin_ns, thread.begin_ns);
    whole.end_ns = std::max(whole.end_ns, thread.end_ns);
  }
  if (whole.end_ns <= whole.begin_ns || !process->rewind({})) return lines;
  Releases releases(threads);
  releases.find();
  const std::shared_ptr<ProcessTrace> shared = std::move(process);
  for (std::uint32_t thread = 0; thread < threads.size(); ++thread) {
    const Recorded& recorded = threads[thread];
    if (recorded.end_ns <= recorded.begin_ns) continue;
    ThreadLine::Added added;
    added.definitions = releases.take_definitions(thread);
    added.calls = calls_between(thread, recorded, releases.take_calls(thread), whole);
    if (thread != 0) added.regions = regions_of(recorded, threads.front().regions);
    lines.push_back(std::make_unique<ThreadLine>(shared, thread, std::move(added), beside));
  }
  return lines;
}

}  // namespace culprit::waits
