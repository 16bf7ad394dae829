#pragma once

#include "merge/timelines/line_events.hpp"
#include "merge/values/shape.hpp"
#include "storage/sequence.hpp"
#include "waits/timeline/by_call.hpp"
#include "waits/timeline/process_trace.hpp"
#include "waits/timeline/trace_store.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace culprit::merge {

/// The scopes of the calling context tree that a time line shows: procedures, inlined ones, loops and the
/// program's regions. Frames below an MPI call or another wait are part of it.
class FrameTree {
 public:
  explicit FrameTree(const Shape& shape);

  /// The innermost scope at or above a context; kNone: none.
  [[nodiscard]] database::ContextId frame_of(database::ContextId context) const { return frame_[context]; }
  /// The scope around a scope.
  [[nodiscard]] database::ContextId around(database::ContextId frame) const { return around_[frame]; }
  /// Whether `frame` is `context` or above it.
  [[nodiscard]] bool holds(database::ContextId frame, database::ContextId context) const {
    return frame <= context && context < end_[frame];
  }
  /// Where a call, or a sample in one, is shown.
  [[nodiscard]] database::ContextId call_of(database::ContextId context) const { return call_[context]; }
  [[nodiscard]] database::ContextId parent(database::ContextId context) const { return parent_[context]; }
  /// The innermost context that both lie in.
  [[nodiscard]] database::ContextId around_both(database::ContextId a, database::ContextId b) const;

 private:
  std::vector<database::ContextId> parent_, frame_, around_, call_, end_;
};

/// Arrows from the calls of one time line to the waits that they ended.
struct ArrowStart {
  std::uint32_t event = 0;
  std::uint32_t unused = 0;  ///< not left out: what lies there is packed with the rest
  std::uint64_t arrow = 0;
};

/// Which waits get arrows, and how these are numbered in the run. None where the call that was waited for is
/// a series of polls with other calls within it, or was entered after the wait had ended by the clocks.
class Arrows {
 public:
  /// Over all time lines of the store, which must outlive it.
  explicit Arrows(waits::TraceStore& store);

  /// Of the `wait`-th wait of the `line`-th line; 0: it has none.
  [[nodiscard]] std::uint64_t of(std::size_t line, std::size_t wait, const waits::Wait& what) const;
  /// Those that begin at the calls of a line. They are given away part by part.
  [[nodiscard]] waits::ByCall<ArrowStart>& starts(std::size_t line) { return starts_[line]; }

 private:
  const waits::TraceStore& store_;
  std::vector<std::uint64_t> first_;  // by line
  std::vector<waits::ByCall<ArrowStart>> starts_;
};

/// Brings a time line's records, calls and waits into the order of time, properly nested (docs/algorithms.md
/// 18). Memory does not grow with the line's length.
class LineReplay {
 public:
  /// The `line`-th line of `store`, whose waits are classified. `arrows`: null: none. All must outlive it.
  LineReplay(const FrameTree& frames, waits::TraceStore& store, std::size_t line, Arrows* arrows);

  /// Reads the `thread`-th thread of `process`, which is at its beginning, to its end.
  void run(waits::ProcessTrace& process, std::size_t thread, LineEvents& events);

 private:
  /// A series of polls with other calls within it, the first of which is call `first`.
  struct Container {
    std::uint32_t call = 0, first = 0;
  };
  struct OpenCall {
    LineCall call;
    bool container = false;
    std::size_t waits_around = 0;  // how many of waits_ were begun before it
  };

  void find_containers();
  void take(const measurement::trace::Record& record);
  void take_sample(const measurement::trace::Record& record);
  void take_call(const measurement::trace::Record& record);
  void open_containers(std::uint64_t until);
  void open_call(std::uint32_t index, const waits::Event& event, bool container);
  void close_call(std::uint64_t ns);
  void end();

  void move_to(std::uint64_t ns, database::ContextId context);
  void show(std::uint64_t ns, database::ContextId context);
  void add_waits(std::uint32_t call, const waits::Event& event);
  void pass(std::uint64_t until);
  void begin_wait(std::uint64_t ns, LineWait wait);
  void end_wait(std::uint64_t ns);
  std::vector<LineWait> suspend_waits(std::uint64_t ns, std::size_t keep, std::uint64_t until);
  void resume_waits(std::uint64_t ns, std::vector<LineWait> waits);
  void take_arrows(std::uint32_t call);
  std::uint64_t at(std::uint64_t ns);

  const FrameTree& frames_;
  waits::TraceStore& store_;
  std::size_t number_;
  waits::TimeLine& line_;
  Arrows* arrows_;
  storage::Sequence<Container> containers_;  // the first one last
  LineEvents* events_ = nullptr;

  std::uint32_t index_ = 0;                   // of the next call that ends
  std::optional<waits::Event> next_;          // that call
  std::optional<std::uint64_t> now_, known_;  // the last event; until when what ran is known
  database::ContextId current_ = 0;           // where the code was then
  std::vector<database::ContextId> shown_;    // the frames that were entered, outermost first
  std::vector<OpenCall> open_;
  std::vector<LineWait> waits_;    // that were begun, the one that ends first last
  std::vector<LineWait> pending_;  // of open calls, by their beginnings, the first last
  std::vector<ArrowStart> starts_;
  std::size_t next_start_ = 0, next_part_ = 0;
  std::vector<std::uint64_t> arrows_of_call_;
};

}  // namespace culprit::merge
