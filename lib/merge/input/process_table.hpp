#pragma once

#include "merge/input/process_runs.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace culprit::merge {

/// All processes of a run in canonical order, to be gone through from the first to the last. They lie in a
/// Spill: what this takes in memory does not grow with their number.
class ProcessTable {
 public:
  /// None.
  ProcessTable() = default;

  /// Of all runs together, those that `keep` keeps. Takes `spill`, in which they lie and it is going to lie.
  /// Throws storage::SpillError.
  ProcessTable(std::unique_ptr<storage::Spill> spill, std::vector<PackedRuns> runs,
               const std::function<bool(const ProcessSummary&)>& keep);

  /// A single pass; what it refers to is overwritten by its next step. Steps throw storage::SpillError.
  class Iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = ProcessSummary;
    using difference_type = std::ptrdiff_t;

    explicit Iterator(std::optional<ProcessCursor>&& cursor) : cursor_(std::move(cursor)) { ++*this; }
    const ProcessSummary& operator*() const { return cursor_->process(); }
    const ProcessSummary* operator->() const { return &cursor_->process(); }
    Iterator& operator++() {
      if (cursor_ && !cursor_->next()) cursor_.reset();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& it, std::default_sentinel_t /*end*/) { return !it.cursor_; }

   private:
    std::optional<ProcessCursor> cursor_;
  };
  [[nodiscard]] Iterator begin() const;
  [[nodiscard]] std::default_sentinel_t end() const { return {}; }

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t threads() const { return threads_; }
  /// Contexts with values, over all threads.
  [[nodiscard]] std::uint64_t cells() const { return cells_; }
  /// Whether any process is a rank.
  [[nodiscard]] bool ranked() const { return ranked_; }
  /// What processes have in common, each once, in the order of the first process that has it.
  [[nodiscard]] std::span<const std::shared_ptr<const Launch>> launches() const { return shared_.launches; }

 private:
  void merge(const std::vector<PackedRuns>& runs, const std::function<bool(const ProcessSummary&)>& keep);
  void count(const ProcessSummary& process);

  struct Packed {
    explicit Packed(std::unique_ptr<storage::Spill> in) : spill(std::move(in)), bytes(*spill) {}
    std::unique_ptr<storage::Spill> spill;
    storage::SpilledBytes bytes;
  };
  std::unique_ptr<Packed> packed_;
  SharedByProcesses shared_;
  std::uint64_t size_ = 0, threads_ = 0, cells_ = 0;
  bool ranked_ = false;
};

}  // namespace culprit::merge
