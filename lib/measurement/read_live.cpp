#include "measurement/live_image.hpp"
#include "measurement/reading.hpp"
#include "measurement/tree_sum.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace culprit::measurement {

using layout::Header;
using layout::ModuleRecord;
using layout::Node;
using layout::ThreadHeader;

namespace {

constexpr std::size_t kFixedFields = 112;  // of the header; the rest is text and may be cut off

template <std::size_t Size>
std::string text(const char (&field)[Size]) {
  return {field, strnlen(field, Size)};
}

std::uint64_t max_bytes(Extent extent, std::uint32_t summary_units) {
  return extent == Extent::summary ? std::uint64_t{summary_units} * layout::kUnit : UINT64_MAX;
}

/// The call that a thread is blocked in, if any.
struct OpenWait {
  NodeIndex node = kNoNodeIndex;
  std::uint64_t ns = 0;
  WaitKind mark = WaitKind::none;
};

/// Turns one arena into a tree in pre-order. Visits every unit once at most, whatever the links say.
class TreeReader {
 public:
  TreeReader(const ArenaImage& image, ThreadProfile& thread, OpenWait wait, std::size_t events,
             std::span<const Module> modules, bool with_epochs, bool with_units)
      : image_(image),
        thread_(thread),
        wait_(wait),
        events_(events),
        modules_(modules),
        with_epochs_(with_epochs),
        with_units_(with_units),
        seen_(image.units()) {}

  void read();
  /// After read().
  void read_epochs(NodeIndex first);
  /// After read(): the checksum of all that was reached (tree_sum.hpp).
  [[nodiscard]] std::uint64_t sum() const { return sum_; }

 private:
  struct Pending {
    NodeIndex unit;
    cct::NodeId parent;
    cct::FrameKey frame;
  };

  void push(NodeIndex unit, NodeIndex from, cct::NodeId parent);
  void push_children(NodeIndex unit, cct::NodeId parent);
  void read_cell(NodeIndex unit, NodeIndex cell);

  const ArenaImage& image_;
  ThreadProfile& thread_;
  OpenWait wait_;
  std::size_t events_;
  std::span<const Module> modules_;
  bool with_epochs_;
  bool with_units_;
  std::vector<bool> seen_;
  std::uint64_t sum_ = 0;
  std::vector<Pending> stack_;
  std::unordered_map<NodeIndex, cct::NodeId> number_;
};

/// `from`: the parent's unit.
void TreeReader::push(NodeIndex unit, NodeIndex from, cct::NodeId parent) {
  if (unit <= layout::kRootUnit || !image_.holds(unit, 1) || seen_[unit]) return;
  seen_[unit] = true;
  const auto node = image_.load<Node>(unit);
  Node reached = node;
  reached.parent = from;  // so that the sum notices links that lead to others' children
  sum_ += layout::node_sum(unit, reached);
  const std::uint32_t module = layout::module_of(node.place);
  stack_.push_back({.unit = unit,
                    .parent = parent,
                    .frame = {.offset = node.offset,
                              .module = module < modules_.size() ? module : cct::kNoModule,
                              .kind = frame_kind(layout::kind_of(node.place))}});
}

void TreeReader::push_children(NodeIndex unit, cct::NodeId parent) {
  const std::size_t first = stack_.size();
  push(image_.load<Node>(unit).first_child, unit, parent);
  for (std::size_t i = first; i < stack_.size(); ++i) {
    const Node node = image_.load<Node>(stack_[i].unit);
    push(node.left, unit, parent);
    push(node.right, unit, parent);
  }
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(first);
  // There is one super-root only: a child of that kind is damage, left out with what is below it.
  stack_.erase(std::remove_if(begin, stack_.end(),
                              [](const Pending& p) { return p.frame.kind == cct::FrameKind::root; }),
               stack_.end());
  std::sort(stack_.begin() + static_cast<std::ptrdiff_t>(first), stack_.end(),
            [](const Pending& a, const Pending& b) {
              return std::tie(a.frame.module, a.frame.offset, a.frame.kind) >
                     std::tie(b.frame.module, b.frame.offset, b.frame.kind);
            });
}

void TreeReader::read() {
  stack_.push_back({.unit = layout::kRootUnit, .parent = cct::kNoNode, .frame = {}});
  while (!stack_.empty()) {
    const Pending next = stack_.back();
    stack_.pop_back();
    const auto id = static_cast<cct::NodeId>(thread_.nodes.size());
    thread_.nodes.push_back({.frame = next.frame, .parent = next.parent});
    thread_.own_frames |= next.frame.module < modules_.size() && modules_[next.frame.module].own;
    thread_.cell.push_back(cct::kNoNode);
    if (with_epochs_) number_[next.unit] = id;
    if (with_units_) thread_.units.push_back(next.unit);
    read_cell(next.unit, image_.load<Node>(next.unit).cell);
    push_children(next.unit, id);
  }
}

void TreeReader::read_epochs(NodeIndex at) {
  for (std::size_t left = kEpochRecords; left > 0 && at != kNoNodeIndex && image_.holds(at, 2); --left) {
    const auto record = image_.load<layout::EpochRecord>(at);
    at = record.next;
    const auto node = number_.find(record.node);
    if (node == number_.end() || record.count == 0 || record.kind == 0) continue;
    thread_.epochs.push_back({.node = node->second,
                              .kind = epoch_kind(record.kind),
                              .size_class = record.size_class,
                              .window = record.window,
                              .peers = record.peers,
                              .count = record.count,
                              .total_ns = record.total_ns,
                              .least_ns = record.least_ns});
  }
}

void TreeReader::read_cell(NodeIndex unit, NodeIndex at) {
  Cell cell;
  std::vector<EventValue> values(events_);
  bool holds = false;
  if (image_.holds(at, layout::cell_units(events_))) {
    const auto raw = image_.load<layout::Cell>(at);
    sum_ += layout::cell_sum(at, raw);
    cell = {.time_ns = raw.time_ns,
            .samples = raw.samples,
            .weight_sq = raw.weight_sq,
            .blocked = raw.blocked,
            .cpu_ns = raw.cpu_ns,
            .marked_ns = raw.marked_ns,
            .mark = wait_kind(raw.mark)};
    for (std::size_t i = 0; i < events_; ++i) {
      const auto event = image_.load<layout::CellEvent>(at, sizeof raw + i * sizeof(layout::CellEvent));
      sum_ += layout::event_sum(at, i, event);
      values[i] = {.value = event.value, .samples = event.samples};
      holds = holds || event.samples != 0;
    }
  }
  if (unit == wait_.node) {
    cell.time_ns += wait_.ns;
    ++cell.blocked;
    if (wait_.mark != WaitKind::none) {
      cell.marked_ns += wait_.ns;
      cell.mark = wait_.mark;
    }
  }
  holds = holds || (cell.time_ns | cell.samples | cell.blocked | cell.cpu_ns | cell.marked_ns) != 0;
  if (!holds) return;
  thread_.cell.back() = static_cast<std::uint32_t>(thread_.cells.size());
  thread_.cells.push_back(cell);
  thread_.events.insert(thread_.events.end(), values.begin(), values.end());
}

Header read_header(InputFile& file) {
  Header header{};
  if (file.size() < kFixedFields) {
    throw MeasurementError(file.path(), "is cut off within its header: nothing can be recovered (remove it)");
  }
  const auto present = static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), sizeof header));
  file.copy(0, reinterpret_cast<std::byte*>(&header), present);
  if (header.version > layout::kLiveVersion) throw too_new(file.path(), header.version);
  const std::uint32_t realtime = header.flags & layout::kFlagRealtime;
  if (header.header_size != sizeof header || header.granule != layout::kGranule ||
      header.unit != layout::kUnit || header.event_count > kMaxEvents + realtime ||
      header.event_count < realtime ||
      header.cell_units != layout::cell_units(header.event_count - realtime)) {
    throw damaged(file.path(), "its header contradicts itself");
  }
  return header;
}

ProcessInfo process_of(const Header& header) {
  ProcessInfo process;
  process.host = text(header.host);
  process.pid = header.pid;
  if (header.rank_set != 0) process.rank = header.rank;
  process.world_size = header.world_size;
  process.run_id = text(header.run_id);
  process.mpi = text(header.mpi);
  process.program = text(header.program);
  process.directory = text(header.directory);
  process.start_ns = header.start_ns;
  process.end_ns = header.end_ns != 0 ? header.end_ns : header.heartbeat_ns;
  process.start_realtime_ns = header.start_realtime_ns;
  process.end = end_reason(header.end_reason);
  process.has_realtime = (header.flags & layout::kFlagRealtime) != 0;
  process.traced = (header.flags & layout::kFlagTraced) != 0;
  for (std::uint32_t i = 0; i < header.event_count; ++i) {
    const layout::EventField& event = header.events[i];
    process.events.push_back({.name = text(event.name), .unit = text(event.unit), .period = event.period});
  }
  process.iterations = header.iterations;
  const char* at = header.arguments;
  const char* const end = at + std::min<std::size_t>(header.argument_bytes, layout::kArgumentBytes);
  while (at != end) {
    const char* const stop = std::find(at, end, '\0');
    process.arguments.emplace_back(at, stop);
    at = stop == end ? end : stop + 1;
  }
  const auto notes = std::min<std::uint32_t>(header.notes, layout::kMaxNotes);
  for (std::uint32_t i = 0; i < notes; ++i) process.notes.push_back(text(header.note[i]));
  const auto arguments = std::min<std::size_t>(process.arguments.size(), header.argument_count);
  tell_losses(process, {.threads = header.threads_lost,
                        .notes = header.notes - notes,
                        .modules = header.modules_lost,
                        .arguments = header.argument_count - arguments});
  return process;
}

Module module_of(const ArenaImage& image, std::uint32_t unit) {
  Module module;
  const auto record = image.load<ModuleRecord>(unit);
  const std::size_t bytes = sizeof record + record.build_id_size + record.path_size;
  module.own = (record.flags & layout::kModuleOwn) != 0;
  module.executable = (record.flags & layout::kModuleExecutable) != 0;
  module.vdso = (record.flags & layout::kModuleVdso) != 0;
  module.no_unwind = (record.flags & layout::kModuleNoUnwind) != 0;
  if (record.counters != 0 && image.holds(record.counters, 1)) {
    const auto counters = image.load<layout::ModuleCounters>(record.counters);
    module.bridged = counters.bridged;
    module.partial = counters.partial;
  }
  module.region = (record.flags & layout::kModuleRegion) != 0;
  module.key.size = record.size;
  module.key.mtime_ns = record.mtime_ns;
  if (!image.holds(unit, static_cast<std::uint32_t>((bytes + layout::kUnit - 1) / layout::kUnit)))
    return module;
  module.key.build_id = hex({image.at(unit, sizeof record), record.build_id_size});
  module.key.path.assign(reinterpret_cast<const char*>(image.at(unit, sizeof record + record.build_id_size)),
                         record.path_size);
  return module;
}

std::vector<Module> modules_of(const ArenaImage& image) {
  std::vector<Module> modules;
  if (!image.holds(layout::kSlotUnit, layout::kFirstModuleUnit - layout::kSlotUnit)) return modules;
  constexpr std::uint32_t units_of_record = 2;
  for (std::uint32_t i = 0; i < kMaxModules; ++i) {
    const auto unit = image.load<std::uint32_t>(layout::kSlotUnit, i * sizeof(std::uint32_t));
    if (unit < layout::kFirstModuleUnit || !image.holds(unit, units_of_record)) break;
    modules.push_back(module_of(image, unit));
  }
  return modules;
}

ThreadProfile profile_of(const ThreadHeader& head, const ProcessInfo& process, std::size_t modules) {
  ThreadProfile thread;
  thread.ordinal = head.ordinal;
  thread.tid = head.tid;
  thread.start_routine = {.offset = head.start_offset,
                          .module = head.start_module < modules ? head.start_module : cct::kNoModule,
                          .kind = frame_kind(head.start_kind)};
  thread.start_ns = head.start_ns;
  thread.end_ns = head.end_ns != 0 ? head.end_ns : process.end_ns;
  thread.lives = std::max(head.lives, std::uint32_t{1});
  thread.lived_ns = layout::lived(head, thread.end_ns);
  thread.quality = {.samples = head.samples,
                    .partial = head.partial,
                    .partial_ns = head.partial_ns,
                    .bridged = head.bridged,
                    .dropped = head.dropped,
                    .full = head.full,
                    .handler_ns = head.handler_ns,
                    .halvings = head.halvings,
                    .most_halvings = std::min(head.most_halvings, kMaxHalvings),
                    .epochs_lost = head.epochs_lost};
  return thread;
}

/// `end_ns` on the clock of waits.
OpenWait open_wait(const ThreadHeader& head, std::uint64_t end_ns) {
  if ((head.wait_sequence & 1) == 0 || head.wait_enter_ns >= end_ns) return {};
  return {.node = head.wait_node, .ns = end_ns - head.wait_enter_ns, .mark = wait_kind(head.wait_mark)};
}

/// Throws where the tree that was read is not the one that was written. A file that was cut holds less, one
/// that is copied page by page (docs/formats.md) is torn, and one that is written to meanwhile is neither of
/// two.
void check_sum(const InputFile& file, std::uint64_t place, const ArenaImage& image, std::uint32_t flags,
               const ThreadHeader& head, std::uint64_t sum) {
  const bool whole = (flags & layout::kFlagCopied) == 0 && head.used <= image.units();
  if (!whole || (head.flags & layout::kFlagSummed) == 0 || head.tree_sum == sum) return;
  ThreadHeader now{};
  file.copy(place, reinterpret_cast<std::byte*>(&now), sizeof now);
  if (head.changes % 2 != 0 || now.changes != head.changes || now.tree_sum != head.tree_sum) return;
  throw damaged(file.path(), "contexts and values of thread " + std::to_string(head.ordinal) +
                                 " do not match their checksum");
}

}  // namespace

Measurement read_live(InputFile& file, Extent extent) {
  Measurement result;
  const Header header = read_header(file);
  result.process = process_of(header);
  const std::uint64_t waits_end = layout::sampling_time(header, result.process.end_ns);
  const std::size_t events = result.process.events.size() - (result.process.has_realtime ? 1 : 0);
  const BlockMap blocks = find_blocks(file);
  result.modules = modules_of(ArenaImage(file, blocks.modules, UINT64_MAX));
  for (const auto& [index, parts] : blocks.threads) {
    const ArenaImage image(file, parts, max_bytes(extent, layout::kFirstFreeUnit));
    if (!image.holds(layout::kThreadHeaderUnit, layout::kRootUnit + 1 - layout::kThreadHeaderUnit)) continue;
    const auto head = image.load<ThreadHeader>(layout::kThreadHeaderUnit);
    if (head.used == 0) continue;  // the process ended while the thread was added
    ThreadProfile& thread =
        result.threads.emplace_back(profile_of(head, result.process, result.modules.size()));
    if (extent == Extent::summary) continue;
    TreeReader reader(image, thread, open_wait(head, waits_end), events, result.modules,
                      head.first_epoch != 0, result.process.traced);
    reader.read();
    reader.read_epochs(head.first_epoch);
    check_sum(file, parts.front().offset + layout::kThreadHeaderUnit * layout::kUnit, image, header.flags,
              head, reader.sum());
  }
  return result;
}

}  // namespace culprit::measurement
