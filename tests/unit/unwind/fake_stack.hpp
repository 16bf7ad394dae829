#pragma once

#include "fake_module.hpp"
#include "unwind/walker.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace culprit::unwind::testing {

/// A stack made by hand, full of a recognizable filler, and walkers that take it for their thread's.
class FakeStack {
 public:
  static constexpr std::uint64_t kWords = 4096;
  static constexpr std::uint64_t kFiller = 0xf111;

  FakeStack() : words_(kWords, kFiller) {}

  /// Address of word `index`; word kWords is the end.
  [[nodiscard]] std::uint64_t at(std::uint64_t index) const {
    return reinterpret_cast<std::uint64_t>(words_.data()) + index * 8;
  }
  [[nodiscard]] std::uint64_t top() const { return at(kWords); }
  std::uint64_t& operator[](std::uint64_t index) { return words_.at(index); }
  /// The word at an address of this stack.
  std::uint64_t& word(std::uint64_t address) { return words_.at((address - at(0)) / 8); }

  std::unique_ptr<Walker> walker(FakeModule& module) const {
    auto walker = std::make_unique<Walker>();
    walker->reset(FakeModule::find, &module, at(0), top());
    return walker;
  }

 private:
  std::vector<std::uint64_t> words_;
};

/// The program counters of a walk.
inline std::vector<std::uint64_t> pcs(const Walk& walk) {
  std::vector<std::uint64_t> result;
  for (std::size_t i = 0; i < walk.depth; ++i) result.push_back(walk.frames[i].pc);
  return result;
}

}  // namespace culprit::unwind::testing
