// The trees of a measurement's threads by number, in parts that are mapped when they are needed; nothing ever
// moves. Trees of ended threads with the same start routine are taken over in turn, so that new threads are
// spread over all of them. For threads without a free descriptor, with which the file could grow, the flusher
// thread makes some spare trees.
#include "measurement/tree_table.hpp"

#include "measurement/raw_memory.hpp"

#include <cerrno>
#include <new>

namespace culprit::measurement {

namespace {

constexpr std::uint64_t kMainFirstBlock = 2 * layout::kGranule;
constexpr std::uint64_t kFirstTreeBlock = layout::kGranule;

}  // namespace

void TreeTable::start(const TreeShape& shape) noexcept {
  shape_ = shape;
  count_.store(0, std::memory_order_relaxed);
  ended_.store(0, std::memory_order_relaxed);
  taken_over_.store(0, std::memory_order_relaxed);
  spares_wanted_.store(false, std::memory_order_relaxed);
  for (auto& spare : spares_) spare.store(nullptr, std::memory_order_relaxed);
}

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

ThreadTree* TreeTable::take_over(std::uint64_t tid, cct::FrameKey routine, std::uint64_t start_ns,
                                 std::uint32_t spared) noexcept {
  if (ended_.load(std::memory_order_relaxed) <= spared) return nullptr;
  const std::uint32_t count = count_.load(std::memory_order_acquire);
  const std::uint32_t first = taken_over_.load(std::memory_order_relaxed);
  std::uint32_t ended = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    ThreadTree& tree = (*this)[(first + i) % count];
    if (!tree.life().ended(routine) || ++ended <= spared || !tree.life().take_over(tid, start_ns)) continue;
    taken_over_.store(tree.index(), std::memory_order_relaxed);
    return &tree;
  }
  return nullptr;
}

ThreadTree* TreeTable::create(BlockFile& file, bool main, int& error) noexcept {
  std::uint32_t index = count_.load(std::memory_order_relaxed);
  do {
    error = ENOBUFS;
    if (index == kMaxThreads) return nullptr;
    // Before it is counted: whoever goes through the trees finds memory for all of them.
    if (provide(index) == nullptr) return nullptr;
  } while (!count_.compare_exchange_weak(index, index + 1, std::memory_order_release));
  auto* tree = new (provide(index)) ThreadTree(ended_);
  error = tree->create(file, index, main ? kMainFirstBlock : kFirstTreeBlock, shape_);
  if (error == 0) return tree;
  // Its place is free again, unless another thread took the next one meanwhile.
  std::uint32_t after = index + 1;
  count_.compare_exchange_strong(after, index, std::memory_order_relaxed);
  return nullptr;
}

ThreadTree* TreeTable::take_spare() noexcept {
  for (auto& spare : spares_) {
    if (spare.load(std::memory_order_relaxed) == nullptr) continue;
    if (ThreadTree* tree = spare.exchange(nullptr, std::memory_order_acq_rel)) return tree;
  }
  return nullptr;
}

void TreeTable::provide_spares(BlockFile& file) noexcept {
  if (!makes_spares()) return;
  for (auto& spare : spares_) {
    if (spare.load(std::memory_order_relaxed) != nullptr) continue;
    int error = 0;
    ThreadTree* tree = create(file, false, error);
    if (tree == nullptr) break;
    spare.store(tree, std::memory_order_release);
  }
  spares_wanted_.store(false, std::memory_order_release);  // who still found none asks again
}

int TreeTable::maintain(BlockFile& file) noexcept {
  int error = 0;
  const std::uint32_t made = count();
  for (std::uint32_t i = 0; i < made; ++i) {
    if (!(*this)[i].life().exists()) continue;
    if (const int failed = (*this)[i].maintain(file); failed != 0) error = failed;
  }
  provide_spares(file);
  return error;
}

ThreadTree* TreeTable::at(std::size_t index) const noexcept {
  if (index >= count()) return nullptr;
  ThreadTree& tree = (*this)[static_cast<std::uint32_t>(index)];
  return tree.life().exists() ? &tree : nullptr;
}

void TreeTable::close() noexcept {
  const std::uint32_t made = count();
  for (std::uint32_t i = 0; i < made; ++i) (*this)[i].life().close();
}

void TreeTable::release() noexcept {
  for (std::uint32_t i = 0; i < count(); ++i) (*this)[i].release();
  count_.store(0, std::memory_order_relaxed);
  for (auto& part : parts_) {
    if (ThreadTree* trees = part.exchange(nullptr, std::memory_order_acq_rel))
      raw_unmap(trees, kPart * sizeof(ThreadTree));
  }
}

}  // namespace culprit::measurement
