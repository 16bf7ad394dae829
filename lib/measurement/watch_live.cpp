// Watches a live measurement (docs/formats.md, Live measurement): at each look the words of the header that
// change, then of each thread its header, and only where its count of changes moved its arena: one read, a
// walk over the tree, which visits each unit at most once whatever the links say, and the values of known
// cells less those of the look before. Cost per thread that ran: one copy of its arena and some ten
// nanoseconds per context. Checksums are left to who merges: a value that is torn is right at the next look.
#include "measurement/watch_live.hpp"

#include "measurement/reading.hpp"
#include "measurement/thread_sum.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

namespace culprit::measurement {

using layout::Header;
using layout::Node;
using layout::ThreadHeader;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
/// Heartbeats come four times a second, of copies every other turn. A process whose last one is older does
/// not run at present, or its clock is that of another host.
constexpr std::uint64_t kFresh = kSecond;
/// A thread that goes on recording is copied so often for a copy during which nothing changed.
constexpr int kMostCopies = 4;
/// Looks in a row at which reading the modules is tried.
constexpr std::uint32_t kMostReads = 10;
/// What a context gains is at most the process's time so far, up to a heartbeat that may be that old, and
/// never three years.
constexpr std::uint64_t kLate = 60 * kSecond, kMostGained = 100'000'000 * kSecond;

/// The first words of a header, which hold all that changes often.
class HeaderStart {
 public:
  /// False: it is no live measurement.
  bool read(const InputFile& file) {
    file.copy(0, bytes_.data(), bytes_.size());
    if (std::memcmp(bytes_.data(), layout::kLiveMagic, sizeof layout::kLiveMagic) != 0) return false;
    check_version(file.path(), word<std::uint32_t>(offsetof(Header, version)), layout::kLiveVersion,
                  layout::kLiveVersion);
    const auto geometry = word<layout::Geometry>(offsetof(Header, geometry));
    const auto flags = word<std::uint32_t>(offsetof(Header, flags));
    const auto events = word<std::uint32_t>(offsetof(Header, event_count));
    const std::uint32_t realtime = flags & layout::kFlagRealtime;
    if (geometry.header_size != sizeof(Header) || geometry.granule != layout::kGranule ||
        geometry.unit != layout::kUnit || events > kMaxEvents + realtime || events < realtime ||
        geometry.cell_units != layout::cell_units(events - realtime))
      throw damaged(file.path(), "its header contradicts itself");
    return true;
  }

  template <typename T>
  [[nodiscard]] T word(std::size_t offset) const {
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

 private:
  static constexpr std::size_t kBytes = offsetof(Header, events);
  std::array<std::byte, kBytes> bytes_{};
};

ThreadHeader thread_header(const InputFile& file, const std::vector<Block>& blocks) {
  ThreadHeader head{};
  file.copy(blocks.front().offset + layout::kThreadHeaderUnit * layout::kUnit,
            reinterpret_cast<std::byte*>(&head), sizeof head);
  return head;
}

}  // namespace

bool LiveWatch::read_header(const InputFile& file, std::uint64_t here_ns) {
  HeaderStart start;
  if (!start.read(file)) return false;
  const auto key = start.word<std::uint64_t>(offsetof(Header, key));
  if (!host_.empty() && key != process_.key) return false;  // another process's by now
  process_.rank.reset();
  const auto world = start.word<layout::World>(offsetof(Header, world));
  if (world.rank_set != 0) process_.rank = world.rank;
  process_.world_size = world.size;
  if (process_.world_size > kMaxRanks || (process_.rank && *process_.rank < 0))
    throw damaged(file.path(), "its rank is none");
  process_.key = key;
  process_.pid = start.word<std::uint64_t>(offsetof(Header, pid));
  const auto clocks = start.word<layout::Clocks>(offsetof(Header, clocks));
  process_.start_ns = clocks.start_ns;
  process_.start_realtime_ns = clocks.start_realtime_ns;
  process_.heartbeat_ns = clocks.heartbeat_ns;
  if (!can_be(clocks.start_ns, std::max(clocks.heartbeat_ns, clocks.end_ns), clocks.start_realtime_ns))
    throw damaged(file.path(), "holds a time that cannot be");
  process_.iterations = start.word<std::uint64_t>(offsetof(Header, iterations));
  const auto flags = start.word<std::uint32_t>(offsetof(Header, flags));
  process_.forked = (flags & layout::kFlagForked) != 0;
  process_.end = end_reason(start.word<std::uint32_t>(offsetof(Header, end_reason)));
  const bool mapped = (flags & layout::kFlagCopied) == 0;
  const bool fresh = here_ns >= process_.heartbeat_ns && here_ns - process_.heartbeat_ns < kFresh;
  process_.now_ns = clocks.end_ns != 0 ? clocks.end_ns : mapped && fresh ? here_ns : process_.heartbeat_ns;
  const std::uint64_t lived = process_.now_ns - std::min(process_.start_ns, process_.now_ns);
  most_gained_ns_ = static_cast<std::int64_t>(std::min(lived, kMostGained - kLate) + kLate);
  HostLoad load;
  file.copy(offsetof(Header, host_load), reinterpret_cast<std::byte*>(&load), sizeof load);
  process_.processors = load.allowed;
  const auto stops = start.word<layout::Stops>(offsetof(Header, stops));
  const std::uint64_t running =
      stops.since != 0 && stops.since < process_.now_ns ? stops.since : process_.now_ns;
  sampled_until_ns_ = running > stops.total ? running - stops.total : 0;
  cell_units_ = start.word<layout::Geometry>(offsetof(Header, geometry)).cell_units;
  const auto threads = start.word<std::uint32_t>(offsetof(Header, threads));
  grew_ = grew_ || threads != threads_said_ || file.size() != blocks_size_;
  threads_said_ = threads;
  return true;
}

/// New arenas get the next numbers.
void LiveWatch::find_threads(InputFile& file) {
  blocks_ = find_blocks(file);
  blocks_size_ = file.size();
  grew_ = blocks_.threads.size() < threads_said_;  // the block of one is still being made
  for (const auto& [index, parts] : blocks_.threads) {
    if (std::ranges::find(arenas_, index) != arenas_.end()) continue;
    arenas_.push_back(index);
    threads_.emplace_back();
    states_.emplace_back();
  }
}

bool LiveWatch::look(Scratch& scratch, std::uint64_t here_ns) {
  if (!lacks_modules_) forget_gains();
  InputFile file(path_, scratch.window);
  if (!read_header(file, here_ns)) return false;
  if (grew_) find_threads(file);
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    const std::size_t before = threads_[i].contexts.size();
    look_at_thread(file, blocks_.threads[arenas_[i]], i, scratch);
    note_modules(i, before);
  }
  if (host_.empty() || (modules_needed_ > modules_.size() && modules_needed_ > modules_asked_))
    read_modules();
  return true;
}

void LiveWatch::note_modules(std::size_t number, std::size_t first_context) {
  const std::vector<WatchedContext>& contexts = threads_[number].contexts;
  for (std::size_t at = first_context; at < contexts.size(); ++at) {
    const std::uint32_t module = contexts[at].frame.module;
    if (module != cct::kNoModule) modules_needed_ = std::max(modules_needed_, module + 1);
  }
}

/// Where that fails, as it may while the process writes, the next look tries it again. What a whole read does
/// not hold is lost.
void LiveWatch::read_modules() {
  try {
    Reader reader;
    Measurement& measurement = reader.read(path_, Extent::process);
    if (!measurement.sealed) {  // else what was looked at lies below the sealed form by now
      host_ = measurement.process.host;
      modules_ = std::move(measurement.modules);
    }
    failed_reads_ = 0;
  } catch (const MeasurementError&) {
    if (host_.empty()) throw;
    ++failed_reads_;
  }
  lacks_modules_ = failed_reads_ > 0 && failed_reads_ < kMostReads;
  if (lacks_modules_) return;
  failed_reads_ = 0;
  modules_asked_ = modules_needed_;
}

void LiveWatch::forget_gains() {
  for (WatchedThread& thread : threads_) thread.gains.clear();
}

void LiveWatch::look_at_thread(const InputFile& file, const std::vector<Block>& blocks, std::size_t number,
                               Scratch& scratch) {
  WatchedThread& thread = threads_[number];
  ThreadState& state = states_[number];
  if (blocks.empty()) return;
  ThreadHeader head = thread_header(file, blocks);
  if (head.used == 0) return;  // it is just being made
  thread.ordinal = head.ordinal;
  if (head.schedule_changes % 2 == 0 && layout::schedule_sum(head) == 0 &&
      head.schedule.processors.is_sound())
    thread.schedule = head.schedule;
  if (!state.seen || head.changes != state.changes) {
    bool whole = false;
    for (int copies = 1; !whole; ++copies) {
      scratch.image.fill(file, blocks, std::uint64_t{head.used} * layout::kUnit);
      const ThreadHeader now = thread_header(file, blocks);
      whole = head.changes % 2 == 0 && now.changes == head.changes;
      if (whole || copies == kMostCopies) break;
      head = now;
    }
    // A wait that the header has as going on may be among the values already. Those who change so often do
    // not wait for long.
    if (!whole) head.wait_sequence = 0;
    state.changes = head.changes;
    state.seen = scratch.image.units() >= head.used;  // else again when the rest is found
    grew_ = grew_ || !state.seen;
    if (scratch.image.holds(layout::kRootUnit, 1)) {
      read_contexts(scratch.image, number, scratch.pending);
      read_cells(scratch.image, number);
      if (head.ordinal == 0) read_calls(scratch.image, number, head.first_epoch);
    }
  }
  charge_open_wait(head, number);
}

void LiveWatch::add_context(const ArenaImage& image, std::size_t number, NodeIndex unit,
                            std::uint32_t parent) {
  WatchedThread& thread = threads_[number];
  const auto node = image.load<Node>(unit);
  states_[number].context_of[unit] = static_cast<std::uint32_t>(thread.contexts.size());
  states_[number].has_cell.push_back(false);
  thread.contexts.push_back({.parent = parent,
                             .frame = {.offset = node.offset,
                                       .module = layout::module_of(node.place),
                                       .kind = frame_kind(layout::kind_of(node.place))}});
}

/// From the root down: each unit, once it was taken in, has a context, and none is taken in twice in one
/// walk.
void LiveWatch::read_contexts(const ArenaImage& image, std::size_t number,
                              std::vector<std::uint32_t>& pending) {
  ThreadState& state = states_[number];
  state.context_of.resize(std::max<std::size_t>(state.context_of.size(), image.units()), kNone);
  if (threads_[number].contexts.empty()) add_context(image, number, layout::kRootUnit, 0);
  std::vector<bool> visited(image.units());
  pending.assign(1, layout::kRootUnit);
  const auto reach = [&](NodeIndex unit) {
    if (unit <= layout::kRootUnit || !image.holds(unit, 1) || visited[unit]) return false;
    visited[unit] = true;
    return true;
  };
  std::vector<NodeIndex> siblings;
  while (!pending.empty()) {
    const NodeIndex parent = pending.back();
    pending.pop_back();
    const std::uint32_t context = state.context_of[parent];
    const auto node = image.load<Node>(parent);
    if (!state.has_cell[context] && image.holds(node.cell, cell_units_)) {
      state.has_cell[context] = true;
      state.cells.push_back({.context = context, .unit = node.cell});
    }
    siblings.clear();
    if (reach(node.first_child)) siblings.push_back(node.first_child);
    for (std::size_t i = 0; i < siblings.size(); ++i) {
      const NodeIndex unit = siblings[i];
      const auto child = image.load<Node>(unit);
      if (reach(child.left)) siblings.push_back(child.left);
      if (reach(child.right)) siblings.push_back(child.right);
      if (frame_kind(layout::kind_of(child.place)) == cct::FrameKind::root) continue;  // damage
      if (state.context_of[unit] == kNone) add_context(image, number, unit, context);
      pending.push_back(unit);
    }
  }
}

/// Negative where a value that was torn is right now.
std::int64_t LiveWatch::gained(std::uint64_t now, std::uint64_t before) const {
  return std::clamp(static_cast<std::int64_t>(now - before), -most_gained_ns_, most_gained_ns_);
}

void LiveWatch::read_cells(const ArenaImage& image, std::size_t number) {
  for (CellState& cell : states_[number].cells) {
    if (!image.holds(cell.unit, cell_units_)) continue;
    const auto raw = image.load<layout::Cell>(cell.unit);
    if (raw.time_ns == cell.time_ns && raw.marked_ns == cell.marked_ns && raw.cpu_ns == cell.cpu_ns) continue;
    threads_[number].gains.push_back({.context = cell.context,
                                      .time_ns = gained(raw.time_ns, cell.time_ns),
                                      .marked_ns = gained(raw.marked_ns, cell.marked_ns),
                                      .cpu_ns = gained(raw.cpu_ns, cell.cpu_ns),
                                      .blocked = raw.blocked != cell.blocked});
    cell.time_ns = raw.time_ns;
    cell.marked_ns = raw.marked_ns;
    cell.cpu_ns = raw.cpu_ns;
    cell.blocked = raw.blocked;
  }
}

/// The list of records grows at its beginning.
void LiveWatch::read_calls(const ArenaImage& image, std::size_t number, NodeIndex newest) {
  ThreadState& state = states_[number];
  NodeIndex at = newest;
  for (std::size_t left = kEpochRecords;
       left > 0 && at != state.newest_record && at != kNoNodeIndex && image.holds(at, 2); --left) {
    const auto record = image.load<layout::EpochRecord>(at);
    const std::uint32_t context = context_at(number, record.node);
    if (epoch_kind(record.kind) == EpochKind::waiting_call && context != kNone &&
        state.records.size() < kEpochRecords)
      state.records.push_back({.context = context, .unit = at});
    at = record.next;
  }
  state.newest_record = newest;
  std::vector<CallCount>& calls = threads_[number].calls;
  calls.clear();
  for (const CallRecord& record : state.records) {
    if (image.holds(record.unit, 2))
      calls.push_back(
          {.context = record.context, .calls = image.load<layout::EpochRecord>(record.unit).count});
  }
}

/// What the wait that goes on has lasted by now, less what was charged of one at the look before.
void LiveWatch::charge_open_wait(const ThreadHeader& head, std::size_t number) {
  ThreadState& state = states_[number];
  OpenCharge now;
  const std::uint32_t context = context_at(number, head.wait_node);
  if (head.wait_sequence % 2 != 0 && context != kNone && head.wait_enter_ns < sampled_until_ns_) {
    now = {.context = context,
           .ns = gained(sampled_until_ns_, head.wait_enter_ns),
           .marked = wait_kind(head.wait_mark) != WaitKind::none};
  }
  const auto gain = [&](const OpenCharge& charge, std::int64_t ns) {
    if (ns == 0) return;
    threads_[number].gains.push_back({.context = charge.context,
                                      .time_ns = ns,
                                      .marked_ns = charge.marked ? ns : 0,
                                      .cpu_ns = 0,
                                      .blocked = true});
  };
  gain(state.charge, -state.charge.ns);
  gain(now, now.ns);
  state.charge = now;
}

}  // namespace culprit::measurement
