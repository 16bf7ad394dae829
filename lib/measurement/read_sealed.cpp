// Reads the sealed form of a measurement (docs/formats.md), and trusts nothing in it: checksums are compared,
// sections may not overlap, and counts are compared with the bytes that are there before memory is taken for
// them. Nearly all time goes into trees, whose loop has few branches on what cannot be predicted: fields are
// found by a table, parents by the path to the last node, and numbers are joined by PEXT where the processor
// is good at it.
#include "measurement/checksum.hpp"
#include "measurement/decoder.hpp"
#include "measurement/live_layout.hpp"
#include "measurement/reading.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace culprit::measurement {

using sealed::Header;
using sealed::SectionEntry;
using sealed::SectionType;

namespace {

// Readers of traces make tables of this many; far above what the largest arena has.
constexpr std::int64_t kMostUnits = std::int64_t{1} << 26;
constexpr std::uint64_t kMaxSection = std::uint64_t{1} << 30;  // far above what the largest arena gives

using TreeSize = SealedScratch::TreeSize;

/// Where the fields of a cell lie among its numbers.
struct CellFields {
  static constexpr unsigned kMost = 6;
  static constexpr unsigned kZero = kMost;  ///< behind them: of what is not there
  unsigned count = 2;
  unsigned weight_sq = 1, blocked = kZero, cpu = kZero, marked = kZero;
};

constexpr unsigned kCellFieldsMask = (1U << sealed::kCellMarkShift) - 1;

/// By the low bits of a cell's tag: which fields there are nobody could predict, so no branch asks.
constexpr auto kCellFields = [] {
  std::array<CellFields, kCellFieldsMask + 1> all;
  for (unsigned tag = 0; tag < all.size(); ++tag) {
    CellFields& fields = all[tag];
    if ((tag & sealed::kCellWeightSq) != 0) fields.weight_sq = fields.count++;
    if ((tag & sealed::kCellBlocked) != 0) fields.blocked = fields.count++;
    if ((tag & sealed::kCellCpu) != 0) fields.cpu = fields.count++;
    if ((tag & sealed::kCellMarkedWhole) != 0) {
      fields.marked = 0;
    } else if ((tag & sealed::kCellMarked) != 0) {
      fields.marked = fields.count++;
    }
  }
  return all;
}();

/// Missing in files of older writers.
void read_host_load(Decoder& in, HostLoad& load) {
  load.span_ns = in.varint();
  load.online = in.number();
  load.allowed = in.number();
  load.quota = in.varint();
  load.throttled_ns = in.varint();
  load.idle_ns = in.varint();
  if (!load.known()) load = {};
}

/// Likewise.
void read_schedule(Decoder& in, Schedule& schedule) {
  schedule.ran_ns = in.varint();
  schedule.runnable_ns = in.varint();
  schedule.voluntary = in.number();
  schedule.involuntary = in.number();
  const std::uint64_t runs = in.varint();
  if (runs > ProcessorSet::kRuns) in.fail("holds an impossible set of processors");
  schedule.processors.runs = static_cast<std::uint16_t>(runs);
  for (std::uint64_t i = 0; i < runs; ++i) {
    const auto small = [&in] {
      return static_cast<std::uint16_t>(std::min<std::uint64_t>(in.varint(), 0xffff));
    };
    ProcessorRun& run = schedule.processors.run[i];
    run.first = small();
    run.last = small();
    run.step = small();
  }
  if (!schedule.processors.is_sound()) in.fail("holds an impossible set of processors");
}

class SealedReader {
 public:
  SealedReader(InputFile& file, SealedScratch& scratch, Measurement& result)
      : file_(file),
        table_(scratch.table),
        sizes_(scratch.sizes),
        last_offset_(scratch.last_offset),
        own_(scratch.own),
        path_(scratch.path),
        module_bytes_(scratch.modules),
        result_(result) {
    read_table();
  }

  void read(Extent extent);

 private:
  void read_table();
  [[nodiscard]] const SectionEntry& find(SectionType type, std::uint32_t index, const char* name) const;
  std::span<const std::byte> section_bytes(SectionType type, std::uint32_t index, const char* name);
  template <Joining kJoining = Joining::shifts>
  BasicDecoder<kJoining> section(SectionType type, std::uint32_t index, const char* name) {
    return {file_.path(), name, section_bytes(type, index, name)};
  }

  void read_process(Decoder in);
  void read_modules();
  void read_module(Decoder record, Module& module) const;
  void read_threads(Decoder in);
  template <Joining kJoining>
  void read_tree(std::uint32_t index);
  [[nodiscard]] bool can_hold(std::size_t bytes, const TreeSize& size) const;
  void make_room(ThreadProfile& thread, const TreeSize& size);
  void read_tree_by_pext(std::uint32_t index);
  template <Joining kJoining>
  void read_cell(BasicDecoder<kJoining>& in, ThreadProfile& thread) const;
  void read_epochs(std::uint32_t index, ThreadProfile& thread);
  void read_stretches(std::uint32_t index, ThreadProfile& thread);
  [[nodiscard]] bool has_section(SectionType type, std::uint32_t index) const;
  void read_units(std::uint32_t index, ThreadProfile& thread);
  [[nodiscard]] std::uint32_t module(const Decoder& in, std::uint32_t number) const;

  InputFile& file_;
  std::vector<SectionEntry>& table_;
  std::vector<TreeSize>& sizes_;
  std::vector<std::uint64_t>& last_offset_;
  std::vector<std::uint8_t>& own_;
  std::vector<cct::NodeId>& path_;
  std::vector<std::byte>& module_bytes_;
  Measurement& result_;
  std::size_t event_columns_ = 0;
  bool values_ = true;  ///< are wanted
};

void SealedReader::read_table() {
  const auto& path = file_.path();
  Header header{};
  if (file_.size() < sizeof header) throw damaged(path, "it ends within its header");
  std::memcpy(&header, file_.view(0, sizeof header).data(), sizeof header);
  check_version(path, header.version, sealed::kVersion, sealed::kVersion);
  if (XXH64(&header, offsetof(Header, header_checksum), 0) != header.header_checksum) {
    throw damaged(path, "the checksum of its header is wrong");
  }
  if (header.file_size > file_.size()) {
    throw damaged(path, "only " + std::to_string(file_.size()) + " of its " +
                            std::to_string(header.file_size) + " bytes are there");
  }
  const std::uint64_t bytes = std::uint64_t{header.section_count} * header.entry_size;
  if (header.header_size < sizeof header || header.entry_size < sizeof(SectionEntry) ||
      bytes > header.file_size || header.header_size > header.file_size - bytes) {
    throw damaged(path, "its section table is out of bounds");
  }
  const auto table = file_.view(header.header_size, bytes);
  if (XXH64(table.data(), table.size(), 0) != header.table_checksum) {
    throw damaged(path, "the checksum of its section table is wrong");
  }
  table_.resize(header.section_count);
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < table_.size(); ++i) {
    SectionEntry& entry = table_[i];
    std::memcpy(&entry, table.data() + i * header.entry_size, sizeof entry);
    // Sections do not overlap, so together they are no larger than the file: what is allocated for them is
    // bounded.
    if (entry.size > header.file_size - total || entry.offset > header.file_size - entry.size) {
      throw damaged(path, "section " + std::to_string(i) + " is out of bounds");
    }
    total += entry.size;
  }
}

const SectionEntry& SealedReader::find(SectionType type, std::uint32_t index, const char* name) const {
  const auto is_it = [type, index](const SectionEntry& entry) {
    return entry.type == static_cast<std::uint32_t>(type) && entry.index == index;
  };
  // Written in this order, trees first: the common case is found at once.
  if (index < table_.size() && is_it(table_[index])) return table_[index];
  const auto found = std::ranges::find_if(table_, is_it);
  if (found == table_.end()) throw damaged(file_.path(), std::string(name) + " is missing");
  return *found;
}

std::span<const std::byte> SealedReader::section_bytes(SectionType type, std::uint32_t index,
                                                       const char* name) {
  const SectionEntry& entry = find(type, index, name);
  if (entry.size > kMaxSection) throw damaged(file_.path(), std::string(name) + " is impossibly large");
  const auto bytes = file_.view(entry.offset, static_cast<std::size_t>(entry.size));
  if (XXH64(bytes.data(), bytes.size(), 0) != entry.checksum) {
    throw damaged(file_.path(), "the checksum of " + std::string(name) + " is wrong");
  }
  return bytes;
}

void SealedReader::read(Extent extent) {
  read_process(section(SectionType::process, 0, "the process section"));
  read_modules();
  read_threads(section(SectionType::threads, 0, "the thread section"));
  for (ThreadProfile& thread : result_.threads) {
    thread.own_frames = false;
    thread.cell.clear();
    thread.cells.clear();
    thread.events.clear();
    thread.epochs.clear();
    thread.units.clear();
  }
  values_ = extent == Extent::whole;
  static const bool fast = machine::takes_bits();
  for (std::uint32_t i = 0; i < result_.threads.size(); ++i) {
    fast ? read_tree_by_pext(i) : read_tree<Joining::shifts>(i);
    read_epochs(i, result_.threads[i]);
    read_stretches(i, result_.threads[i]);
    if (result_.process.traced) read_units(i, result_.threads[i]);
  }
  result_.sealed = true;
  result_.losses.clear();
}

void SealedReader::read_process(Decoder in) {
  ProcessInfo& process = result_.process;
  in.string(process.host);
  process.pid = in.varint();
  const bool has_rank = in.byte() != 0;
  const auto rank = static_cast<std::int32_t>(in.zigzag());
  process.rank = has_rank ? std::optional(rank) : std::nullopt;
  process.world_size = in.number();
  in.string(process.run_id);
  in.string(process.mpi);
  in.string(process.program);
  in.string(process.directory);
  process.start_ns = in.varint();
  process.end_ns = in.varint();
  process.start_realtime_ns = in.zigzag();
  if (!can_be(process.start_ns, process.end_ns, process.start_realtime_ns))
    in.fail("holds a time that cannot be");
  process.end = end_reason(in.byte());
  const unsigned flags = in.byte();
  process.has_realtime = (flags & layout::kFlagRealtime) != 0;
  process.traced = (flags & layout::kFlagTraced) != 0;
  process.forked = (flags & layout::kFlagForked) != 0;
  process.whole_world = (flags & layout::kFlagWholeWorld) != 0;
  const std::uint64_t events = in.varint();
  if (events > kMaxEvents + 1 || (process.has_realtime && events == 0))
    in.fail("has an impossible number of events");
  process.events.resize(events);
  for (EventInfo& event : process.events) {
    in.string(event.name);
    in.string(event.unit);
    event.period = in.varint();
  }
  event_columns_ = events - (process.has_realtime ? 1 : 0);
  process.arguments.clear();
  for (std::uint64_t i = in.varint(); i > 0; --i) process.arguments.push_back(in.string());
  process.notes.clear();
  for (std::uint64_t i = in.varint(); i > 0; --i) process.notes.push_back(in.string());
  Losses losses;
  losses.threads = in.varint();
  losses.notes = in.varint();
  losses.modules = in.varint();
  losses.arguments = in.varint();
  process.iterations = in.remaining() > 0 ? in.varint() : 0;
  process.key = in.remaining() > 0 ? in.varint() : 0;
  process.host_load = {};
  if (in.remaining() > 0) read_host_load(in, process.host_load);
  process.samples_lost = in.remaining() > 0 ? in.varint() : 0;
  note_losses(process, losses);
}

void SealedReader::read_modules() {
  constexpr const char* kName = "the module section";
  const std::span<const std::byte> bytes = section_bytes(SectionType::modules, 0, kName);
  if (!module_bytes_.empty() && bytes.size() == module_bytes_.size() &&
      std::memcmp(bytes.data(), module_bytes_.data(), bytes.size()) == 0) {
    return;
  }
  module_bytes_.clear();  // until the modules are those of these bytes
  result_.modules.clear();
  Decoder in(file_.path(), kName, bytes);
  for (std::uint64_t i = in.varint(); i > 0; --i) {
    const Decoder record = in.record();
    read_module(record, result_.modules.emplace_back());
  }
  last_offset_.resize(result_.modules.size() + 1);
  own_.assign(result_.modules.size() + 1, 0);
  std::ranges::transform(result_.modules, own_.begin(), [](const Module& m) { return m.own ? 1 : 0; });
  module_bytes_.assign(bytes.begin(), bytes.end());
}

void SealedReader::read_module(Decoder record, Module& module) const {
  const unsigned flags = record.byte();
  module.own = (flags & layout::kModuleOwn) != 0;
  module.executable = (flags & layout::kModuleExecutable) != 0;
  module.vdso = (flags & layout::kModuleVdso) != 0;
  module.no_unwind = (flags & layout::kModuleNoUnwind) != 0;
  module.region = (flags & layout::kModuleRegion) != 0;
  module.key.size = record.varint();
  module.key.mtime_ns = record.zigzag();
  module.key.build_id = hex(record.get_bytes());
  module.key.path = record.string();
  record.varint();                      // the load address
  if (record.remaining() == 0) return;  // from an older writer
  module.bridged = record.varint();
  module.partial = record.varint();
}

std::uint32_t SealedReader::module(const Decoder& in, std::uint32_t number) const {
  if (number > result_.modules.size()) in.fail("names a module that does not exist");
  return number == 0 ? cct::kNoModule : number - 1;
}

void SealedReader::read_threads(Decoder in) {
  const std::uint64_t count = in.varint();
  if (count > in.remaining()) in.fail("claims more threads than it holds");
  result_.threads.resize(count);
  sizes_.clear();
  for (ThreadProfile& thread : result_.threads) {
    Decoder record = in.record();
    thread.ordinal = record.number();
    thread.tid = record.varint();
    thread.start_routine.kind = frame_kind(record.byte());
    thread.start_routine.module = module(record, record.number());
    thread.start_routine.offset = record.varint();
    thread.start_ns = record.varint();
    thread.end_ns = record.varint();
    thread.lives = 1;
    thread.lived_ns = thread.end_ns > thread.start_ns ? thread.end_ns - thread.start_ns : 0;
    thread.quality = {};
    thread.schedule = {};
    thread.quality.samples = record.varint();
    thread.quality.partial = record.varint();
    thread.quality.partial_ns = record.varint();
    record.varint();  // unused
    thread.quality.full = record.varint();
    thread.quality.handler_ns = record.varint();
    const std::uint32_t nodes = record.number();
    sizes_.push_back({.nodes = nodes, .cells = record.number()});
    if (record.remaining() == 0) continue;  // from an older writer: one thread
    thread.lives = std::max(record.number(), std::uint32_t{1});
    thread.lived_ns = record.varint();
    if (record.remaining() != 0) thread.quality.bridged = record.varint();
    if (record.remaining() == 0) continue;
    thread.quality.halvings = record.varint();
    thread.quality.most_halvings = std::min(record.varint(), kMaxHalvings);
    if (record.remaining() != 0) thread.quality.epochs_lost = record.varint();
    if (record.remaining() != 0) read_schedule(record, thread.schedule);
  }
}

/// A node takes two bytes at least, a cell three, and an event two: counts cannot ask for more than is there.
bool SealedReader::can_hold(std::size_t bytes, const TreeSize& size) const {
  return size.nodes != 0 && size.nodes <= bytes / 2 && size.cells <= bytes / (3 + 2 * event_columns_);
}

void SealedReader::make_room(ThreadProfile& thread, const TreeSize& size) {
  thread.nodes.resize(size.nodes);
  thread.cell.resize(size.nodes);
  thread.cells.reserve(size.cells);
  thread.events.reserve(size.cells * event_columns_);
  std::ranges::fill(last_offset_, 0);
  // From the root to the node read last: how far up the next one's parent is nobody could predict, so no loop
  // goes there.
  path_.resize(std::size_t{size.nodes} + 1);
  path_[0] = cct::kNoNode;
}

template <Joining kJoining>
void SealedReader::read_tree(std::uint32_t index) {
  BasicDecoder<kJoining> in = section<kJoining>(SectionType::tree, index, "a tree");
  ThreadProfile& thread = result_.threads[index];
  const TreeSize size = sizes_[index];
  if (!can_hold(in.remaining(), size)) in.fail("is shorter than its node count says");
  make_room(thread, size);
  // Where they lie, no store into one of them can change; compilers cannot know that of members.
  cct::Node* const nodes = thread.nodes.data();
  std::uint32_t* const cell_of = thread.cell.data();
  cct::NodeId* const path = path_.data();
  std::uint64_t* const last_offset = last_offset_.data();
  const auto modules = static_cast<std::uint32_t>(result_.modules.size());
  const std::uint8_t* const own = own_.data();
  std::size_t depth = 0;
  std::uint32_t cells = 0;
  unsigned any_own = 0;
  for (cct::NodeId id = 0; id < size.nodes; ++id) {
    const unsigned tag = in.byte();
    std::uint64_t up = tag >> sealed::kNodeUpShift;
    if (up == sealed::kNodeUpMore) [[unlikely]]
      up += in.varint();
    if (up > depth) in.fail("is not a tree");
    depth -= up;
    const cct::NodeId parent = path[depth];
    path[++depth] = id;
    const unsigned kind = tag & sealed::kNodeKindMask;
    const bool is_root = id == 0;
    if (kind >= cct::kFrameKinds || is_root != (parent == cct::kNoNode) || is_root != (kind == 0)) {
      in.fail("is not a tree");
    }
    std::uint32_t module = cct::kNoModule;
    if (!is_root && (tag & sealed::kNodeParentsModule) != 0) {
      module = nodes[parent].frame.module;
    } else if (const std::uint32_t number = in.number(); number != 0) {
      if (number > modules) in.fail("names a module that does not exist");
      module = number - 1;
    }
    const std::uint32_t row = std::min(module, modules);
    any_own |= own[row];
    std::uint64_t& last = last_offset[row];
    const std::uint64_t offset = last + static_cast<std::uint64_t>(in.zigzag());
    last = offset;
    nodes[id] = {.frame = {.offset = offset, .module = module, .kind = static_cast<cct::FrameKind>(kind)},
                 .parent = parent};
    cell_of[id] = cct::kNoNode;
    if ((tag & sealed::kNodeHasCell) != 0) {
      cell_of[id] = cells++;
      read_cell(in, thread);
    }
  }
  thread.own_frames = any_own != 0;
  if (!values_) {
    thread.cells.resize(cells);
    thread.events.resize(cells * event_columns_);
  }
}

CULPRIT_TAKES_BITS
void SealedReader::read_tree_by_pext(std::uint32_t index) {
  read_tree<Joining::pext>(index);
}

bool SealedReader::has_section(SectionType type, std::uint32_t index) const {
  return std::ranges::any_of(table_, [=](const SectionEntry& entry) {
    return entry.type == static_cast<std::uint32_t>(type) && entry.index == index;
  });
}

// Where a thread has none the section is absent; it follows its tree.
void SealedReader::read_epochs(std::uint32_t index, ThreadProfile& thread) {
  if (!has_section(SectionType::epochs, index)) return;
  Decoder in = section(SectionType::epochs, index, "the accumulators of a thread");
  while (in.remaining() > 0) {
    Decoder record = in.record();
    Epoch& epoch = thread.epochs.emplace_back();
    epoch.node = record.number();
    if (epoch.node >= thread.nodes.size()) record.fail("name a node that does not exist");
    epoch.kind = epoch_kind(record.varint());
    epoch.size_class = record.number();
    epoch.window = record.varint();
    epoch.peers = record.varint();
    epoch.count = record.varint();
    epoch.total_ns = record.varint();
    epoch.least_ns = record.varint();
    if (!has_order(epoch.kind)) continue;
    if (is_stretch(epoch.kind) && !is_known(Stretch{epoch.size_class}, thread))
      record.fail("name a call that does not exist");
    epoch.squares = squares_of(epoch.kind, record.varint());
  }
}

// Where a thread has no accumulators the section is absent. The values may not be wanted.
void SealedReader::read_stretches(std::uint32_t index, ThreadProfile& thread) {
  if (!values_ || !has_section(SectionType::stretches, index)) return;
  Decoder in = section(SectionType::stretches, index, "the stretches of a thread");
  for (const std::uint32_t cell : thread.cell) {
    const Stretch stretch{in.number()};
    if (!is_known(stretch, thread)) in.fail("name a call that does not exist");
    if (cell != cct::kNoNode) thread.cells[cell].stretch = stretch;
  }
}

void SealedReader::read_units(std::uint32_t index, ThreadProfile& thread) {
  Decoder in = section(SectionType::units, index, "the units of a thread");
  std::int64_t unit = 0;
  for (std::size_t left = thread.nodes.size(); left > 0; --left) {
    unit += in.zigzag() % kMostUnits;
    if (unit < 0 || unit >= kMostUnits) in.fail("hold a number out of range");
    thread.units.push_back(static_cast<std::uint32_t>(unit));
  }
}

template <Joining kJoining>
void SealedReader::read_cell(BasicDecoder<kJoining>& in, ThreadProfile& thread) const {
  const unsigned tag = in.byte();
  const CellFields& fields = kCellFields[tag & kCellFieldsMask];
  if (!values_) {
    for (std::size_t i = 0; i < fields.count + 2 * event_columns_; ++i) (void)in.varint();
    return;
  }
  std::uint64_t numbers[CellFields::kMost + 1];
  for (unsigned i = 0; i < fields.count; ++i) numbers[i] = in.varint();
  numbers[CellFields::kZero] = 0;
  const Cell cell{.time_ns = numbers[0],
                  .samples = numbers[1],
                  .weight_sq = numbers[fields.weight_sq],
                  .blocked = numbers[fields.blocked],
                  .cpu_ns = numbers[fields.cpu],
                  .marked_ns = numbers[fields.marked],
                  .mark = wait_kind(tag >> sealed::kCellMarkShift)};
  thread.cells.push_back(cell);
  for (std::size_t i = 0; i < event_columns_; ++i) {
    EventValue& value = thread.events.emplace_back();
    value.value = in.varint();
    value.samples = in.varint();
  }
}

}  // namespace

void read_sealed(InputFile& file, Extent extent, SealedScratch& scratch, Measurement& result) {
  SealedReader(file, scratch, result).read(extent);
}

}  // namespace culprit::measurement
