#include "measurement/live.hpp"

#include "measurement/header_sum.hpp"
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

void* TreeTable::provide(std::uint32_t index) noexcept {
  std::atomic<ThreadTree*>& part = parts_[index / kPart];
  ThreadTree* trees = part.load(std::memory_order_acquire);
  if (trees == nullptr) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* memory = raw_map(nullptr, kPart * sizeof(ThreadTree), PROT_READ | PROT_WRITE, flags);
    if (memory == MAP_FAILED) return nullptr;
    auto* fresh = static_cast<ThreadTree*>(memory);
    if (part.compare_exchange_strong(trees, fresh, std::memory_order_acq_rel)) {
      trees = fresh;
    } else {
      raw_unmap(memory, kPart * sizeof(ThreadTree));  // another thread was faster
    }
  }
  return trees + index % kPart;
}

void TreeTable::release() noexcept {
  for (auto& part : parts_) {
    if (ThreadTree* trees = part.exchange(nullptr, std::memory_order_acq_rel))
      raw_unmap(trees, kPart * sizeof(ThreadTree));
  }
}

int LiveFile::describe(const ProcessDescription& process) noexcept {
  if (process.event_count > kMaxEvents + (process.has_realtime ? 1u : 0u)) return EINVAL;
  Header& header = *header_;
  header.version = layout::kLiveVersion;
  header.header_size = sizeof(Header);
  header.granule = layout::kGranule;
  header.unit = layout::kUnit;
  header.event_count = static_cast<std::uint32_t>(process.event_count);
  header.flags = (process.has_realtime ? layout::kFlagRealtime : 0) |
                 (process.traced ? layout::kFlagTraced : 0) | (file_.copied() ? layout::kFlagCopied : 0) |
                 (process.forked ? layout::kFlagForked : 0);
  header.cell_units = layout::cell_units(process.event_count - (process.has_realtime ? 1 : 0));
  header.pid = process.pid;
  header.start_ns = process.start_ns;
  header.start_realtime_ns = process.start_realtime_ns;
  header.key = process.key;
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
  void* header = raw_map(nullptr, sizeof(Header), PROT_NONE, reserve);
  if (header == MAP_FAILED) return give_up(errno);
  header_ = static_cast<Header*>(header);
  if (const int error = file_.map(header, sizeof(Header), sizeof(Header)); error != 0) return give_up(error);
  if (const int error = describe(process); error != 0) return give_up(error);
  if (const int error = modules_.create(file_); error != 0) return give_up(error);
  thread_count_.store(0, std::memory_order_relaxed);
  next_ordinal_.store(1, std::memory_order_relaxed);
  ended_trees_.store(0, std::memory_order_relaxed);
  taken_over_.store(0, std::memory_order_relaxed);
  sealing_.store(false, std::memory_order_relaxed);
  copy_due_ns_ = 0;
  spares_wanted_.store(false, std::memory_order_relaxed);
  for (auto& spare : spares_) spare.store(nullptr, std::memory_order_relaxed);
  header_->file_bytes = file_.size();
  header_->sum = layout::header_sum(*header_);
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
  if (ended_trees_.load(std::memory_order_relaxed) <= spared) return nullptr;
  const std::uint32_t count = thread_count_.load(std::memory_order_acquire);
  const std::uint32_t first = taken_over_.load(std::memory_order_relaxed);
  std::uint32_t ended = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    ThreadTree& tree = threads_[(first + i) % count];
    if (!tree.ended(routine) || ++ended <= spared || !tree.take_over(tid, start_ns)) continue;
    taken_over_.store(tree.index(), std::memory_order_relaxed);
    return &tree;
  }
  return nullptr;
}

ThreadTree* LiveFile::create_tree(bool main, int& error) noexcept {
  std::uint32_t index = thread_count_.load(std::memory_order_relaxed);
  do {
    error = ENOBUFS;
    if (index == kMaxThreads) return nullptr;
    // Before it is counted: whoever goes through the trees finds memory for all of them.
    if (threads_.provide(index) == nullptr) return nullptr;
  } while (!thread_count_.compare_exchange_weak(index, index + 1, std::memory_order_release));
  auto* tree = new (threads_.provide(index)) ThreadTree;
  const bool realtime = (header_->flags & layout::kFlagRealtime) != 0;
  const std::size_t events = header_->event_count - (realtime ? 1 : 0);
  error = tree->create(file_, index, main ? kMainFirstBlock : kFirstBlock, tree_bytes_, realtime, events,
                       ended_trees_);
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
    layout::count_field(*header_, header_->threads);
    note_size();
    return tree;
  }
  if (!main) {  // no room for one more: sharing is better than losing
    if (ThreadTree* shared = take_over(tid, start_routine, start_ns, 0)) return shared;
  }
  if (again) spares_wanted_.store(true, std::memory_order_release);
  if (!again) layout::count_field(*header_, header_->threads_lost);
  return nullptr;
}

std::uint32_t LiveFile::module(std::uint64_t load_address, const char* path, const void* build_id,
                               std::size_t build_id_size, unsigned flags) noexcept {
  if (!open()) return cct::kNoModule;
  const std::uint32_t index = modules_.find_or_add(load_address, path, build_id, build_id_size, flags);
  if (index == cct::kNoModule) layout::count_field(*header_, header_->modules_lost);
  return index;
}

void LiveFile::set_rank(std::int32_t rank, std::uint32_t world_size, const char* run_id_hex,
                        const char* mpi) noexcept {
  if (!open()) return;
  Header& header = *header_;
  layout::set_field(header, header.rank, rank);
  layout::set_field(header, header.world_size, world_size);
  layout::set_bytes(header, header.run_id, sizeof header.run_id,
                    [&] { copy_text(header.run_id, run_id_hex); });
  layout::set_bytes(header, header.mpi, sizeof header.mpi, [&] { copy_text(header.mpi, mpi); });
  layout::set_field(header, header.rank_set, std::uint32_t{1});
}

void LiveFile::note(const char* text) noexcept {
  if (!open()) return;
  const std::uint32_t index = layout::count_field(*header_, header_->notes);
  if (index >= layout::kMaxNotes) return;
  layout::Note& note = header_->note[index];
  copy_text(note.text, text);
  std::atomic_ref(note.checksum).store(layout::note_checksum(note), std::memory_order_release);
}

void LiveFile::set_stopped(std::uint64_t total_ns, std::uint64_t since_ns) noexcept {
  if (!open()) return;
  // In this order a reader between the two finds too little time, not too much.
  layout::set_field(*header_, header_->stopped_total, total_ns);
  layout::set_field(*header_, header_->stopped_since, since_ns);
}

void LiveFile::set_iterations(std::uint64_t count) noexcept {
  if (open()) layout::set_field(*header_, header_->iterations, count);
}

int LiveFile::maintain(std::uint64_t now_ns) noexcept {
  if (!open()) return 0;
  layout::set_field(*header_, header_->heartbeat_ns, now_ns);
  int error = modules_.maintain(file_);
  modules_.stat_new();
  const std::uint32_t count = thread_count_.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!threads_[i].exists()) continue;
    if (const int failed = threads_[i].maintain(file_); failed != 0) error = failed;
  }
  provide_spares();
  note_size();
  const int failed = write_out(now_ns);
  return failed != 0 ? failed : error;
}

// What a reader must find, or the file was cut.
void LiveFile::note_size() noexcept {
  const std::uint64_t bytes = file_.size();
  if (header_->file_bytes < bytes) layout::set_field(*header_, header_->file_bytes, bytes);
}

int LiveFile::write_out(std::uint64_t now_ns) noexcept {
  if (!file_.copied() || now_ns < copy_due_ns_) return 0;
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
  layout::set_field(*header_, header_->end_reason, static_cast<std::uint32_t>(EndReason::running));
  layout::set_field(*header_, header_->end_ns, std::uint64_t{0});
}

void LiveFile::release() noexcept {
  modules_.release();
  const std::uint32_t count = thread_count_.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) threads_[i].release();
  threads_.release();
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
  return index < thread_count() && threads_[static_cast<std::uint32_t>(index)].exists()
             ? &threads_[static_cast<std::uint32_t>(index)]
             : nullptr;
}

}  // namespace culprit::measurement
