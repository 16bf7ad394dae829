#include "measurement/live_trace.hpp"

#include "measurement/checksum.hpp"
#include "measurement/file_space.hpp"
#include "measurement/raw_memory.hpp"
#include "measurement/sealed_layout.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <new>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace culprit::measurement {

using trace::BlockHeader;
using trace::Context;
using trace::kSlot;

namespace {

// How long a thread with a full ring waits for the keeper, who is writing it: in steps of this, at most so
// many. A file system that takes longer than a second costs records rather than the program's time.
constexpr long kMoment = 20'000;
constexpr int kMoments = 50'000;

std::uint64_t monotonic() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

void pause_moment() noexcept {
  const timespec moment{.tv_sec = 0, .tv_nsec = kMoment};
  syscall(SYS_nanosleep, &moment, nullptr);
}

bool short_of_descriptors(int error) noexcept {
  return error == EMFILE || error == ENFILE;
}

void* reserve(std::size_t bytes) noexcept {
  return raw_map(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
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

/// Counts what Writer would write.
class Counter {
 public:
  void byte(unsigned /*value*/) noexcept { ++size_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::size_t size_ = 0;
};

template <typename Sink>
void put(Sink& sink, std::uint64_t value) noexcept {
  for (; value >= 0x80; value >>= 7) sink.byte(static_cast<unsigned>(value & 0x7f) | 0x80);
  sink.byte(static_cast<unsigned>(value));
}

template <typename Sink>
void put_ranks(Sink& sink, const std::int32_t* ranks, std::size_t count) noexcept {
  put(sink, count);
  std::int64_t expected = 0;
  for (std::size_t i = 0; i < count;) {
    std::size_t length = 1;
    while (i + length < count && ranks[i + length] == ranks[i] + static_cast<std::int64_t>(length)) ++length;
    put(sink, sealed::zigzag(ranks[i] - expected));
    put(sink, length - 1);
    expected = ranks[i] + static_cast<std::int64_t>(length);
    i += length;
  }
}

template <typename Sink>
void put_definition(Sink& sink, const trace::NewDefinition& definition) noexcept {
  sink.byte(trace::kDefinition);
  sink.byte(static_cast<unsigned>(definition.kind));
  put(sink, definition.global_id);
  put(sink, definition.size);
  put(sink, sealed::zigzag(definition.rank));
  put(sink, static_cast<std::uint32_t>(definition.parent + 1));
  put_ranks(sink, definition.members, definition.member_count);
  put_ranks(sink, definition.remote, definition.remote_count);
  put_ranks(sink, definition.sources, definition.source_count);
  put_ranks(sink, definition.destinations, definition.destination_count);
}

template <typename Sink>
void put_clocks(Sink& sink, const trace::ClockPair& pair) noexcept {
  sink.byte(trace::kClockPair);
  put(sink, pair.monotonic_ns);
  put(sink, sealed::zigzag(pair.realtime_ns));
  put(sink, sealed::zigzag(pair.reference));
  put(sink, pair.reference_ns);
  put(sink, pair.round_trip_ns);
}

/// A record of the process's stream, through a buffer. `Stream` has bytes(data, size).
template <typename Stream>
class Writer {
 public:
  explicit Writer(Stream write) noexcept : write_(write) {}
  void byte(unsigned value) noexcept {
    if (used_ == sizeof buffer_) flush();
    buffer_[used_++] = static_cast<unsigned char>(value);
  }
  bool finish() noexcept {
    flush();
    return good_;
  }

 private:
  void flush() noexcept {
    good_ = good_ && write_(buffer_, used_);
    used_ = 0;
  }

  Stream write_;
  unsigned char buffer_[512] = {};
  std::size_t used_ = 0;
  bool good_ = true;
};

}  // namespace

int LiveTrace::create(const char* path, const TraceDescription& description) noexcept {
  if (const int error = file_.create(path, true); error != 0) return error;
  limit_ = std::clamp(description.limit, kLeastTraceBytes, kMostTraceBytes);
  most_slots_ = static_cast<std::uint32_t>(limit_ / kSlot);
  next_slot_.store(1, std::memory_order_relaxed);
  slots_.store(1, std::memory_order_relaxed);
  stopped_.store(0, std::memory_order_relaxed);
  stopped_ns_.store(0, std::memory_order_relaxed);
  error_.store(0, std::memory_order_relaxed);
  dropped_.store(0, std::memory_order_relaxed);
  process_lock_.store(false, std::memory_order_relaxed);
  definitions_ = 0;
  all_written_ = false;
  header_ = {.magic = {},
             .version = trace::kVersion,
             .header_size = sizeof header_,
             .slot = kSlot,
             .flags = 0,
             .pid = description.pid,
             .start_ns = description.start_ns,
             .stopped_ns = 0,
             .error = 0,
             .limit = limit_,
             .dropped = 0,
             .end_ns = 0,
             .end_reason = 0,
             .index_entries = 0,
             .index_offset = 0,
             .index_checksum = 0,
             .start_realtime_ns = description.start_realtime_ns,
             .key = description.key,
             .slots = 1,
             .unused = 0,
             .checksum = 0};
  std::memcpy(header_.magic, trace::kMagic, sizeof header_.magic);
  new (&process_) TraceStream;
  void* streams = reserve(kMaxThreads * sizeof(TraceStream));
  void* index = reserve(most_slots_ * sizeof(trace::IndexEntry));
  streams_ = streams == MAP_FAILED ? nullptr : static_cast<TraceStream*>(streams);
  index_ = index == MAP_FAILED ? nullptr : static_cast<trace::IndexEntry*>(index);
  int error = streams_ == nullptr || index_ == nullptr ? ENOMEM : 0;
  if (error == 0) error = process_.start(*this, trace::kProcessStream);
  if (error == 0) error = write_header();
  if (error == 0) return 0;
  file_.close(true);
  forget();
  return error;
}

TraceStream* LiveTrace::stream(std::uint32_t tree, std::uint32_t ordinal) noexcept {
  if (!open() || tree >= kMaxThreads) return nullptr;
  TraceStream& stream = streams_[tree];
  if (stream.exists()) return &stream;
  new (&stream) TraceStream;
  if (stream.start(*this, ordinal) != 0) return nullptr;
  std::uint32_t end = streams_end_.load(std::memory_order_relaxed);
  while (end <= tree && !streams_end_.compare_exchange_weak(end, tree + 1, std::memory_order_release)) {
  }
  return &stream;
}

std::uint32_t LiveTrace::claim_slot() noexcept {
  if (stopped()) return 0;
  const std::uint32_t slot = next_slot_.fetch_add(1, std::memory_order_relaxed);
  if (slot < most_slots_) return slot;
  next_slot_.fetch_sub(1, std::memory_order_relaxed);
  stop(trace::kLimitReached, 0);
  return 0;
}

void LiveTrace::stop(std::uint32_t why, int error) noexcept {
  std::uint32_t running = 0;
  if (!stopped_.compare_exchange_strong(running, why, std::memory_order_acq_rel)) return;
  error_.store(error, std::memory_order_relaxed);
  stopped_ns_.store(monotonic(), std::memory_order_release);
}

bool LiveTrace::lock_process() noexcept {
  for (int i = 0; process_lock_.exchange(true, std::memory_order_acquire); ++i) {
    if (i == kMoments) return false;
    pause_moment();
  }
  return true;
}

void LiveTrace::unlock_process() noexcept {
  process_lock_.store(false, std::memory_order_release);
}

Context LiveTrace::define(const trace::NewDefinition& definition) noexcept {
  if (!open() || stopped() || !lock_process()) return trace::kNoContext;
  Counter size;
  put_definition(size, definition);
  Writer out([this](const unsigned char* data, std::size_t count) { return process_.bytes(data, count); });
  put(out, size.size());
  put_definition(out, definition);
  const Context context = out.finish() ? definitions_++ : trace::kNoContext;
  unlock_process();
  flush(process_, true);  // before any record that names it: they are rare, and of no use without it
  return context;
}

void LiveTrace::add_clocks(const trace::ClockPair& pair) noexcept {
  if (!open() || stopped() || !lock_process()) return;
  Counter size;
  put_clocks(size, pair);
  Writer out([this](const unsigned char* data, std::size_t count) { return process_.bytes(data, count); });
  put(out, size.size());
  put_clocks(out, pair);
  out.finish();
  unlock_process();
}

// Writes what is new of a block, data first. Only who has the stream's flag gets here.
int LiveTrace::write_block(int fd, TraceStream& stream, std::uint32_t sequence, bool complete) noexcept {
  BlockHeader* header = stream.block(sequence);
  const std::uint32_t used = std::atomic_ref(header->used).load(std::memory_order_acquire);
  const std::uint32_t slot = stream.slots_[sequence % TraceStream::kBuffers];
  const std::uint64_t offset = std::uint64_t{slot} * kSlot;
  const auto* data = reinterpret_cast<const unsigned char*>(header + 1);
  if (used == stream.written_ && !complete) return 0;
  if (used > stream.written_) {
    const std::uint64_t at = offset + sizeof *header + stream.written_;
    if (!size_allowed(at + used - stream.written_)) return EFBIG;
    const int error = write_all(fd, data + stream.written_, used - stream.written_, at);
    if (error != 0) return error;
  }
  // Member by member: the stream goes on counting in the two that are read as atomic ones.
  BlockHeader copy = {.magic = header->magic,
                      .flags = complete ? trace::kBlockComplete : 0,
                      .stream = header->stream,
                      .sequence = sequence,
                      .used = used,
                      .unused1 = 0,
                      .base_ns = header->base_ns,
                      .last_ns = std::atomic_ref(header->last_ns).load(std::memory_order_relaxed),
                      .checksum = XXH64(data, used, 0),
                      .unused2 = 0,
                      .header_checksum = 0};
  copy.header_checksum = XXH64(&copy, offsetof(BlockHeader, header_checksum), 0);
  if (const int error = write_all(fd, &copy, sizeof copy, offset); error != 0) return error;
  index_[slot - 1] = {.stream = copy.stream,
                      .sequence = sequence,
                      .used = used,
                      .unused = 0,
                      .base_ns = copy.base_ns,
                      .last_ns = copy.last_ns};
  stream.written_ = used;
  std::uint32_t slots = slots_.load(std::memory_order_relaxed);
  while (slots <= slot && !slots_.compare_exchange_weak(slots, slot + 1, std::memory_order_release)) {
  }
  return 0;
}

// All blocks but the last are complete.
int LiveTrace::flush_blocks(TraceStream& stream, bool complete) noexcept {
  const std::uint32_t opened = stream.opened_.load(std::memory_order_acquire);
  std::uint32_t sequence = stream.flushed_.load(std::memory_order_relaxed);
  if (sequence == opened) return 0;
  const BlockFile::Use use(file_);
  if (use.fd() < 0) return -use.fd();
  for (; sequence != opened; ++sequence) {
    const bool whole = complete || sequence + 1 != opened;
    if (const int error = write_block(use.fd(), stream, sequence, whole); error != 0) return error;
    if (!whole) break;
    stream.written_ = 0;
    stream.flushed_.store(sequence + 1, std::memory_order_release);
  }
  return 0;
}

void LiveTrace::flush(TraceStream& stream, bool wait) noexcept {
  if (!open() || error() != 0) return;
  const int saved_errno = errno;
  {
    const SignalsHeld held;
    int moments = 0;
    while (stream.flushing_.exchange(true, std::memory_order_acquire)) {
      if (!wait || ++moments == kMoments) return;
      pause_moment();
    }
    const int error = flush_blocks(stream, false);
    stream.flushing_.store(false, std::memory_order_release);
    if (error != 0 && !short_of_descriptors(error)) stop(trace::kWriteFailed, error);
  }
  errno = saved_errno;
}

int LiveTrace::write_header() noexcept {
  const BlockFile::Use use(file_);
  if (use.fd() < 0) return -use.fd();
  header_.stopped_ns = stopped_ns_.load(std::memory_order_acquire);
  header_.flags = (header_.stopped_ns == 0 ? 0 : stopped_.load(std::memory_order_relaxed)) |
                  (all_written_ ? trace::kAllWritten : 0);
  header_.error = static_cast<std::uint64_t>(error());
  header_.dropped = dropped();
  header_.slots = slots_.load(std::memory_order_acquire);
  header_.checksum = XXH64(&header_, offsetof(trace::Header, checksum), 0);
  return write_all(use.fd(), &header_, sizeof header_, 0);
}

void LiveTrace::maintain() noexcept {
  if (!open()) return;
  flush(process_, false);
  for_each_stream([this](TraceStream& stream) { flush(stream, false); });
  const bool news = header_.dropped != dropped() ||
                    header_.stopped_ns != stopped_ns_.load(std::memory_order_acquire) ||
                    header_.slots != slots_.load(std::memory_order_acquire);
  if (news) write_header();
}

int LiveTrace::write_index() noexcept {
  const BlockFile::Use use(file_);
  if (use.fd() < 0) return -use.fd();
  const std::uint32_t slots = next_slot_.load(std::memory_order_relaxed);
  const std::uint64_t offset = std::uint64_t{slots} * kSlot;
  const std::size_t size = (slots - 1) * sizeof(trace::IndexEntry);
  if (!size_allowed(offset + size)) return EFBIG;
  all_written_ = true;
  if (const int error = write_header(); error != 0) return error;
  if (const int error = write_all(use.fd(), index_, size, offset); error != 0) return error;
  header_.index_entries = slots - 1;
  header_.index_offset = offset;
  header_.index_checksum = XXH64(index_, size, 0);
  return 0;
}

void LiveTrace::end(EndReason reason, std::uint64_t end_ns) noexcept {
  if (!open()) return;
  const bool complete = reason != EndReason::exec;
  int error = this->error();
  if (error == 0) error = flush_blocks(process_, complete);
  for_each_stream([&](TraceStream& stream) {
    if (error == 0) error = flush_blocks(stream, complete);
  });
  if (error != 0) stop(trace::kWriteFailed, error);
  if (error == 0 && complete) write_index();
  header_.end_ns = end_ns;
  header_.end_reason = static_cast<std::uint32_t>(reason);
  write_header();
  if (complete) file_.close(false);
}

void LiveTrace::resume() noexcept {
  if (!open()) return;
  header_.end_ns = 0;
  header_.end_reason = 0;
  write_header();
}

void LiveTrace::discard() noexcept {
  file_.close(true);
}

bool LiveTrace::recorded() const noexcept {
  for (std::uint32_t i = 0; i < streams_end_.load(std::memory_order_acquire); ++i) {
    if (streams_[i].exists() && streams_[i].opened_.load(std::memory_order_relaxed) != 0) return true;
  }
  return false;
}

void LiveTrace::forget() noexcept {
  file_.close(false);
  process_.release();
  if (streams_ != nullptr) {
    for_each_stream([](TraceStream& stream) { stream.release(); });
    raw_unmap(streams_, kMaxThreads * sizeof(TraceStream));
  }
  if (index_ != nullptr) raw_unmap(index_, most_slots_ * sizeof(trace::IndexEntry));
  streams_ = nullptr;
  index_ = nullptr;
  streams_end_.store(0, std::memory_order_relaxed);
}

}  // namespace culprit::measurement
