// The reader of a time line (docs/algorithms.md 13): decodes one block at a time into records, undoing the
// differences; zeros behind the block let a number end there before it is checked that it did not get so far.
// Trusts nothing. Cost: 25 to 40 million records per second and thread (docs/figures.md).
#include "bytes/varint.hpp"
#include "measurement/reading.hpp"
#include "measurement/trace.hpp"

#include <algorithm>

namespace culprit::measurement::trace {
namespace {

// Zeros after a block, in which the longest head of a record or operation ends: it is checked afterwards that
// it did not get there.
constexpr std::size_t kPadding = 128;

}  // namespace

ThreadRecords::ThreadRecords(const ProcessTrace& trace, const ProcessTrace::Thread& thread,
                             std::span<const std::uint32_t> units, std::uint64_t from_ns)
    : trace_(trace),
      thread_(thread),
      buffer_(std::make_unique_for_overwrite<unsigned char[]>(kPayload + kPadding)) {
  if (!units.empty()) nodes_.resize(std::size_t{*std::ranges::max_element(units)} + 1, kNoNodeIndex);
  for (std::size_t i = 0; i < units.size(); ++i) nodes_[units[i]] = static_cast<std::uint32_t>(i);
  while (next_block_ < thread.blocks.size() && thread.blocks[next_block_].last_ns < from_ns) ++next_block_;
}

void ThreadRecords::fail(const char* what) const {
  throw damaged(trace_.path(), std::string("a time line ") + what);
}

void ThreadRecords::check_end() const {
  if (at_ > end_) fail("ends early");
}

// May read into the padding, never beyond.
inline std::uint64_t ThreadRecords::varint() {
  std::uint64_t value = 0;
  if (!bytes::read_varint([this] { return *at_++; }, value)) fail("holds a number out of range");
  return value;
}

inline std::int64_t ThreadRecords::zigzag() {
  return bytes::unzigzag(varint());
}

inline std::uint32_t ThreadRecords::number() {
  const std::uint64_t value = varint();
  if (value > 0xffffffff) fail("holds a number out of range");
  return static_cast<std::uint32_t>(value);
}

inline Context ThreadRecords::context() {
  const Context context = number() - 1;
  return context < trace_.definitions().size() ? context : kNoContext;
}

inline std::uint32_t ThreadRecords::node_of(std::uint32_t unit) {
  if (nodes_.empty()) return unit;
  if (unit < nodes_.size() && nodes_[unit] != kNoNodeIndex) return nodes_[unit];
  return 0;  // the process was killed while its file was copied
}

bool ThreadRecords::next_block() {
  if (next_block_ == thread_.blocks.size()) return false;
  const ProcessTrace::Thread::Block& block = thread_.blocks[next_block_];
  if (block.sequence != next_block_++) fail("lacks a block");
  trace_.read_block(thread_.ordinal, block, reinterpret_cast<std::byte*>(buffer_.get()));
  at_ = buffer_.get();
  end_ = at_ + block.used;
  std::fill_n(buffer_.get() + block.used, kPadding, static_cast<unsigned char>(0));
  if (block.base_ns < state_.time) fail("goes back in time");
  if (block.last_ns > kEndOfTime) fail("goes beyond the end of time");
  state_.start(block.base_ns);
  last_ns_ = block.last_ns;
  return true;
}

bool ThreadRecords::next(Record& record) {
  for (;;) {
    while (at_ == end_) {
      if (!next_block()) return false;
    }
    const unsigned lead = *at_++;
    switch (lead & kRecordMask) {
      case kSample:
        if ((lead & kReading) != 0) {
          read_reading(lead, record);
        } else {
          read_sample(lead, record);
        }
        return true;
      case kCall:
        read_call(lead, record);
        return true;
      case kThreadWait:
        read_wait(lead, record);
        return true;
      case kContinuation: {  // of a call in a block that was left out
        record.operations.clear();
        Operation empty;
        read_operations(empty, false, record);
        break;
      }
    }
  }
}

void ThreadRecords::read_sample(unsigned lead, Record& record) {
  const std::uint64_t since = varint();
  if ((lead & kSampleWeight) != 0) {
    const std::uint64_t weight = varint();
    if ((weight & 1) != 0) state_.unit = weight >> 1;
    state_.weight = (weight & 1) != 0 ? state_.unit : (weight >> 1) * state_.unit;
  }
  end_sample(since, record);
  record.kind = RecordKind::sample;
  record.wait = static_cast<std::uint8_t>(wait_kind(lead >> kSampleWaitShift & kSampleWaitMask));
  record.enter_ns = state_.time - std::min(state_.weight, state_.time);
}

void ThreadRecords::read_reading(unsigned lead, Record& record) {
  const std::uint64_t since = varint();
  const unsigned event = lead >> kSampleWaitShift & kSampleWaitMask;
  if ((lead & kSampleWeight) != 0) state_.values[event] = varint();
  end_sample(since, record);
  record.kind = RecordKind::reading;
  record.wait = 0;
  record.event = static_cast<std::uint8_t>(event);
  record.value = state_.values[event];
  record.enter_ns = state_.time;
}

/// What samples and readings have in common.
void ThreadRecords::end_sample(std::uint64_t since, Record& record) {
  state_.sampled_node += static_cast<std::uint32_t>(zigzag());
  check_end();
  if (since > (UINT64_MAX - state_.time) >> kSampleTimeShift) fail("goes beyond the end of time");
  state_.time += since << kSampleTimeShift;
  if (state_.time > last_ns_) fail("goes beyond the end of its block");
  record.any = false;
  record.exit_ns = state_.time;
  record.node = node_of(state_.sampled_node);
  record.operations.clear();
}

/// Advances the time to the end of what is read; returns how long it took.
std::uint64_t ThreadRecords::duration() {
  const std::uint64_t since = varint();
  const std::uint64_t duration = varint();
  if (since > UINT64_MAX - state_.time || duration > state_.time + since) fail("goes beyond the end of time");
  state_.time += since;
  if (state_.time > last_ns_) fail("goes beyond the end of its block");
  return duration;
}

void ThreadRecords::read_wait(unsigned lead, Record& record) {
  const bool held = lead != kShortWaits && (lead & kWaitHolder) != 0;
  const auto kind = static_cast<WaitKind>((held ? lead - kWaitHolder : lead) >> kSampleWaitShift);
  std::uint32_t node = 0;
  record.holder = {};
  if (lead == kShortWaits) {
    record.kind = RecordKind::short_waits;
    record.count = number();
    record.value = varint();
    record.enter_ns = state_.time;
  } else if (lead == kRegion || lead == kParallelRegion) {
    const std::uint64_t ns = duration();
    record.kind = lead == kRegion ? RecordKind::marked_region : RecordKind::parallel_region;
    record.enter_ns = state_.time - ns;
    node = node_of(number());
  } else if (kind >= WaitKind::omp_barrier && kind <= WaitKind::join) {
    const std::uint64_t ns = duration();
    record.kind = RecordKind::thread_wait;
    record.enter_ns = state_.time - ns;
    if (held) {
      const std::uint32_t thread = number();
      record.holder = {.thread = thread, .released_ns = state_.time - std::min(varint(), ns)};
    }
  } else {
    fail("holds no record where one begins");
  }
  check_end();
  record.wait = record.kind == RecordKind::thread_wait ? static_cast<std::uint8_t>(kind) : 0;
  record.any = false;
  record.exit_ns = state_.time;
  record.node = node;
  record.operations.clear();
}

void ThreadRecords::read_call(unsigned lead, Record& record) {
  const std::uint64_t duration = this->duration();
  unsigned place = 0;
  if ((lead & kCallNode) != 0) {
    const std::uint32_t node = number();
    place = BlockState::place_of(node);
    state_.places[place] = {.node = node, .operation = {}};
  } else {
    place = *at_++;
    if (place >= state_.places.size()) fail("names a place that does not exist");
  }
  check_end();
  record.kind = RecordKind::call;
  record.wait = 0;
  record.any = (lead & kCallAny) != 0;
  record.exit_ns = state_.time;
  record.enter_ns = state_.time - duration;
  record.node = node_of(state_.places[place].node);
  record.operations.clear();
  if ((lead & kCallOperations) != 0) read_operations(state_.places[place].operation, true, record);
}

// The first is coded against `before`, which it becomes without its id where that belongs to a place.
void ThreadRecords::read_operations(Operation& before, bool of_place, Record& record) {
  Operation operation = before;
  bool first = of_place;
  for (;;) {
    const bool more = read_operation(operation);
    if (record.operations.size() == kMaxOperations) fail("has a call with too many operations");
    record.operations.push_back(operation);
    if (first) {
      before = operation;
      before.id = 0;
      first = false;
    }
    if (!more) return;
    if (at_ != end_) continue;
    if (!continue_call()) return;
    operation = {};
  }
}

/// The rest of a call stands at the beginning of the next block, unless the process was killed before that.
bool ThreadRecords::continue_call() {
  if (next_block_ == thread_.blocks.size()) return false;
  if (!next_block()) return false;
  if ((*at_ & kRecordMask) != kContinuation) fail("lacks the rest of a call");
  ++at_;
  return true;
}

/// True if another one follows.
inline bool ThreadRecords::read_operation(Operation& operation) {
  const unsigned mask = *at_++;
  if ((mask & kOperationKind) != 0) {
    const unsigned kind = *at_++;
    operation.kind = kind < kOperationKinds ? static_cast<OperationKind>(kind) : OperationKind::none;
    set_flags(operation, *at_++);
  }
  if ((mask & kOperationContext) != 0) operation.context = context();
  if ((mask & kOperationPeer) != 0) operation.peer = static_cast<std::int32_t>(zigzag());
  if ((mask & kOperationTag) != 0) operation.tag = static_cast<std::int32_t>(zigzag());
  if ((mask & kOperationBytes) != 0) operation.bytes = varint();
  operation.id = 0;
  if ((mask & kOperationId) != 0) {
    state_.last_id += static_cast<std::uint64_t>(zigzag());
    operation.id = state_.last_id;
  }
  if ((mask & kOperationRest) != 0) {
    operation.group = context();
    operation.made = context();
    operation.bytes_received = varint();
  }
  check_end();
  return (mask & kOperationMore) != 0;
}

}  // namespace culprit::measurement::trace
