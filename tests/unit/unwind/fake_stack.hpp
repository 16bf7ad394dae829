#pragma once

#include "fake_module.hpp"
#include "unwind/walker.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include <sys/mman.h>

namespace culprit::unwind::testing {

/// A stack made by hand, full of a recognizable filler, and walkers that take it for their thread's. Behind
/// its end, an inaccessible page.
class FakeStack {
 public:
  static constexpr std::uint64_t kWords = 4096;  // unless more are asked for
  static constexpr std::uint64_t kFiller = 0xf111;

  explicit FakeStack(std::uint64_t words = kWords) : size_(words) {
    void* memory =
        mmap(nullptr, size_ * 8 + kGuard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("mmap");
    words_ = static_cast<std::uint64_t*>(memory);
    mprotect(words_ + size_, kGuard, PROT_NONE);
    std::fill_n(words_, size_, kFiller);
  }
  ~FakeStack() { munmap(words_, size_ * 8 + kGuard); }
  FakeStack(const FakeStack&) = delete;
  FakeStack& operator=(const FakeStack&) = delete;

  /// Address of word `index`; the word behind the last is the end.
  [[nodiscard]] std::uint64_t at(std::uint64_t index) const {
    return reinterpret_cast<std::uint64_t>(words_) + index * 8;
  }
  [[nodiscard]] std::uint64_t top() const { return at(size_); }
  std::uint64_t& operator[](std::uint64_t index) {
    if (index >= size_) throw std::out_of_range("FakeStack");
    return words_[index];
  }
  /// The word at an address of this stack.
  std::uint64_t& word(std::uint64_t address) { return (*this)[(address - at(0)) / 8]; }

  std::unique_ptr<Walker> walker(FakeModule& module) const {
    auto walker = std::make_unique<Walker>();
    walker->reset(FakeModule::find, &module, at(0), top());
    return walker;
  }

 private:
  static constexpr std::uint64_t kGuard = 4096;

  std::uint64_t size_;
  std::uint64_t* words_;
};

/// The program counters of a walk's path, without its gap.
inline std::vector<std::uint64_t> pcs(const Walk& walk) {
  std::vector<std::uint64_t> result;
  for (std::size_t i = 0; i < walk.depth; ++i) {
    if (!walk.gap.holds(i)) result.push_back(walk.frames[i].pc);
  }
  return result;
}

}  // namespace culprit::unwind::testing
