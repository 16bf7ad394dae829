// The live measurement of a process (docs/formats.md): header, modules, one tree per thread and the published
// calls, in blocks that are mapped shared, so that the kernel keeps what was stored however the process dies.
// The header's magic comes last: without it the file is no measurement yet. A new thread takes over the tree
// of an ended one with the same start routine once there are enough of these, so that memory is bounded by
// the threads that live at one time. Where shared mappings are not safe, blocks are copied into the file
// instead, at the cost of a twentieth of a processor at most.
#include "measurement/live.hpp"

#include "measurement/file_space.hpp"
#include "measurement/header_sum.hpp"
#include "measurement/raw_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace culprit::measurement {

using layout::Header;

namespace {

// Where the file is copied: how often, so that a killed process lacks less than a second; and how much longer
// than a copy took of the processor the next one waits, so that copies cost at most a twentieth of one. Of
// the flusher thread's time they take half at most, where a server lets it wait.
constexpr std::uint64_t kCopyInterval = 450'000'000;
constexpr std::uint64_t kCopyShare = 20;

std::uint64_t thread_cpu_ns() noexcept {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

// Room for threads that a server refused: it may give it later, but a program does not wait for that on and
// on.
constexpr int kPassingFailures = 16;
std::atomic<int> passing_failures{0};

bool may_succeed_later(int error) noexcept {
  if (error == EMFILE || error == ENFILE) return true;
  // Where the process gave privileges away, it may not open the file again that its maintainer holds open.
  return (is_passing(error) || error == EACCES) &&
         passing_failures.fetch_add(1, std::memory_order_relaxed) < kPassingFailures;
}

template <std::size_t Size>
void copy_text(char (&field)[Size], const char* text) noexcept {
  if (text == nullptr) return;
  const std::size_t length = strnlen(text, Size - 1);
  std::memcpy(field, text, length);
  field[length] = '\0';
}

void copy_arguments(Header& header, const char* const* arguments) noexcept {
  if (arguments == nullptr) return;
  bool fits = true;
  for (; *arguments != nullptr; ++arguments, ++header.counts.argument_count) {
    const std::size_t size = std::strlen(*arguments) + 1;
    fits = fits && size <= layout::kArgumentBytes - header.counts.argument_bytes;
    if (!fits) continue;
    std::memcpy(header.arguments + header.counts.argument_bytes, *arguments, size);
    header.counts.argument_bytes += static_cast<std::uint32_t>(size);
  }
}

}  // namespace

int LiveFile::describe(const ProcessDescription& process) noexcept {
  if (process.event_count > kMaxEvents + (process.has_realtime ? 1u : 0u)) return EINVAL;
  Header& header = *header_;
  header.version = layout::kLiveVersion;
  header.geometry.header_size = sizeof(Header);
  header.geometry.granule = layout::kGranule;
  header.geometry.unit = layout::kUnit;
  header.event_count = static_cast<std::uint32_t>(process.event_count);
  header.flags = (process.has_realtime ? layout::kFlagRealtime : 0) |
                 (process.traced ? layout::kFlagTraced : 0) | (file_.copied() ? layout::kFlagCopied : 0) |
                 (process.forked ? layout::kFlagForked : 0);
  header.geometry.cell_units = layout::cell_units(process.event_count - (process.has_realtime ? 1 : 0));
  header.pid = process.pid;
  header.clocks.start_ns = process.start_ns;
  header.clocks.start_realtime_ns = process.start_realtime_ns;
  header.key = process.key;
  header.clocks.heartbeat_ns = process.start_ns;
  for (std::size_t i = 0; i < process.event_count; ++i) {
    copy_text(header.events[i].name, process.events[i].name);
    copy_text(header.events[i].unit, process.events[i].unit);
    header.events[i].period = process.events[i].period;
  }
  copy_text(header.names.host, process.host);
  copy_text(header.names.run_id, process.run_id);
  copy_text(header.program, process.program);
  copy_text(header.directory, process.directory);
  copy_arguments(header, process.arguments);
  return 0;
}

int LiveFile::create(const char* path, const ProcessDescription& process) noexcept {
  if (process.has_realtime && process.event_count == 0) return EINVAL;
  if (const int error = file_.create(path, process.copied); error != 0) return error;
  const auto give_up = [this](int error) {
    file_.close(true);
    release();
    return error;
  };
  const int reserve = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* header = raw_map(nullptr, sizeof(Header), PROT_NONE, reserve);
  if (header == MAP_FAILED) return give_up(errno);
  header_ = static_cast<Header*>(header);
  if (const int error = file_.map(header, sizeof(Header), sizeof(Header)); error != 0) return give_up(error);
  if (const int error = describe(process); error != 0) return give_up(error);
  if (const int error = modules_.create(file_); error != 0) return give_up(error);
  trees_.start({.bytes = process.tree_bytes,
                .has_realtime = process.has_realtime,
                .events = process.event_count - (process.has_realtime ? 1 : 0)});
  next_ordinal_.store(1, std::memory_order_relaxed);
  sealing_.store(false, std::memory_order_relaxed);
  copy_due_ns_ = 0;
  passing_failures.store(0, std::memory_order_relaxed);
  header_->file_bytes = file_.size();
  header_->checksum.sum = layout::header_sum(*header_);
  // Stored as one word, last: a header without magic is not a measurement yet.
  std::uint64_t magic = 0;
  std::memcpy(&magic, layout::kLiveMagic, sizeof magic);
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(header_->magic)).store(magic, std::memory_order_release);
  open_.store(true, std::memory_order_release);
  return 0;
}

ThreadTree* LiveFile::add_thread(std::uint64_t tid, bool main, cct::FrameKey start_routine,
                                 std::uint64_t start_ns, bool& again) noexcept {
  again = false;
  if (!open()) return nullptr;
  if (!main) {
    if (ThreadTree* tree = trees_.take_over(tid, start_routine, start_ns, kEndedTrees - 1)) return tree;
  }
  int error = 0;
  ThreadTree* tree = trees_.take_spare();
  again = tree == nullptr && trees_.makes_spares();  // to try here as well would fail, and cost a place
  if (tree == nullptr && !again) {
    tree = trees_.create(file_, main, error);
    again = tree == nullptr && may_succeed_later(error);
  }
  if (tree != nullptr) {
    const std::uint32_t ordinal = main ? 0 : next_ordinal_.fetch_add(1, std::memory_order_relaxed);
    tree->start(tid, ordinal, main, start_routine, start_ns);
    layout::count_field(*header_, header_->threads);
    note_size();
    return tree;
  }
  if (!main) {  // no room for one more: sharing is better than losing
    if (ThreadTree* shared = trees_.take_over(tid, start_routine, start_ns, 0)) return shared;
  }
  if (again) trees_.want_spares();
  if (!again) layout::count_field(*header_, header_->counts.threads_lost);
  return nullptr;
}

void LiveFile::count_lost(std::uint64_t samples) noexcept {
  if (open()) layout::count_field(*header_, header_->samples_lost, static_cast<std::uint32_t>(samples));
}

std::uint32_t LiveFile::module(std::uint64_t load_address, const char* path, const void* build_id,
                               std::size_t build_id_size, unsigned flags) noexcept {
  if (!open()) return cct::kNoModule;
  const std::uint32_t index = modules_.find_or_add(load_address, path, build_id, build_id_size, flags);
  if (index == cct::kNoModule) layout::count_field(*header_, header_->counts.modules_lost);
  return index;
}

void LiveFile::set_rank(std::int32_t rank, std::uint32_t world_size, const char* run_id_hex, const char* mpi,
                        bool whole) noexcept {
  if (!open()) return;
  Header& header = *header_;
  layout::set_field(header, header.world.rank, rank);
  layout::set_field(header, header.world.size, world_size);
  layout::set_bytes(header, header.names.run_id, sizeof header.names.run_id,
                    [&] { copy_text(header.names.run_id, run_id_hex); });
  layout::set_bytes(header, header.names.mpi, sizeof header.names.mpi,
                    [&] { copy_text(header.names.mpi, mpi); });
  if (whole) layout::set_field(header, header.flags, header.flags | layout::kFlagWholeWorld);
  layout::set_field(header, header.world.rank_set, std::uint32_t{1});
}

void LiveFile::note(const char* text) noexcept {
  if (!open()) return;
  const std::uint32_t index = layout::count_field(*header_, header_->counts.notes);
  if (index >= layout::kMaxNotes) return;
  layout::Note& note = header_->note[index];
  copy_text(note.text, text);
  std::atomic_ref(note.checksum).store(layout::note_checksum(note), std::memory_order_release);
}

void LiveFile::set_stopped(std::uint64_t total_ns, std::uint64_t since_ns) noexcept {
  if (!open()) return;
  // In this order a reader between the two finds too little time, not too much.
  layout::set_field(*header_, header_->stops.total, total_ns);
  layout::set_field(*header_, header_->stops.since, since_ns);
}

void LiveFile::set_host_load(const HostLoad& load) noexcept {
  if (!open()) return;
  HostLoad& field = header_->host_load;
  layout::set_bytes(*header_, &field, sizeof field, [&] { field = load; });
}

void LiveFile::set_schedule(std::size_t index, std::uint64_t tid, const Schedule& schedule) noexcept {
  if (ThreadTree* tree = open() ? trees_.at(index) : nullptr) tree->life().set_schedule(tid, schedule);
}

void LiveFile::set_iterations(std::uint64_t count) noexcept {
  if (open()) layout::set_field(*header_, header_->iterations, count);
}

calls::Calls* LiveFile::add_calls() noexcept {
  static_assert(sizeof(layout::BlockHeader) + sizeof(calls::Calls) <= layout::kGranule);
  if (!open() || calls_.reserve(layout::kGranule, layout::kGranule) != 0) return nullptr;
  const auto type = static_cast<std::uint32_t>(layout::BlockType::calls);
  if (calls_.grow(file_, type, 0, layout::kGranule) != 0) {
    calls_.release();
    return nullptr;
  }
  note_size();
  return calls_.at<calls::Calls>(layout::kReservedUnits);
}

int LiveFile::maintain(std::uint64_t now_ns) noexcept {
  if (!open()) return 0;
  layout::set_field(*header_, header_->clocks.heartbeat_ns, now_ns);
  int error = modules_.maintain(file_);
  modules_.stat_new();
  if (const int failed = trees_.maintain(file_); failed != 0) error = failed;
  note_size();
  const int failed = write_out(now_ns);
  return failed != 0 ? failed : error;
}

// What a reader must find, or the file was cut.
void LiveFile::note_size() noexcept {
  layout::grow_field(*header_, header_->file_bytes, std::uint64_t{file_.size()});
}

int LiveFile::write_out(std::uint64_t now_ns) noexcept {
  if (!file_.copied() || now_ns < copy_due_ns_) return 0;
  const std::uint64_t begin = monotonic_ns();
  const std::uint64_t cpu_before = thread_cpu_ns();
  const int error = file_.write_out();
  const std::uint64_t cpu_rest = kCopyShare * (thread_cpu_ns() - cpu_before);
  const std::uint64_t took = monotonic_ns() - begin;
  copy_due_ns_ = now_ns + std::max({kCopyInterval, cpu_rest, 2 * took});
  return error;
}

int LiveFile::rename(const char* new_path) noexcept {
  return open() ? file_.rename(new_path) : EBADF;
}

void LiveFile::resume() noexcept {
  if (!open()) return;
  layout::set_field(*header_, header_->end_reason, static_cast<std::uint32_t>(EndReason::running));
  layout::set_field(*header_, header_->clocks.end_ns, std::uint64_t{0});
}

void LiveFile::release() noexcept {
  modules_.release();
  trees_.release();
  if (header_ != nullptr) raw_unmap(header_, sizeof(Header));
  header_ = nullptr;
  file_.release();
}

void LiveFile::forget() noexcept {
  open_.store(false, std::memory_order_release);
  file_.close(false);
  release();
}

}  // namespace culprit::measurement
