// Writes the compact sealed form of a measurement from its live arenas (docs/formats.md), without malloc: a
// scratch mapping holds the traversal. Trees are written in pre-order; a node's children are gathered from
// their search tree breadth first, in place on the stack, and sorted. Nodes that other threads add meanwhile
// are newer than the view of the tree that was taken first, and left out. A call in progress is charged up to
// the end. The file is written under another name and renamed over the live one, so that a reader finds
// either. Cost: a sort of each node's children, and the bytes written.
#include "measurement/file_space.hpp"
#include "measurement/header_sum.hpp"
#include "measurement/live.hpp"
#include "measurement/raw_memory.hpp"
#include "measurement/sealed_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace culprit::measurement {

using layout::Header;
using layout::Node;
using layout::ThreadHeader;
using sealed::SectionType;

namespace {

template <typename T>
T load(const T& field) noexcept {
  return std::atomic_ref(const_cast<T&>(field)).load(std::memory_order_acquire);
}

/// The call that a thread is blocked in, if any.
struct OpenWait {
  NodeIndex node = kNoNodeIndex;
  std::uint64_t ns = 0;
  std::uint32_t mark = 0;
};

/// `end_ns` on the clock of waits.
OpenWait open_wait(const ThreadHeader& header, std::uint64_t end_ns) noexcept {
  const std::uint32_t sequence = load(header.wait_sequence);
  if ((sequence & 1) == 0) return {};
  const std::uint64_t enter = load(header.wait_enter_ns);
  OpenWait wait{.node = load(header.wait_node), .ns = end_ns - enter, .mark = load(header.wait_mark)};
  if (load(header.wait_sequence) != sequence || enter >= end_ns) return {};
  return wait;
}

bool comes_after(const Node& a, const Node& b) noexcept {
  const std::uint32_t module_a = a.place & layout::kPlaceNoModule;
  const std::uint32_t module_b = b.place & layout::kPlaceNoModule;
  if (module_a != module_b) return module_a > module_b;
  if (a.offset != b.offset) return a.offset > b.offset;
  return layout::kind_of(a.place) > layout::kind_of(b.place);
}

}  // namespace

/// One sealing of one file.
class Sealer {
 public:
  Sealer(LiveFile& file, std::uint64_t end_ns) noexcept
      : file_(file), header_(*file.header_), end_ns_(end_ns) {}
  Sealer(const Sealer&) = delete;
  Sealer& operator=(const Sealer&) = delete;
  ~Sealer() {
    if (scratch_ != nullptr) raw_unmap(scratch_, scratch_size_);
  }

  /// Writes the sealed form under a temporary name and renames it over the live file. Returns 0 or an errno.
  int run() noexcept;

 private:
  struct Counts {
    std::uint32_t nodes;
    std::uint32_t cells;
    NodeIndex epochs;  // the newest record when the sealing began
  };

  int prepare() noexcept;
  int write(int fd) noexcept;
  int open_temporary() noexcept;

  int write_tree(const ThreadTree& tree, Counts& counts) noexcept;
  void write_epochs(const ThreadTree& tree, NodeIndex newest, std::uint32_t position) noexcept;
  void write_stretches(const ThreadTree& tree, const Counts& counts, std::uint32_t position) noexcept;
  void write_units(const Counts& counts, std::uint32_t position) noexcept;
  [[nodiscard]] std::uint32_t stretch_code(std::uint64_t stretch) const noexcept;
  bool push(NodeIndex node) noexcept;
  bool push_children(const ThreadTree& tree, NodeIndex node, std::uint32_t depth) noexcept;
  bool write_node(const ThreadTree& tree, const Node& node, bool has_cell, std::uint32_t up) noexcept;
  void write_cell(const layout::Cell& cell, const layout::CellEvent* events) noexcept;
  bool read_cell(const ThreadTree& tree, NodeIndex index, const OpenWait& wait) noexcept;

  std::uint32_t known_module(std::uint32_t module) noexcept;
  void write_modules() noexcept;
  void write_process() noexcept;
  void write_threads() noexcept;
  void write_thread(const ThreadTree& tree, const Counts& counts) noexcept;
  void write_schedule(const Schedule& schedule) noexcept;
  template <std::size_t Size>
  void text(const char (&field)[Size]) noexcept {
    out_.string(field, strnlen(field, Size));
  }

  LiveFile& file_;
  const Header& header_;
  std::uint64_t end_ns_;
  SealedWriter out_;
  char temporary_[BlockFile::kPathSize + 8] = {};
  std::uint32_t threads_ = 0;
  std::uint32_t with_epochs_ = 0;  // of them
  std::uint32_t modules_ = 0;      // modules counted up to now; handlers of other threads may still add some
  std::byte* scratch_ = nullptr;
  std::size_t scratch_size_ = 0;
  // In the scratch mapping:
  Counts* counts_ = nullptr;
  std::uint64_t* last_offset_ = nullptr;  // per module, and for none
  NodeIndex* stack_ = nullptr;
  std::uint32_t* depth_ = nullptr;
  std::uint32_t* number_ = nullptr;  // by unit: the node's number in the tree that was written last, plus 1
  std::uint32_t capacity_ = 0;       // of the stack: the most nodes any tree can have
  std::uint32_t top_ = 0;
  std::uint32_t limit_ = 0;  // units of the tree being written
  layout::Cell cell_{};
  layout::CellEvent events_[kMaxEvents] = {};
};

int Sealer::prepare() noexcept {
  threads_ = file_.trees_.count();
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (const ThreadTree* tree = file_.thread(i)) capacity_ = std::max(capacity_, load(tree->header().used));
  }
  const std::size_t offsets = (kMaxModules + 1) * sizeof *last_offset_;
  const std::size_t counts = (threads_ + 1) * sizeof *counts_;
  scratch_size_ = offsets + counts + capacity_ * (sizeof *stack_ + sizeof *depth_ + sizeof *number_);
  void* scratch = raw_map(nullptr, scratch_size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  if (scratch == MAP_FAILED) return errno;
  scratch_ = static_cast<std::byte*>(scratch);
  last_offset_ = reinterpret_cast<std::uint64_t*>(scratch_);
  counts_ = reinterpret_cast<Counts*>(scratch_ + offsets);
  stack_ = reinterpret_cast<NodeIndex*>(scratch_ + offsets + counts);
  depth_ = stack_ + capacity_;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    const ThreadTree* tree = file_.thread(i);
    if (tree == nullptr) continue;
    counts_[i].epochs = load(tree->header().first_epoch);
    if (counts_[i].epochs != kNoNodeIndex) ++with_epochs_;
  }
  number_ = depth_ + capacity_;
  return 0;
}

int Sealer::open_temporary() noexcept {
  const std::size_t length = std::strlen(file_.path());
  std::memcpy(temporary_, file_.path(), length);
  std::memcpy(temporary_ + length, ".tmp", 5);
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  int fd = raw_open(temporary_, flags, kFileMode);
  if (fd < 0 &&
      errno == EEXIST) {  // from an attempt that was cut short; the name is ours as the live file's is
    ::unlink(temporary_);
    fd = raw_open(temporary_, flags, kFileMode);
  }
  return fd < 0 ? -errno : fd;
}

int Sealer::run() noexcept {
  if (const int error = prepare(); error != 0) return error;
  const int fd = open_temporary();
  if (fd < 0) return -fd;
  int error = write(fd);
  if (raw_close(fd) != 0 && error == 0 && errno != EINTR) error = errno;
  if (error == 0 && ::rename(temporary_, file_.path()) != 0) error = errno;
  if (error != 0) ::unlink(temporary_);
  return error;
}

int Sealer::write(int fd) noexcept {
  constexpr std::uint32_t kOtherSections = 3;
  const bool traced = (header_.flags & layout::kFlagTraced) != 0;
  const std::uint32_t sections = threads_ * (traced ? 2 : 1) + 2 * with_epochs_ + kOtherSections;
  if (const int error = out_.start(fd, sections); error != 0) return error;
  std::uint32_t position = 0;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    const ThreadTree* tree = file_.thread(i);
    if (tree == nullptr) continue;
    out_.begin_section(SectionType::tree, position);
    if (const int error = write_tree(*tree, counts_[i]); error != 0) return error;
    out_.end_section();
    write_epochs(*tree, counts_[i].epochs, position);
    if (counts_[i].epochs != kNoNodeIndex) write_stretches(*tree, counts_[i], position);
    if (traced) write_units(counts_[i], position);
    ++position;
  }
  write_threads();
  write_modules();  // after all that mention them
  write_process();
  return out_.finish();
}

bool Sealer::push(NodeIndex node) noexcept {
  if (node <= layout::kRootUnit || node >= limit_) return true;  // none, or newer than our view of the tree
  if (top_ == capacity_) return false;                           // more than there can be: a cycle
  stack_[top_++] = node;
  return true;
}

// The children are gathered from their search tree breadth first, in place on the stack, and sorted so that
// the first in canonical order is popped first.
bool Sealer::push_children(const ThreadTree& tree, NodeIndex node, std::uint32_t depth) noexcept {
  const std::uint32_t first = top_;
  if (!push(load(tree.node(node)->first_child))) return false;
  for (std::uint32_t i = first; i < top_; ++i) {
    const Node& child = *tree.node(stack_[i]);
    if (!push(load(child.left)) || !push(load(child.right))) return false;
  }
  std::sort(stack_ + first, stack_ + top_,
            [&tree](NodeIndex a, NodeIndex b) { return comes_after(*tree.node(a), *tree.node(b)); });
  std::fill(depth_ + first, depth_ + top_, depth);
  return true;
}

int Sealer::write_tree(const ThreadTree& tree, Counts& counts) noexcept {
  limit_ = std::min({load(tree.header().used), tree.arena().limit(), capacity_});
  const OpenWait wait = open_wait(tree.header(), layout::sampling_time(header_, end_ns_));
  std::fill(last_offset_, last_offset_ + kMaxModules + 1, 0);
  std::fill(number_, number_ + limit_, 0);
  counts.nodes = counts.cells = 0;
  std::uint32_t before = 0;  // depth of the node before
  stack_[0] = layout::kRootUnit;
  depth_[0] = 0;
  top_ = 1;
  while (top_ > 0) {
    const NodeIndex index = stack_[--top_];
    const std::uint32_t depth = depth_[top_];
    const bool has_cell = read_cell(tree, index, wait);
    if (++counts.nodes > capacity_) return EUCLEAN;
    number_[index] = counts.nodes;
    if (!write_node(tree, *tree.node(index), has_cell, depth == 0 ? 0 : before + 1 - depth)) return EUCLEAN;
    if (has_cell) {
      write_cell(cell_, events_);
      ++counts.cells;
    }
    before = depth;
    if (!push_children(tree, index, depth + 1)) return EUCLEAN;
  }
  return 0;
}

// After the thread's tree, whose numbers the records' nodes take.
void Sealer::write_epochs(const ThreadTree& tree, NodeIndex at, std::uint32_t position) noexcept {
  if (at == kNoNodeIndex) return;
  out_.begin_section(SectionType::epochs, position);
  for (std::size_t left = kEpochRecords; at != kNoNodeIndex && at + 2 <= limit_ && left > 0; --left) {
    const auto* record = tree.arena().at<const layout::EpochRecord>(at);
    at = record->next;
    const std::uint64_t count = load(record->count);
    if (record->node >= limit_ || number_[record->node] == 0 || count == 0 || record->kind == 0) continue;
    const bool of_stretch = is_stretch(static_cast<EpochKind>(record->kind));
    out_.begin_record();
    out_.varint(number_[record->node] - 1);
    out_.varint(record->kind);
    out_.varint(of_stretch ? stretch_code(record->size_class) : record->size_class);
    out_.varint(record->window);
    out_.varint(record->peers);
    out_.varint(count);
    out_.varint(load(record->total_ns));
    out_.varint(load(record->least_ns));
    if (has_order(static_cast<EpochKind>(record->kind))) out_.varint(load(record->order));
    out_.end_record();
  }
  out_.end_section();
}

// A stretch by the number of its node.
std::uint32_t Sealer::stretch_code(std::uint64_t stretch) const noexcept {
  if (stretch == kInWaitingCall) return sealed::kInCall;
  if (stretch < layout::kRootUnit || stretch >= limit_ || number_[stretch] == 0) return sealed::kNoStretch;
  return number_[stretch] - 1 + sealed::kFirstStretch;
}

// Of each cell in the order of the tree, whose nodes the stack has room for.
void Sealer::write_stretches(const ThreadTree& tree, const Counts& counts, std::uint32_t position) noexcept {
  for (NodeIndex unit = 0; unit < limit_; ++unit) {
    if (number_[unit] != 0) stack_[number_[unit] - 1] = unit;
  }
  out_.begin_section(SectionType::stretches, position);
  for (std::uint32_t i = 0; i < counts.nodes; ++i) {
    const NodeIndex at = load(tree.node(stack_[i])->cell);
    const bool has_cell = at != kNoNodeIndex && at + tree.cell_units_ <= limit_;
    out_.varint(has_cell ? stretch_code(load(tree.arena().at<const layout::Cell>(at)->stretch)) : 0);
  }
  out_.end_section();
}

// After the thread's tree, too. The stack has room for all of its nodes.
void Sealer::write_units(const Counts& counts, std::uint32_t position) noexcept {
  for (NodeIndex unit = 0; unit < limit_; ++unit) {
    if (number_[unit] != 0) stack_[number_[unit] - 1] = unit;
  }
  out_.begin_section(SectionType::units, position);
  NodeIndex before = 0;
  for (std::uint32_t i = 0; i < counts.nodes; ++i) {
    out_.zigzag(std::int64_t{stack_[i]} - before);
    before = stack_[i];
  }
  out_.end_section();
}

bool Sealer::write_node(const ThreadTree& tree, const Node& node, bool has_cell, std::uint32_t up) noexcept {
  const std::uint32_t kind = layout::kind_of(node.place);
  const std::uint32_t parent = node.parent;
  if (kind > sealed::kNodeKindMask || parent >= limit_) return false;
  const std::uint32_t module = known_module(layout::module_of(node.place));
  const bool is_root = parent == kNoNodeIndex;
  const bool same = !is_root && module == known_module(layout::module_of(tree.node(parent)->place));
  const unsigned short_up = std::min<unsigned>(up, sealed::kNodeUpMore);
  out_.byte(kind | (has_cell ? sealed::kNodeHasCell : 0) | (same ? sealed::kNodeParentsModule : 0) |
            short_up << sealed::kNodeUpShift);
  if (short_up == sealed::kNodeUpMore) out_.varint(up - sealed::kNodeUpMore);
  if (!same) out_.varint(module == cct::kNoModule ? 0 : module + 1);
  std::uint64_t& last = last_offset_[module == cct::kNoModule ? kMaxModules : module];
  out_.zigzag(static_cast<std::int64_t>(node.offset - last));
  last = node.offset;
  return true;
}

// The module, or none where the table has no such entry.
std::uint32_t Sealer::known_module(std::uint32_t module) noexcept {
  if (module == cct::kNoModule) return module;
  if (module >= modules_) modules_ = file_.modules_.size();
  return module < modules_ ? module : cct::kNoModule;
}

// The cell of a node with the open wait in it, into cell_ and events_; false if it holds nothing.
bool Sealer::read_cell(const ThreadTree& tree, NodeIndex index, const OpenWait& wait) noexcept {
  const NodeIndex at = load(tree.node(index)->cell);
  const bool waits = wait.node == index;
  if ((at == kNoNodeIndex || at + tree.cell_units_ > limit_) && !waits) return false;
  cell_ = {};
  std::fill(events_, events_ + kMaxEvents, layout::CellEvent{});
  if (at != kNoNodeIndex && at + tree.cell_units_ <= limit_) {
    const auto* cell = tree.arena().at<const layout::Cell>(at);
    cell_ = {.time_ns = load(cell->time_ns),
             .samples = load(cell->samples),
             .weight_sq = load(cell->weight_sq),
             .blocked = load(cell->blocked),
             .cpu_ns = load(cell->cpu_ns),
             .marked_ns = load(cell->marked_ns),
             .mark = load(cell->mark),
             .stretch = 0};
    const auto* events = reinterpret_cast<const layout::CellEvent*>(cell + 1);
    for (std::uint32_t i = 0; i < tree.event_count_; ++i) {
      events_[i] = {.value = load(events[i].value), .samples = load(events[i].samples)};
    }
  }
  if (waits) {
    cell_.time_ns += wait.ns;
    ++cell_.blocked;
    if (wait.mark != 0) {
      cell_.marked_ns += wait.ns;
      cell_.mark = wait.mark;
    }
  }
  bool holds = (cell_.time_ns | cell_.samples | cell_.blocked | cell_.cpu_ns | cell_.marked_ns) != 0;
  for (std::uint32_t i = 0; i < tree.event_count_; ++i) holds = holds || events_[i].samples != 0;
  return holds;
}

void Sealer::write_cell(const layout::Cell& cell, const layout::CellEvent* events) noexcept {
  const bool whole = cell.marked_ns == cell.time_ns && cell.marked_ns != 0;
  unsigned tag = static_cast<unsigned>(cell.mark & 7) << sealed::kCellMarkShift;
  if (cell.weight_sq != cell.samples) tag |= sealed::kCellWeightSq;
  if (cell.blocked != 0) tag |= sealed::kCellBlocked;
  if (cell.cpu_ns != 0) tag |= sealed::kCellCpu;
  if (cell.marked_ns != 0) tag |= sealed::kCellMarked;
  if (whole) tag |= sealed::kCellMarkedWhole;
  out_.byte(tag);
  out_.varint(cell.time_ns);
  out_.varint(cell.samples);
  if ((tag & sealed::kCellWeightSq) != 0) out_.varint(cell.weight_sq);
  if ((tag & sealed::kCellBlocked) != 0) out_.varint(cell.blocked);
  if ((tag & sealed::kCellCpu) != 0) out_.varint(cell.cpu_ns);
  if ((tag & sealed::kCellMarked) != 0 && !whole) out_.varint(cell.marked_ns);
  const std::uint32_t count = header_.event_count - (header_.flags & layout::kFlagRealtime);
  for (std::uint32_t i = 0; i < count; ++i) {
    out_.varint(events[i].value);
    out_.varint(events[i].samples);
  }
}

void Sealer::write_modules() noexcept {
  const ModuleTable& modules = file_.modules_;
  modules_ = modules.size();
  const std::uint32_t count = modules_;
  out_.begin_section(SectionType::modules, 0);
  out_.varint(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const layout::ModuleRecord& record = modules.record(i);
    out_.begin_record();
    out_.byte(record.flags);
    out_.varint(record.size);
    out_.zigzag(record.mtime_ns);
    out_.string(modules.build_id(i), record.build_id_size);
    out_.string(modules.path(i), record.path_size);
    out_.varint(record.load_address);
    const layout::ModuleCounters counters = modules.counters(i);
    out_.varint(counters.bridged);
    out_.varint(counters.partial);
    out_.end_record();
  }
  out_.end_section();
}

void Sealer::write_process() noexcept {
  out_.begin_section(SectionType::process, 0);
  text(header_.names.host);
  out_.varint(header_.pid);
  out_.byte(header_.world.rank_set);
  out_.zigzag(header_.world.rank);
  out_.varint(header_.world.size);
  text(header_.names.run_id);
  text(header_.names.mpi);
  text(header_.program);
  text(header_.directory);
  out_.varint(header_.clocks.start_ns);
  out_.varint(end_ns_);
  out_.zigzag(header_.clocks.start_realtime_ns);
  out_.byte(load(header_.end_reason));
  out_.byte(header_.flags);
  out_.varint(header_.event_count);
  for (std::uint32_t i = 0; i < header_.event_count; ++i) {
    text(header_.events[i].name);
    text(header_.events[i].unit);
    out_.varint(header_.events[i].period);
  }
  std::uint32_t arguments = 0;
  for (std::uint32_t i = 0; i < header_.counts.argument_bytes; ++i)
    arguments += header_.arguments[i] == '\0' ? 1 : 0;
  out_.varint(arguments);
  const char* argument = header_.arguments;
  for (std::uint32_t i = 0; i < arguments; ++i) {
    const std::size_t size = std::strlen(argument);
    out_.string(argument, size);
    argument += size + 1;
  }
  const std::uint32_t all_notes = load(header_.counts.notes);
  const auto notes = std::min<std::uint32_t>(all_notes, layout::kMaxNotes);
  out_.varint(notes);
  for (std::uint32_t i = 0; i < notes; ++i) text(header_.note[i].text);
  out_.varint(header_.counts.threads_lost);
  out_.varint(all_notes - notes);
  out_.varint(header_.counts.modules_lost);
  out_.varint(header_.counts.argument_count - arguments);
  out_.varint(load(header_.iterations));
  out_.varint(header_.key);
  const HostLoad& host = header_.host_load;
  for (const std::uint64_t value : {host.span_ns, std::uint64_t{host.online}, std::uint64_t{host.allowed},
                                    host.quota, host.throttled_ns, host.idle_ns})
    out_.varint(value);
  out_.varint(load(header_.samples_lost));
  out_.end_section();
}

void Sealer::write_threads() noexcept {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < threads_; ++i) count += counts_[i].nodes != 0 ? 1 : 0;
  out_.begin_section(SectionType::threads, 0);
  out_.varint(count);
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (counts_[i].nodes != 0) write_thread(*file_.thread(i), counts_[i]);
  }
  out_.end_section();
}

void Sealer::write_thread(const ThreadTree& tree, const Counts& counts) noexcept {
  const ThreadHeader& head = tree.header();
  const std::uint64_t end = load(head.end_ns);
  out_.begin_record();
  out_.varint(head.ordinal);
  out_.varint(head.tid);
  out_.byte(head.start_kind);
  const std::uint32_t module = known_module(head.start_module);
  out_.varint(module == cct::kNoModule ? 0 : module + 1);
  out_.varint(head.start_offset);
  out_.varint(head.start_ns);
  out_.varint(end != 0 ? end : end_ns_);
  out_.varint(load(head.samples));
  out_.varint(load(head.partial));
  out_.varint(load(head.partial_ns));
  out_.varint(0);
  out_.varint(load(head.full));
  out_.varint(load(head.handler_ns));
  out_.varint(counts.nodes);
  out_.varint(counts.cells);
  out_.varint(load(head.lives));
  out_.varint(layout::lived(head, end != 0 ? end : end_ns_));
  out_.varint(load(head.bridged));
  out_.varint(load(head.halvings));
  out_.varint(load(head.most_halvings));
  out_.varint(load(head.epochs_lost));
  write_schedule(head.schedule);
  out_.end_record();
}

void Sealer::write_schedule(const Schedule& schedule) noexcept {
  out_.varint(schedule.ran_ns);
  out_.varint(schedule.runnable_ns);
  out_.varint(schedule.voluntary);
  out_.varint(schedule.involuntary);
  out_.varint(schedule.processors.runs);
  for (std::uint16_t i = 0; i < schedule.processors.runs; ++i) {
    const ProcessorRun& run = schedule.processors.run[i];
    out_.varint(run.first);
    out_.varint(run.last);
    out_.varint(run.step);
  }
}

// The live file loses its name, and with the last mapping its space.
int LiveFile::replace_by_sealed(std::uint64_t end_ns, bool unused) noexcept {
  if (!unused || trees_.count() <= kPopulatedThreads) return Sealer(*this, end_ns).run();
  const BlockFile::Use live(file_);
  const int error = Sealer(*this, end_ns).run();
  if (error == 0 && live.fd() >= 0) join_space(live.fd(), file_.size());
  return error;
}

int LiveFile::keep(EndReason reason, std::uint64_t end_ns) noexcept {
  if (!open()) return EBADF;
  if (sealing_.exchange(true, std::memory_order_acq_rel)) return EALREADY;
  mark_end(reason, end_ns);
  const int error = file_.write_out();  // where it is a copy, that has to say so
  sealing_.store(false, std::memory_order_release);
  return error;
}

void LiveFile::mark_end(EndReason reason, std::uint64_t end_ns) noexcept {
  layout::set_field(*header_, header_->clocks.end_ns, end_ns);
  layout::set_field(*header_, header_->end_reason, static_cast<std::uint32_t>(reason));
}

int LiveFile::seal(EndReason reason, std::uint64_t end_ns, bool unused) noexcept {
  if (reason == EndReason::exec) return keep(reason, end_ns);
  if (!open()) return EBADF;
  if (sealing_.exchange(true, std::memory_order_acq_rel)) return EALREADY;
  mark_end(reason, end_ns);
  modules_.stat_new();
  const int error = replace_by_sealed(end_ns, unused);
  if (error == 0) {
    trees_.close();
    open_.store(false, std::memory_order_release);
    file_.close(false);
  } else {
    file_.write_out();  // the live file is what stays
  }
  sealing_.store(false, std::memory_order_release);
  return error;
}

}  // namespace culprit::measurement
