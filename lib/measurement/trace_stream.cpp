// The writer of a time line: records are coded as differences from their predecessors in the block, numbers
// in groups of seven bits, into a ring of blocks that the flusher thread empties into the file
// (docs/formats.md, Trace; docs/algorithms.md 13). Async-signal-safe. Cost: ten bytes and some ten
// nanoseconds per MPI call, six bytes per sample (docs/figures.md).
#include "measurement/trace_stream.hpp"

#include "bytes/varint.hpp"
#include "measurement/raw_memory.hpp"
#include "measurement/sealed_layout.hpp"
#include "measurement/trace_file.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <sys/syscall.h>
#include <unistd.h>

namespace culprit::measurement {

using trace::Operation;

namespace {

// What the longest forms take, generously: five or ten bytes per number.
constexpr std::size_t kLargestSample = 32;
constexpr std::size_t kLargestHead = 32;
constexpr std::size_t kLargestOperation = 64;

unsigned char* put(unsigned char* at, std::uint64_t value) noexcept {
  bytes::write_varint(value, [&at](unsigned char group) { *at++ = group; });
  return at;
}
unsigned char* put_signed(unsigned char* at, std::int64_t value) noexcept {
  return put(at, sealed::zigzag(value));
}
unsigned char* put_context(unsigned char* at, trace::Context context) noexcept {
  return put(at, static_cast<std::uint32_t>(context + 1));
}

bool short_of_descriptors(int error) noexcept {
  return error == EMFILE || error == ENFILE;
}

/// No handler of the program's, which might jump away, runs while this lives.
class SignalsHeld {
 public:
  SignalsHeld() noexcept {
    const std::uint64_t all = ~std::uint64_t{0};
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before_, sizeof before_);
  }
  ~SignalsHeld() { syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof before_); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  std::uint64_t before_ = 0;
};

}  // namespace

int TraceStream::start(TraceFile& file, std::uint32_t number) noexcept {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* memory = raw_map(nullptr, kBuffers * trace::kSlot, PROT_READ | PROT_WRITE, flags);
  if (memory == MAP_FAILED) return errno;
  file_ = &file;
  number_ = number;
  buffers_.store(static_cast<unsigned char*>(memory), std::memory_order_release);
  return 0;
}

void TraceStream::release() noexcept {
  unsigned char* memory = buffers_.exchange(nullptr, std::memory_order_acq_rel);
  if (memory != nullptr) raw_unmap(memory, kBuffers * trace::kSlot);
}

// All blocks but the last are complete.
int TraceStream::flush_blocks(bool complete) noexcept {
  const std::uint32_t opened = opened_.load(std::memory_order_acquire);
  std::uint32_t sequence = flushed_.load(std::memory_order_relaxed);
  if (sequence == opened) return 0;
  const BlockFile::Use use(file_->blocks());
  if (use.fd() < 0) return -use.fd();
  for (; sequence != opened; ++sequence) {
    const bool whole = complete || sequence + 1 != opened;
    if (const int error =
            file_->write_block(use, *block(sequence), slots_[sequence % kBuffers], written_, whole);
        error != 0)
      return error;
    if (!whole) break;
    written_ = 0;
    flushed_.store(sequence + 1, std::memory_order_release);
  }
  return 0;
}

void TraceStream::flush(bool wait) noexcept {
  if (!file_->is_open() || file_->error() != 0) return;
  const int saved_errno = errno;
  {
    const SignalsHeld held;
    if (!claim(flushing_, wait)) return;
    const int error = flush_blocks(false);
    flushing_.store(false, std::memory_order_release);
    if (error != 0 && !short_of_descriptors(error)) file_->stop(trace::kWriteFailed, error);
  }
  errno = saved_errno;
}

bool TraceStream::open_block(std::uint64_t base_ns, bool wait) noexcept {
  const std::uint32_t sequence = opened_.load(std::memory_order_relaxed);
  const auto full = [&] { return sequence - flushed_.load(std::memory_order_acquire) >= kBuffers; };
  if (full()) {
    flush(wait);
    if (full()) {
      file_->count_dropped();
      return false;
    }
  }
  const std::uint32_t slot = file_->claim_slot();
  if (slot == 0) return false;
  slots_[sequence % kBuffers] = slot;
  trace::BlockHeader* header = block(sequence);
  *header = {.magic = trace::kBlockMagic,
             .flags = 0,
             .stream = number_,
             .sequence = sequence,
             .used = 0,
             .unused1 = 0,
             .base_ns = base_ns,
             .last_ns = base_ns,
             .checksum = 0,
             .unused2 = 0,
             .header_checksum = 0};
  at_ = reinterpret_cast<unsigned char*>(header + 1);
  end_ = at_ + trace::kPayload;
  state_.start(base_ns);
  opened_.store(sequence + 1, std::memory_order_release);
  return true;
}

bool TraceStream::make_room(std::size_t size, std::uint64_t first_time, bool wait) noexcept {
  if (file_->stopped()) return false;
  // A record that was never published: a longjmp left it. What it changed has no meaning in the block.
  if (writing_) [[unlikely]]
    at_ = end_;
  if (!has_room(size) && !open_block(at_ == nullptr ? first_time : state_.time, wait)) return false;
  writing_ = true;
  return true;
}

void TraceStream::publish() noexcept {
  trace::BlockHeader* header = block(opened_.load(std::memory_order_relaxed) - 1);
  const auto used = static_cast<std::uint32_t>(at_ - reinterpret_cast<unsigned char*>(header + 1));
  std::atomic_ref(header->last_ns).store(state_.time, std::memory_order_relaxed);
  std::atomic_ref(header->used).store(used, std::memory_order_release);
  writing_ = false;
}

// Mostly some multiple of a period.
void TraceStream::put_weight(std::uint64_t weight_ns) noexcept {
  const std::uint64_t unit = state_.unit;
  if (unit != 0 && weight_ns % unit == 0) {
    at_ = put(at_, weight_ns / unit << 1);
  } else {
    at_ = put(at_, weight_ns << 1 | 1);
    state_.unit = weight_ns;
  }
  state_.weight = weight_ns;
}

std::uint64_t TraceStream::steps_to(std::uint64_t time_ns) const noexcept {
  return time_ns > state_.time ? (time_ns - state_.time) >> trace::kSampleTimeShift : 0;
}

void TraceStream::put_node(NodeIndex node) noexcept {
  at_ = put_signed(at_, static_cast<std::int32_t>(node - state_.sampled_node));
  state_.sampled_node = node;
}

bool TraceStream::sample(std::uint64_t time_ns, std::uint64_t weight_ns, NodeIndex node,
                         WaitKind wait) noexcept {
  if (!make_room(kLargestSample, time_ns - std::min(time_ns, weight_ns), false)) return false;
  const std::uint64_t since = steps_to(time_ns);
  const bool weighs = weight_ns != state_.weight;
  *at_++ = static_cast<unsigned char>(trace::kSample | (weighs ? trace::kSampleWeight : 0u) |
                                      static_cast<unsigned>(wait) << trace::kSampleWaitShift);
  at_ = put(at_, since);
  if (weighs) put_weight(weight_ns);
  put_node(node);
  state_.time += since << trace::kSampleTimeShift;
  publish();
  return true;
}

bool TraceStream::reading(std::uint64_t time_ns, std::size_t event, std::uint64_t value,
                          NodeIndex node) noexcept {
  if (event >= state_.values.size() || !make_room(kLargestSample, time_ns, false)) return false;
  const std::uint64_t since = steps_to(time_ns);
  const bool changed = value != state_.values[event];
  *at_++ =
      static_cast<unsigned char>(trace::kSample | trace::kReading | (changed ? trace::kSampleWeight : 0u) |
                                 static_cast<unsigned>(event) << trace::kSampleWaitShift);
  at_ = put(at_, since);
  if (changed) at_ = put(at_, value);
  put_node(node);
  state_.values[event] = value;
  state_.time += since << trace::kSampleTimeShift;
  publish();
  return true;
}

void TraceStream::put_span(unsigned lead, std::uint64_t begin_ns, std::uint64_t end_ns) noexcept {
  end_ns = std::max(end_ns, state_.time);
  *at_++ = static_cast<unsigned char>(lead);
  at_ = put(at_, end_ns - state_.time);
  at_ = put(at_, end_ns - std::min(begin_ns, end_ns));
  state_.time = end_ns;
}

bool TraceStream::thread_wait(std::uint64_t begin_ns, std::uint64_t end_ns, WaitKind kind,
                              WaitHolder holder) noexcept {
  if (!make_room(kLargestSample, begin_ns, true)) return false;
  put_span(trace::kThreadWait | (holder.known() ? trace::kWaitHolder : 0u) |
               static_cast<unsigned>(kind) << trace::kSampleWaitShift,
           begin_ns, end_ns);
  if (holder.known()) {
    at_ = put(at_, holder.thread);
    at_ =
        put(at_, state_.time - std::clamp(holder.released_ns, std::min(begin_ns, state_.time), state_.time));
  }
  publish();
  return true;
}

bool TraceStream::region(std::uint64_t begin_ns, std::uint64_t end_ns, NodeIndex node,
                         bool parallel) noexcept {
  if (!make_room(kLargestSample, begin_ns, true)) return false;
  put_span(trace::kThreadWait | (parallel ? trace::kParallelRegion : trace::kRegion), begin_ns, end_ns);
  at_ = put(at_, node);
  publish();
  return true;
}

bool TraceStream::short_waits(std::uint64_t time_ns, std::uint32_t count, std::uint64_t ns) noexcept {
  if (!make_room(kLargestSample, time_ns, false)) return false;
  *at_++ = static_cast<unsigned char>(trace::kThreadWait | trace::kShortWaits);
  at_ = put(at_, count);
  at_ = put(at_, ns);
  publish();
  return true;
}

bool TraceStream::begin_call(std::uint64_t enter_ns, std::uint64_t exit_ns, NodeIndex node,
                             bool any) noexcept {
  if (!make_room(kLargestHead + kLargestOperation, enter_ns, true)) return false;
  exit_ns = std::max(exit_ns, state_.time);
  const unsigned number = trace::BlockState::place_of(node);
  auto& place = state_.places[number];
  const bool known = place.node == node;
  lead_ = at_;
  *at_++ = static_cast<unsigned char>(trace::kCall | (known ? 0u : trace::kCallNode) |
                                      (any ? trace::kCallAny : 0u));
  at_ = put(at_, exit_ns - state_.time);
  at_ = put(at_, exit_ns - std::min(enter_ns, exit_ns));
  if (known) {
    *at_++ = static_cast<unsigned char>(number);
  } else {
    at_ = put(at_, node);
    place = {.node = node, .operation = {}};
  }
  state_.time = exit_ns;
  place_ = &place.operation;
  operations_ = 0;
  cut_ = false;
  return true;
}

unsigned char* TraceStream::put_operation(unsigned char* at, const Operation& now,
                                          const Operation& before) noexcept {
  unsigned char* first = at++;
  unsigned mask = 0;
  const unsigned flags = trace::flags_of(now);
  if (now.kind != before.kind || flags != trace::flags_of(before)) {
    mask |= trace::kOperationKind;
    *at++ = static_cast<unsigned char>(now.kind);
    *at++ = static_cast<unsigned char>(flags);
  }
  if (now.context != before.context) {
    mask |= trace::kOperationContext;
    at = put_context(at, now.context);
  }
  if (now.peer != before.peer) {
    mask |= trace::kOperationPeer;
    at = put_signed(at, now.peer);
  }
  if (now.tag != before.tag) {
    mask |= trace::kOperationTag;
    at = put_signed(at, now.tag);
  }
  if (now.bytes != before.bytes) {
    mask |= trace::kOperationBytes;
    at = put(at, now.bytes);
  }
  if (now.id != 0) {
    mask |= trace::kOperationId;
    at = put_signed(at, static_cast<std::int64_t>(now.id - state_.last_id));
    state_.last_id = now.id;
  }
  if (now.group != before.group || now.made != before.made || now.bytes_received != before.bytes_received) {
    mask |= trace::kOperationRest;
    at = put_context(at, now.group);
    at = put_context(at, now.made);
    at = put(at, now.bytes_received);
  }
  *first = static_cast<unsigned char>(mask);
  return at;
}

// The block is published with the beginning of the call; if no further one is to be had, that is all of it.
bool TraceStream::continue_call() noexcept {
  publish();
  cut_ = !open_block(state_.time, true);
  if (cut_) return false;
  writing_ = true;
  *at_++ = trace::kContinuation;
  previous_ = {};
  return true;
}

void TraceStream::add(const Operation& operation) noexcept {
  if (cut_ || operations_ == trace::kMaxOperations) return;
  if (operations_ == 0) {  // for which begin_call left room
    *lead_ = static_cast<unsigned char>(*lead_ | trace::kCallOperations);
  } else {
    *last_ = static_cast<unsigned char>(*last_ | trace::kOperationMore);
    if (!has_room(kLargestOperation) && !continue_call()) return;
  }
  last_ = at_;
  at_ = put_operation(at_, operation, operations_ == 0 ? *place_ : previous_);
  previous_ = operation;
  if (operations_++ == 0) {
    *place_ = operation;
    place_->id = 0;
  }
}

void TraceStream::end_call() noexcept {
  if (!cut_) publish();
}

bool TraceStream::bytes(const unsigned char* data, std::size_t size) noexcept {
  while (size > 0) {
    if (!make_room(1, 0, true)) return false;
    const std::size_t part = std::min(size, static_cast<std::size_t>(end_ - at_));
    std::memcpy(at_, data, part);
    at_ += part;
    data += part;
    size -= part;
    publish();
  }
  return true;
}

}  // namespace culprit::measurement
