// A process's trace: the streams of its threads (trace_stream.cpp), and the stream of definitions and clocks.
// The length of such a record stands before it and nothing may be allocated, so that each is gone through
// twice: first to count its bytes. A definition goes into the file at once, before any record that names it.
#include "measurement/live_trace.hpp"

#include "bytes/varint.hpp"
#include "measurement/raw_memory.hpp"
#include "measurement/sealed_layout.hpp"

#include <cerrno>
#include <cstring>
#include <new>

namespace culprit::measurement {

using trace::Context;

namespace {

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
  bytes::write_varint(value, [&sink](unsigned char group) { sink.byte(group); });
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
  if (const int error = file_.create(path, description); error != 0) return error;
  process_lock_.store(false, std::memory_order_relaxed);
  definitions_ = 0;
  new (&process_) TraceStream;
  void* streams = raw_map(nullptr, kMaxThreads * sizeof(TraceStream), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  streams_ = streams == MAP_FAILED ? nullptr : static_cast<TraceStream*>(streams);
  const int error = streams_ == nullptr ? ENOMEM : process_.start(file_, trace::kProcessStream);
  if (error == 0) return 0;
  file_.remove();
  forget();
  return error;
}

TraceStream* LiveTrace::stream(std::uint32_t tree, std::uint32_t ordinal) noexcept {
  if (!open() || tree >= kMaxThreads) return nullptr;
  TraceStream& stream = streams_[tree];
  if (stream.exists()) return &stream;
  new (&stream) TraceStream;
  if (stream.start(file_, ordinal) != 0) return nullptr;
  std::uint32_t end = streams_end_.load(std::memory_order_relaxed);
  while (end <= tree && !streams_end_.compare_exchange_weak(end, tree + 1, std::memory_order_release)) {
  }
  return &stream;
}

Context LiveTrace::define(const trace::NewDefinition& definition) noexcept {
  if (!open() || file_.stopped() || !claim(process_lock_, true)) return trace::kNoContext;
  Counter size;
  put_definition(size, definition);
  Writer out([this](const unsigned char* data, std::size_t count) { return process_.bytes(data, count); });
  put(out, size.size());
  put_definition(out, definition);
  const Context context = out.finish() ? definitions_++ : trace::kNoContext;
  process_lock_.store(false, std::memory_order_release);
  process_.flush(true);  // before any record that names it: they are rare, and of no use without it
  return context;
}

void LiveTrace::add_clocks(const trace::ClockPair& pair) noexcept {
  if (!open() || file_.stopped() || !claim(process_lock_, true)) return;
  Counter size;
  put_clocks(size, pair);
  Writer out([this](const unsigned char* data, std::size_t count) { return process_.bytes(data, count); });
  put(out, size.size());
  put_clocks(out, pair);
  out.finish();
  process_lock_.store(false, std::memory_order_release);
}

void LiveTrace::maintain() noexcept {
  if (!open()) return;
  process_.flush(false);
  for_each_stream([](TraceStream& stream) { stream.flush(false); });
  file_.update();
}

void LiveTrace::end(EndReason reason, std::uint64_t end_ns) noexcept {
  if (!open()) return;
  const bool complete = reason != EndReason::exec;
  int error = file_.error();
  if (error == 0) error = process_.flush_blocks(complete);
  for_each_stream([&](TraceStream& stream) {
    if (error == 0) error = stream.flush_blocks(complete);
  });
  if (error != 0) file_.stop(trace::kWriteFailed, error);
  file_.end(reason, end_ns, error == 0 && complete);
  if (complete) file_.close();
}

void LiveTrace::resume() noexcept {
  if (open()) file_.resume();
}

void LiveTrace::discard() noexcept {
  file_.remove();
}

bool LiveTrace::recorded() const noexcept {
  for (std::uint32_t i = 0; i < streams_end_.load(std::memory_order_acquire); ++i) {
    if (streams_[i].exists() && streams_[i].used()) return true;
  }
  return false;
}

void LiveTrace::forget() noexcept {
  file_.forget();
  process_.release();
  if (streams_ != nullptr) {
    for_each_stream([](TraceStream& stream) { stream.release(); });
    raw_unmap(streams_, kMaxThreads * sizeof(TraceStream));
  }
  streams_ = nullptr;
  streams_end_.store(0, std::memory_order_relaxed);
}

}  // namespace culprit::measurement
