#include "measurement/live.hpp"

#include "measurement/raw_memory.hpp"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <new>

namespace culprit::measurement {

using layout::Header;

namespace {

constexpr std::uint64_t kMainFirstBlock = 2 * layout::kGranule;
constexpr std::uint64_t kFirstBlock = layout::kGranule;
// Where the file is copied: how often, so that a killed process lacks less than a second; and how much longer
// than a copy took the next one waits, so that a slow file system costs at most a twentieth of a processor.
constexpr std::uint64_t kCopyInterval = 450'000'000;
constexpr std::uint64_t kCopyShare = 20;

std::uint64_t monotonic() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
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
  for (; *arguments != nullptr; ++arguments, ++header.argument_count) {
    const std::size_t size = std::strlen(*arguments) + 1;
    fits = fits && size <= layout::kArgumentBytes - header.argument_bytes;
    if (!fits) continue;
    std::memcpy(header.arguments + header.argument_bytes, *arguments, size);
    header.argument_bytes += static_cast<std::uint32_t>(size);
  }
}

}  // namespace

int LiveFile::describe(const ProcessDescription& process) noexcept {
  if (process.event_count > kMaxEvents + (process.has_realtime ? 1u : 0u)) return EINVAL;
  Header& header = *header_;
  header.version = layout::kLiveVersion;
  header.header_size = sizeof(Header);
  header.granule = layout::kGranule;
  header.unit = layout::kUnit;
  header.event_count = static_cast<std::uint32_t>(process.event_count);
  header.flags =
      (process.has_realtime ? layout::kFlagRealtime : 0) | (process.traced ? layout::kFlagTraced : 0);
  header.cell_units = layout::cell_units(process.event_count - (process.has_realtime ? 1 : 0));
  header.pid = process.pid;
  header.start_ns = process.start_ns;
  header.start_realtime_ns = process.start_realtime_ns;
  header.heartbeat_ns = process.start_ns;
  for (std::size_t i = 0; i < process.event_count; ++i) {
    copy_text(header.events[i].name, process.events[i].name);
    copy_text(header.events[i].unit, process.events[i].unit);
    header.events[i].period = process.events[i].period;
  }
  copy_text(header.host, process.host);
  copy_text(header.run_id, process.run_id);
  copy_text(header.program, process.program);
  copy_text(header.directory, process.directory);
  copy_arguments(header, process.arguments);
  return 0;
}

int LiveFile::create(const char* path, const ProcessDescription& process) noexcept {
  if (process.has_realtime && process.event_count == 0) return EINVAL;
  tree_bytes_ = process.tree_bytes;
  if (const int error = file_.create(path, process.copied); error != 0) return error;
  const auto give_up = [this](int error) {
    file_.close(true);
    release();
    return error;
  };
  const int reserve = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* threads = raw_map(nullptr, kMaxThreads * sizeof(ThreadTree), PROT_READ | PROT_WRITE, reserve);
  if (threads == MAP_FAILED) return give_up(errno);
  threads_ = static_cast<ThreadTree*>(threads);
  void* header = raw_map(nullptr, sizeof(Header), PROT_NONE, reserve);
  if (header == MAP_FAILED) return give_up(errno);
  header_ = static_cast<Header*>(header);
  if (const int error = file_.map(header, sizeof(Header)); error != 0) return give_up(error);
  if (const int error = describe(process); error != 0) return give_up(error);
  if (const int error = modules_.create(file_); error != 0) return give_up(error);
  thread_count_.store(0, std::memory_order_relaxed);
  next_ordinal_.store(1, std::memory_order_relaxed);
  sealing_.store(false, std::memory_order_relaxed);
  copy_due_ns_ = 0;
  spares_wanted_.store(false, std::memory_order_relaxed);
  for (auto& spare : spares_) spare.store(nullptr, std::memory_order_relaxed);
  // Stored as one word, last: a header without magic is not a measurement yet.
  std::uint64_t magic = 0;
  std::memcpy(&magic, layout::kLiveMagic, sizeof magic);
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(header_->magic)).store(magic, std::memory_order_release);
  open_.store(true, std::memory_order_release);
  return 0;
}

// The tree of an ended thread with this start routine, if there are more than `spared` of them.
ThreadTree* LiveFile::take_over(std::uint64_t tid, cct::FrameKey routine, std::uint64_t start_ns,
                                std::uint32_t spared) noexcept {
  const std::uint32_t count = thread_count_.load(std::memory_order_acquire);
  std::uint32_t ended = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!threads_[i].ended(routine) || ++ended <= spared) continue;
    if (threads_[i].take_over(tid, start_ns)) return &threads_[i];
  }
  return nullptr;
}

ThreadTree* LiveFile::create_tree(bool main, int& error) noexcept {
  std::uint32_t index = thread_count_.load(std::memory_order_relaxed);
  do {
    error = ENOBUFS;
    if (index == kMaxThreads) return nullptr;
  } while (!thread_count_.compare_exchange_weak(index, index + 1, std::memory_order_relaxed));
  auto* tree = new (threads_ + index) ThreadTree;
  const bool realtime = (header_->flags & layout::kFlagRealtime) != 0;
  const std::size_t events = header_->event_count - (realtime ? 1 : 0);
  error = tree->create(file_, index, main ? kMainFirstBlock : kFirstBlock, tree_bytes_, realtime, events);
  if (error == 0) return tree;
  // Its place is free again, unless another thread took the next one meanwhile.
  std::uint32_t after = index + 1;
  thread_count_.compare_exchange_strong(after, index, std::memory_order_relaxed);
  return nullptr;
}

ThreadTree* LiveFile::take_spare() noexcept {
  for (auto& spare : spares_) {
    if (spare.load(std::memory_order_relaxed) == nullptr) continue;
    if (ThreadTree* tree = spare.exchange(nullptr, std::memory_order_acq_rel)) return tree;
  }
  return nullptr;
}

void LiveFile::provide_spares() noexcept {
  if (!spares_wanted_.exchange(false, std::memory_order_acq_rel)) return;
  for (auto& spare : spares_) {
    if (spare.load(std::memory_order_relaxed) != nullptr) continue;
    int error = 0;
    ThreadTree* tree = create_tree(false, error);
    if (tree == nullptr) return;
    spare.store(tree, std::memory_order_release);
  }
}

ThreadTree* LiveFile::add_thread(std::uint64_t tid, bool main, cct::FrameKey start_routine,
                                 std::uint64_t start_ns, bool& again) noexcept {
  again = false;
  if (!open()) return nullptr;
  if (!main) {
    if (ThreadTree* tree = take_over(tid, start_routine, start_ns, kEndedTrees - 1)) return tree;
  }
  int error = 0;
  ThreadTree* tree = create_tree(main, error);
  again = error == EMFILE || error == ENFILE;
  if (again) tree = take_spare();
  if (tree != nullptr) {
    again = false;
    const std::uint32_t ordinal = main ? 0 : next_ordinal_.fetch_add(1, std::memory_order_relaxed);
    tree->start(tid, ordinal, main, start_routine, start_ns);
    return tree;
  }
  if (!main) {  // no room for one more: sharing is better than losing
    if (ThreadTree* shared = take_over(tid, start_routine, start_ns, 0)) return shared;
  }
  if (again) spares_wanted_.store(true, std::memory_order_release);
  if (!again) std::atomic_ref(header_->threads_lost).fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

std::uint32_t LiveFile::module(std::uint64_t load_address, const char* path, const void* build_id,
                               std::size_t build_id_size, unsigned flags) noexcept {
  if (!open()) return cct::kNoModule;
  const std::uint32_t index = modules_.find_or_add(load_address, path, build_id, build_id_size, flags);
  if (index == cct::kNoModule) std::atomic_ref(header_->modules_lost).fetch_add(1, std::memory_order_relaxed);
  return index;
}

void LiveFile::set_rank(std::int32_t rank, std::uint32_t world_size, const char* run_id_hex,
                        const char* mpi) noexcept {
  if (!open()) return;
  header_->rank = rank;
  header_->world_size = world_size;
  copy_text(header_->run_id, run_id_hex);
  copy_text(header_->mpi, mpi);
  std::atomic_ref(header_->rank_set).store(1, std::memory_order_release);
}

void LiveFile::note(const char* text) noexcept {
  if (!open()) return;
  const std::uint32_t index = std::atomic_ref(header_->notes).fetch_add(1, std::memory_order_relaxed);
  if (index < layout::kMaxNotes) copy_text(header_->note[index], text);
}

void LiveFile::set_stopped(std::uint64_t total_ns, std::uint64_t since_ns) noexcept {
  if (!open()) return;
  // In this order a reader between the two finds too little time, not too much.
  std::atomic_ref(header_->stopped_total).store(total_ns, std::memory_order_release);
  std::atomic_ref(header_->stopped_since).store(since_ns, std::memory_order_release);
}

void LiveFile::set_iterations(std::uint64_t count) noexcept {
  if (open()) std::atomic_ref(header_->iterations).store(count, std::memory_order_relaxed);
}

int LiveFile::maintain(std::uint64_t now_ns) noexcept {
  if (!open()) return 0;
  std::atomic_ref(header_->heartbeat_ns).store(now_ns, std::memory_order_release);
  int error = modules_.maintain(file_);
  modules_.stat_new();
  const std::uint32_t count = thread_count_.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!threads_[i].exists()) continue;
    if (const int failed = threads_[i].maintain(file_); failed != 0) error = failed;
  }
  provide_spares();
  const int failed = write_out(now_ns);
  return failed != 0 ? failed : error;
}

int LiveFile::write_out(std::uint64_t now_ns) noexcept {
  if (!file_.copied() || now_ns < copy_due_ns_) return 0;
  header_->flags |= layout::kFlagCopied;
  const std::uint64_t begin = monotonic();
  const int error = file_.write_out();
  const std::uint64_t rest = kCopyShare * (monotonic() - begin);
  copy_due_ns_ = now_ns + (rest > kCopyInterval ? rest : kCopyInterval);
  return error;
}

int LiveFile::rename(const char* new_path) noexcept {
  return open() ? file_.rename(new_path) : EBADF;
}

void LiveFile::resume() noexcept {
  if (!open()) return;
  std::atomic_ref(header_->end_reason)
      .store(static_cast<std::uint32_t>(EndReason::running), std::memory_order_relaxed);
  std::atomic_ref(header_->end_ns).store(0, std::memory_order_release);
}

void LiveFile::release() noexcept {
  modules_.release();
  if (threads_ != nullptr) {
    const std::uint32_t count = thread_count_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; ++i) threads_[i].release();
    raw_unmap(threads_, kMaxThreads * sizeof(ThreadTree));
    threads_ = nullptr;
  }
  if (header_ != nullptr) raw_unmap(header_, sizeof(Header));
  header_ = nullptr;
  file_.release();
  thread_count_.store(0, std::memory_order_relaxed);
}

void LiveFile::forget() noexcept {
  open_.store(false, std::memory_order_release);
  file_.close(false);
  release();
}

std::size_t LiveFile::thread_count() const noexcept {
  return thread_count_.load(std::memory_order_acquire);
}

const ThreadTree* LiveFile::thread(std::size_t index) const noexcept {
  return threads_ != nullptr && threads_[index].exists() ? &threads_[index] : nullptr;
}

}  // namespace culprit::measurement
