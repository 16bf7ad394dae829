// Reads a measurement whose process is alive or was killed (docs/formats.md, Live measurement;
// docs/algorithms.md 13): blocks are put together into arenas, and each thread's arena is turned into a tree
// in pre-order that visits every unit at most once, whatever the links say. A thread's sum is compared with
// what its nodes, values and records add up to. A wait in progress, whose begin the tree notes, is charged up
// to the last heartbeat.
#include "measurement/header_sum.hpp"
#include "measurement/live_image.hpp"
#include "measurement/reading.hpp"
#include "measurement/record_checksums.hpp"
#include "measurement/thread_sum.hpp"

#include <algorithm>
#include <set>
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

template <std::size_t Size>
std::string text(const char (&field)[Size]) {
  return {field, strnlen(field, Size)};
}

/// The call that a thread is blocked in, if any.
struct OpenWait {
  NodeIndex node = kNoNodeIndex;
  std::uint64_t ns = 0;
  WaitKind mark = WaitKind::none;
};

/// What is read of nodes and cells beside time.
struct CellLayout {
  std::size_t events = 0;  ///< values of a cell
  bool epochs = false;     ///< epochs, which name nodes
  bool units = false;      ///< the units of nodes, which traces name
};

/// Turns one arena into a tree in pre-order. Visits every unit once at most, whatever the links say.
class TreeReader {
 public:
  TreeReader(const ArenaImage& image, ThreadProfile& thread, OpenWait wait, CellLayout cells,
             std::span<const Module> modules)
      : image_(image), thread_(thread), wait_(wait), cells_(cells), modules_(modules), seen_(image.units()) {}

  void read();
  /// After read().
  void read_epochs(NodeIndex first);
  /// Likewise: in which stretch each cell was sampled.
  void read_stretches();
  /// After both: what all that was reached adds to the thread's checksum (thread_sum.hpp).
  [[nodiscard]] std::uint64_t sum() const { return sum_; }
  /// After read(): whether a node is of a module that `modules` lack.
  [[nodiscard]] bool lacks_module() const { return lacks_module_; }

 private:
  struct Pending {
    NodeIndex unit;
    cct::NodeId parent;
    cct::FrameKey frame;
  };

  void push(NodeIndex unit, NodeIndex from, cct::NodeId parent);
  void push_children(NodeIndex unit, cct::NodeId parent);
  void read_cell(NodeIndex unit, NodeIndex cell);
  [[nodiscard]] Stretch stretch_of(std::uint64_t word) const;

  const ArenaImage& image_;
  ThreadProfile& thread_;
  OpenWait wait_;
  CellLayout cells_;
  std::span<const Module> modules_;
  std::vector<bool> seen_;
  std::uint64_t sum_ = 0;
  bool lacks_module_ = false;
  std::vector<Pending> stack_;
  std::unordered_map<NodeIndex, cct::NodeId> number_;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> stretches_;  // of cells, with the numbers of units
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
  lacks_module_ = lacks_module_ || (module != cct::kNoModule && module >= modules_.size());
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
    if (cells_.epochs) number_[next.unit] = id;
    if (cells_.units) thread_.units.push_back(next.unit);
    read_cell(next.unit, image_.load<Node>(next.unit).cell);
    push_children(next.unit, id);
  }
}

void TreeReader::read_epochs(NodeIndex at) {
  for (std::size_t left = kEpochRecords; left > 0 && at != kNoNodeIndex && image_.holds(at, 2); --left) {
    const auto record = image_.load<layout::EpochRecord>(at);
    sum_ += layout::epoch_sum(at, record);
    at = record.next;
    const auto node = number_.find(record.node);
    if (node == number_.end() || record.count == 0 || record.kind == 0) continue;
    const EpochKind kind = epoch_kind(record.kind);
    const bool of_stretch = is_stretch(kind);
    thread_.epochs.push_back(
        {.node = node->second,
         .kind = kind,
         .size_class = of_stretch ? stretch_of(record.size_class).code : record.size_class,
         .window = record.window,
         .peers = record.peers,
         .count = record.count,
         .total_ns = record.total_ns,
         .least_ns = record.least_ns,
         .squares = has_order(kind) ? squares_of(kind, record.order) : 0});
  }
}

/// By the number of the unit, where the tree has it.
Stretch TreeReader::stretch_of(std::uint64_t word) const {
  if (word == kInWaitingCall) return {Stretch::kInCall};
  if (word < layout::kRootUnit || word > UINT32_MAX) return {};
  const auto node = number_.find(static_cast<NodeIndex>(word));
  return node == number_.end() ? Stretch{} : Stretch{Stretch::kFirst + node->second};
}

void TreeReader::read_stretches() {
  for (const auto& [cell, word] : stretches_) thread_.cells[cell].stretch = stretch_of(word);
}

void TreeReader::read_cell(NodeIndex unit, NodeIndex at) {
  Cell cell;
  std::uint64_t stretch = 0;
  std::vector<EventValue> values(cells_.events);
  bool holds = false;
  if (image_.holds(at, layout::cell_units(cells_.events))) {
    const auto raw = image_.load<layout::Cell>(at);
    sum_ += layout::cell_sum(at, raw);
    cell = {.time_ns = raw.time_ns,
            .samples = raw.samples,
            .weight_sq = raw.weight_sq,
            .blocked = raw.blocked,
            .cpu_ns = raw.cpu_ns,
            .marked_ns = raw.marked_ns,
            .mark = wait_kind(raw.mark)};
    stretch = raw.stretch;
    for (std::size_t i = 0; i < cells_.events; ++i) {
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
  if (cells_.epochs && stretch > kUnknownStretch) stretches_.emplace_back(thread_.cell.back(), stretch);
  if (stretch == kInWaitingCall) cell.stretch = {Stretch::kInCall};
  thread_.cells.push_back(cell);
  thread_.events.insert(thread_.events.end(), values.begin(), values.end());
}

/// Whether what the file's header holds changed since this was read.
bool changes(const InputFile& file, const Header& header) {
  Header now{};
  file.copy(0, reinterpret_cast<std::byte*>(&now), sizeof now);
  return now.checksum.changes_begun != header.checksum.changes_begun ||
         now.checksum.sum != header.checksum.sum;
}

/// Read again where a thread is just changing it, which takes nanoseconds. A process that was killed just
/// then leaves a header whose sum is not right yet.
Header read_checked_header(const InputFile& file) {
  constexpr int kAttempts = 100;
  Header header{};
  for (int i = 0; i < kAttempts; ++i) {
    file.copy(0, reinterpret_cast<std::byte*>(&header), sizeof header);
    check_version(file.path(), header.version, layout::kLiveVersion, layout::kLiveVersion);
    if (header.checksum.sum == layout::header_sum(header)) break;
    if (header.checksum.changes_begun == header.checksum.changes_done && !changes(file, header))
      throw damaged(file.path(), "its header does not match its checksum");
  }
  return header;
}

Header read_header(const InputFile& file) {
  if (file.size() < sizeof(Header)) {
    throw MeasurementError(file.path(), "is cut off within its header: nothing can be recovered (remove it)");
  }
  const Header header = read_checked_header(file);
  const std::uint32_t realtime = header.flags & layout::kFlagRealtime;
  if (header.geometry.header_size != sizeof header || header.geometry.granule != layout::kGranule ||
      header.geometry.unit != layout::kUnit || header.event_count > kMaxEvents + realtime ||
      header.event_count < realtime ||
      header.geometry.cell_units != layout::cell_units(header.event_count - realtime)) {
    throw damaged(file.path(), "its header contradicts itself");
  }
  return header;
}

/// Returns how many are lost: those that found no room, and one that was being written when the process
/// ended.
std::uint64_t read_notes(const InputFile& file, const Header& header, ProcessInfo& process) {
  const auto notes = std::min<std::uint32_t>(header.counts.notes, layout::kMaxNotes);
  for (std::uint32_t i = 0; i < notes; ++i) {
    const layout::Note& note = header.note[i];
    if (note.checksum == 0) continue;
    if (note.checksum != layout::note_checksum(note))
      throw damaged(file.path(), "a note does not match its checksum");
    process.notes.push_back(text(note.text));
  }
  return header.counts.notes - process.notes.size();
}

ProcessInfo process_of(const InputFile& file, const Header& header) {
  ProcessInfo process;
  process.host = text(header.names.host);
  process.pid = header.pid;
  if (header.world.rank_set != 0) process.rank = header.world.rank;
  process.world_size = header.world.size;
  process.run_id = text(header.names.run_id);
  process.mpi = text(header.names.mpi);
  process.program = text(header.program);
  process.directory = text(header.directory);
  process.start_ns = header.clocks.start_ns;
  process.end_ns = header.clocks.end_ns != 0 ? header.clocks.end_ns : header.clocks.heartbeat_ns;
  process.start_realtime_ns = header.clocks.start_realtime_ns;
  if (!can_be(process.start_ns, process.end_ns, process.start_realtime_ns))
    throw damaged(file.path(), "holds a time that cannot be");
  process.end = end_reason(header.end_reason);
  process.has_realtime = (header.flags & layout::kFlagRealtime) != 0;
  process.traced = (header.flags & layout::kFlagTraced) != 0;
  process.forked = (header.flags & layout::kFlagForked) != 0;
  process.whole_world = (header.flags & layout::kFlagWholeWorld) != 0;
  process.key = header.key;
  for (std::uint32_t i = 0; i < header.event_count; ++i) {
    const layout::EventField& event = header.events[i];
    process.events.push_back({.name = text(event.name), .unit = text(event.unit), .period = event.period});
  }
  process.iterations = header.iterations;
  process.samples_lost = header.samples_lost;
  if (header.host_load.known()) process.host_load = header.host_load;
  const char* at = header.arguments;
  const char* const end = at + std::min<std::size_t>(header.counts.argument_bytes, layout::kArgumentBytes);
  while (at != end) {
    const char* const stop = std::find(at, end, '\0');
    process.arguments.emplace_back(at, stop);
    at = stop == end ? end : stop + 1;
  }
  const std::uint64_t notes_lost = read_notes(file, header, process);
  const auto arguments = std::min<std::size_t>(process.arguments.size(), header.counts.argument_count);
  note_losses(process, {.threads = header.counts.threads_lost,
                        .notes = notes_lost,
                        .modules = header.counts.modules_lost,
                        .arguments = header.counts.argument_count - arguments});
  return process;
}

/// How much of a live file there is to be checked.
class Wholeness {
 public:
  Wholeness(const InputFile& file, const Header& header)
      : present_(file.present_size()),
        expected_(header.file_bytes),
        copied_((header.flags & layout::kFlagCopied) != 0),
        growing_(present_ > file.size()) {}

  /// The file was cut: it holds less than its process had written.
  [[nodiscard]] bool cut() const { return present_ < expected_; }
  /// Its pages were copied one after the other (docs/formats.md): what they refer to may be missing.
  [[nodiscard]] bool copied() const { return copied_; }
  /// All that it refers to is there, unless it is damaged.
  [[nodiscard]] bool complete() const { return !cut() && !copied_ && !growing_; }

  [[nodiscard]] std::string describe_cut() const {
    return "is cut off: only " + std::to_string(present_) + " of its " + std::to_string(expected_) +
           " bytes are there";
  }

 private:
  std::uint64_t present_, expected_;
  bool copied_, growing_;  // growing: it is written to meanwhile
};

/// Reads the modules' records. Throws where one is damaged; of a file that is not complete it may be missing.
class ModuleReader {
 public:
  ModuleReader(const InputFile& file, const ArenaImage& image, const Wholeness& whole)
      : file_(file), image_(image), whole_(whole) {}

  [[nodiscard]] std::vector<Module> read() const;

 private:
  [[nodiscard]] std::uint32_t slot(std::uint32_t number) const {
    return image_.load<std::uint32_t>(layout::kSlotUnit, number * sizeof(std::uint32_t));
  }
  [[nodiscard]] Module read(std::uint32_t unit) const;
  void read_counters(std::uint32_t unit, Module& module) const;
  void check(bool right) const {
    if (!right) throw damaged(file_.path(), "the record of a module does not match its checksum");
  }

  const InputFile& file_;
  const ArenaImage& image_;
  const Wholeness& whole_;
};

void ModuleReader::read_counters(std::uint32_t unit, Module& module) const {
  if (unit == 0 || !image_.holds(unit, 1)) return;
  const auto counters = image_.load<layout::ModuleCounters>(unit);
  const auto bridged = layout::checked_count(counters.bridged);
  const auto partial = layout::checked_count(counters.partial);
  check(bridged && partial);
  module.bridged = *bridged;
  module.partial = *partial;
}

Module ModuleReader::read(std::uint32_t unit) const {
  Module module;
  const auto record = image_.load<ModuleRecord>(unit);
  const std::size_t bytes = sizeof record + record.build_id_size + record.path_size;
  const bool held =
      image_.holds(unit, static_cast<std::uint32_t>((bytes + layout::kUnit - 1) / layout::kUnit));
  const bool right =
      held && layout::module_checksum(record, image_.at(unit, sizeof record)) == record.checksum;
  if (!right && !whole_.complete()) return module;
  check(right);
  module.own = (record.flags & layout::kModuleOwn) != 0;
  module.executable = (record.flags & layout::kModuleExecutable) != 0;
  module.vdso = (record.flags & layout::kModuleVdso) != 0;
  module.no_unwind = (record.flags & layout::kModuleNoUnwind) != 0;
  module.region = (record.flags & layout::kModuleRegion) != 0;
  read_counters(record.counters, module);
  if (record.stated != 0) {
    check(record.stated == layout::stat_checksum(record));
    module.key.size = record.size;
    module.key.mtime_ns = record.mtime_ns;
  }
  module.key.build_id = hex({image_.at(unit, sizeof record), record.build_id_size});
  module.key.path.assign(reinterpret_cast<const char*>(image_.at(unit, sizeof record + record.build_id_size)),
                         record.path_size);
  return module;
}

std::vector<Module> ModuleReader::read() const {
  std::vector<Module> modules;
  if (!image_.holds(layout::kSlotUnit, layout::kFirstModuleUnit - layout::kSlotUnit)) {
    if (whole_.complete()) throw damaged(file_.path(), "its modules are missing");
    return modules;
  }
  constexpr std::uint32_t units_of_record = 2;
  std::set<std::uint32_t> units;
  std::uint32_t number = 0;
  for (; number < kMaxModules && slot(number) != 0; ++number) {
    const std::uint32_t unit = slot(number);
    const bool there = unit >= layout::kFirstModuleUnit && image_.holds(unit, units_of_record);
    if (!there && !whole_.complete()) return modules;
    check(there && units.insert(unit).second);
    modules.push_back(read(unit));
  }
  for (; number < kMaxModules; ++number) check(slot(number) == 0);  // they are taken one after the other
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
                    .full = head.full,
                    .handler_ns = head.handler_ns,
                    .halvings = head.halvings,
                    .most_halvings = std::min(head.most_halvings, kMaxHalvings),
                    .epochs_lost = head.epochs_lost};
  // Else the process was killed while it was written, is writing it, or the file is torn.
  if (head.schedule_changes % 2 == 0 && layout::schedule_sum(head) == 0 &&
      head.schedule.processors.is_sound())
    thread.schedule = head.schedule;
  return thread;
}

/// `end_ns` on the clock of waits.
OpenWait open_wait(const ThreadHeader& head, std::uint64_t end_ns) {
  if ((head.wait_sequence & 1) == 0 || head.wait_enter_ns >= end_ns) return {};
  return {.node = head.wait_node, .ns = end_ns - head.wait_enter_ns, .mark = wait_kind(head.wait_mark)};
}

std::string seconds(std::uint64_t ns) {
  constexpr std::uint64_t kTenth = 100'000'000;
  const std::uint64_t tenths = (ns + kTenth / 2) / kTenth;
  return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10);
}

/// Reads the arenas of a live file.
class LiveReader {
 public:
  explicit LiveReader(InputFile& file) : file_(file), header_(read_header(file)), whole_(file, header_) {}

  Measurement read(Extent extent);

 private:
  void read_thread(const std::vector<Block>& parts);
  void check(const std::vector<Block>& parts, const ArenaImage& image, const ThreadHeader& head,
             const TreeReader& reader) const;
  [[nodiscard]] ThreadHeader header_again(const std::vector<Block>& parts) const;
  void note_cut();
  [[nodiscard]] bool has_new_modules() const;
  [[nodiscard]] bool has_new_blocks() const;

  InputFile& file_;
  const Header header_;
  const Wholeness whole_;
  BlockMap blocks_;
  std::vector<std::string> cut_;  // what is missing of which thread
  Measurement result_;
};

/// Whether the process has found modules since they were read.
bool LiveReader::has_new_modules() const {
  const ArenaImage image(file_, blocks_.modules);
  return ModuleReader(file_, image, whole_).read().size() > result_.modules.size();
}

/// Whether the process has added blocks since they were looked for: in the file's end, or where space was
/// reserved.
bool LiveReader::has_new_blocks() const {
  const auto count = [](const BlockMap& blocks) {
    std::size_t sum = 0;
    for (const auto& [index, parts] : blocks.threads) sum += parts.size();
    return sum;
  };
  if (file_.present_size() > file_.size()) return true;
  file_.forget();
  return count(find_blocks(file_)) > count(blocks_);
}

/// Throws where what was read is not what was written. A file that was cut holds less, one that is copied
/// page by page is torn, and one that is written to meanwhile is neither of two.
void LiveReader::check(const std::vector<Block>& parts, const ArenaImage& image, const ThreadHeader& head,
                       const TreeReader& reader) const {
  if (whole_.copied()) return;
  const std::string thread = "thread " + std::to_string(head.ordinal);
  const bool has_all = head.used <= image.units();
  if (!has_all && whole_.complete() && !has_new_blocks())
    throw damaged(file_.path(), "a block of " + thread + " is missing");
  if (has_all && (head.flags & layout::kFlagSummed) != 0 &&
      head.sum != reader.sum() + layout::thread_header_sum(head)) {
    const ThreadHeader now = header_again(parts);
    if (head.changes % 2 == 0 && now.changes == head.changes && now.sum == head.sum)
      throw damaged(file_.path(), "contexts and values of " + thread + " do not match their checksum");
  }
  if (head.schedule_changes % 2 == 0 && layout::schedule_sum(head) != 0 &&
      header_again(parts).schedule_changes == head.schedule_changes)
    throw damaged(file_.path(), "the schedule of " + thread + " does not match its checksum");
  if (reader.lacks_module() && whole_.complete() && !has_new_modules())
    throw damaged(file_.path(), thread + " has contexts of modules that are missing");
}

/// As it is now.
ThreadHeader LiveReader::header_again(const std::vector<Block>& parts) const {
  const std::uint64_t place = parts.front().offset + layout::kThreadHeaderUnit * layout::kUnit;
  ThreadHeader now{};
  file_.copy(place, reinterpret_cast<std::byte*>(&now), sizeof now);
  return now;
}

void LiveReader::read_thread(const std::vector<Block>& parts) {
  const ArenaImage image(file_, parts);
  if (!image.holds(layout::kThreadHeaderUnit, layout::kRootUnit + 1 - layout::kThreadHeaderUnit)) return;
  const auto head = image.load<ThreadHeader>(layout::kThreadHeaderUnit);
  if (head.used == 0 && head.changes <= 1) return;  // the process ended while the thread was added
  ThreadProfile& thread =
      result_.threads.emplace_back(profile_of(head, result_.process, result_.modules.size()));
  const std::uint64_t waits_end = layout::sampling_time(header_, result_.process.end_ns);
  const std::size_t events = result_.process.events.size() - (result_.process.has_realtime ? 1 : 0);
  TreeReader reader(image, thread, open_wait(head, waits_end),
                    {.events = events, .epochs = head.first_epoch != 0, .units = result_.process.traced},
                    result_.modules);
  reader.read();
  reader.read_epochs(head.first_epoch);
  reader.read_stretches();
  check(parts, image, head, reader);
  if (!whole_.cut() || head.used <= image.units()) return;
  std::uint64_t recorded = 0;
  for (const Cell& cell : thread.cells) recorded += cell.time_ns;
  const std::uint64_t lost = thread.lived_ns - std::min(recorded, thread.lived_ns);
  cut_.push_back("up to " + seconds(lost) + " of " + seconds(thread.lived_ns) + " s of thread " +
                 std::to_string(head.ordinal));
}

/// Says what is missing of a file that was cut; throws where that is all.
void LiveReader::note_cut() {
  const std::size_t there = result_.threads.size();
  if (there < header_.threads && whole_.complete() && !has_new_blocks())
    throw damaged(file_.path(),
                  "the blocks of " + std::to_string(header_.threads - there) + " thread(s) are missing");
  if (!whole_.cut()) return;
  constexpr const char* kRemedy = " (leave it out, or measure again)";
  if (there == 0 && header_.threads > 0)
    throw MeasurementError(file_.path(), whole_.describe_cut() + ", and none of its threads" + kRemedy);
  if (there < header_.threads) {
    cut_.insert(cut_.begin(), std::to_string(header_.threads - there) + " of " +
                                  std::to_string(header_.threads) + " threads");
  }
  std::string list;
  for (const std::string& part : cut_) list += (list.empty() ? "; missing are " : ", ") + part;
  result_.losses.push_back(whole_.describe_cut() + list + kRemedy);
}

Measurement LiveReader::read(Extent extent) {
  result_.process = process_of(file_, header_);
  blocks_ = find_blocks(file_);
  const ArenaImage modules(file_, blocks_.modules);
  result_.modules = ModuleReader(file_, modules, whole_).read();
  if (extent == Extent::process) return std::move(result_);
  for (const auto& [index, parts] : blocks_.threads) read_thread(parts);
  note_cut();
  return std::move(result_);
}

}  // namespace

Measurement read_live(InputFile& file, Extent extent) {
  return LiveReader(file).read(extent);
}

}  // namespace culprit::measurement
