#include "merge/timelines/line_replay.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <rapidcheck.h>

namespace line_replay_test {

using namespace culprit;
using database::ContextId;
using database::ContextKind;
using measurement::trace::Operation;
using measurement::trace::OperationKind;
using measurement::trace::Record;
using measurement::trace::RecordKind;
using merge::Shape;
using metrics::WaitPattern;

namespace {

constexpr auto kMpi = measurement::WaitKind::mpi;
constexpr ContextId kSolve = 4, kSum = 6, kTest = 3, kSend = 8;

// 0 root → 1 main → { 2 call → 3 MPI_Test; 4 solve → { 5 call → 6 sum; 7 call → 8 MPI_Send → 9 a statement }
// }
Shape shape() {
  Shape made;
  made.contexts = {{},
                   {.parent = 0, .kind = ContextKind::procedure},
                   {.parent = 1, .kind = ContextKind::call},
                   {.parent = 2, .kind = ContextKind::procedure, .wait = kMpi},
                   {.parent = 1, .kind = ContextKind::procedure},
                   {.parent = 4, .kind = ContextKind::call},
                   {.parent = 5, .kind = ContextKind::procedure},
                   {.parent = 4, .kind = ContextKind::call},
                   {.parent = 7, .kind = ContextKind::procedure, .wait = kMpi},
                   {.parent = 8, .kind = ContextKind::statement, .wait = kMpi}};
  return made;
}

/// Records of one thread.
class OneThread final : public waits::ProcessTrace {
 public:
  std::vector<Record> records;

  [[nodiscard]] std::int32_t rank() const override { return 0; }
  [[nodiscard]] const std::vector<measurement::trace::Definition>& definitions() const override {
    return none_;
  }
  [[nodiscard]] std::size_t threads() const override { return 1; }
  bool next(std::size_t /*thread*/, Record& record) override {
    if (at_ == records.size()) return false;
    record = records[at_++];
    return true;
  }

 private:
  std::size_t at_ = 0;
  std::vector<measurement::trace::Definition> none_;
};

/// Writes events down, and checks that they nest and that time never goes back.
class Written final : public merge::LineEvents {
 public:
  std::vector<std::string> lines;
  std::map<std::uint32_t, std::uint64_t> call_ns;  // by index
  std::map<database::WaitPattern, std::uint64_t> wait_ns;
  std::map<database::WaitPattern, std::size_t> wait_count;

  void enter(std::uint64_t ns, ContextId frame) override {
    CHECK(calls_ == 0);
    open(ns, fmt::format("frame {}", frame));
  }
  void leave(std::uint64_t ns, ContextId frame) override {
    CHECK(calls_ == 0);
    close(ns, fmt::format("frame {}", frame));
  }
  void enter_call(std::uint64_t ns, const merge::LineCall& call,
                  std::span<const std::uint64_t> arrows) override {
    ++calls_;
    open(ns, fmt::format("call {} {}", call.index, call.context));
    for (const std::uint64_t arrow : arrows) lines.push_back(fmt::format("arrow {}", arrow));
  }
  void leave_call(std::uint64_t ns, const merge::LineCall& call) override {
    --calls_;
    call_ns[call.index] += close(ns, fmt::format("call {} {}", call.index, call.context));
  }
  void begin_wait(std::uint64_t ns, const merge::LineWait& wait) override {
    if (!wait.continued) ++wait_count[wait.pattern];
    open(ns, fmt::format("wait {}", static_cast<int>(wait.pattern)));
  }
  void end_wait(std::uint64_t ns, const merge::LineWait& wait) override {
    wait_ns[wait.pattern] += close(ns, fmt::format("wait {}", static_cast<int>(wait.pattern)));
  }
  void iteration(std::uint64_t ns, std::uint64_t number) override {
    lines.push_back(fmt::format("{} iteration {}", ns, number));
  }
  [[nodiscard]] bool done() const { return open_.empty(); }

 private:
  void open(std::uint64_t ns, const std::string& what) {
    CHECK(ns >= last_ns_);
    last_ns_ = ns;
    open_.emplace_back(what, ns);
    lines.push_back(fmt::format("{} {}", ns, what));
  }
  std::uint64_t close(std::uint64_t ns, const std::string& what) {
    REQUIRE(!open_.empty());
    CHECK(ns >= last_ns_);
    CHECK(open_.back().first == what);
    last_ns_ = ns;
    const std::uint64_t taken = ns - open_.back().second;
    open_.pop_back();
    lines.push_back(fmt::format("{} end", ns));
    return taken;
  }

  std::vector<std::pair<std::string, std::uint64_t>> open_;
  std::uint64_t last_ns_ = 0;
  int calls_ = 0;
};

/// A run of one time line.
struct Run {
  Run() { store.open(0); }

  void sample(std::uint64_t enter, std::uint64_t exit, ContextId context) {
    trace.records.push_back({.kind = RecordKind::sample,
                             .enter_ns = enter,
                             .exit_ns = exit,
                             .node = context,
                             .holder = {},
                             .operations = {}});
  }
  /// With waits: pattern, beginning, end.
  struct Wait {
    WaitPattern pattern = WaitPattern::late_sender;
    std::uint64_t begin_ns = 0, end_ns = 0;
  };
  void call(std::uint64_t enter, std::uint64_t exit, ContextId context, const std::vector<Wait>& waits = {}) {
    trace.records.push_back({.kind = RecordKind::call,
                             .enter_ns = enter,
                             .exit_ns = exit,
                             .node = context,
                             .holder = {},
                             .operations = {}});
    waits::TimeLine& line = store.line(0);
    const waits::EventId id = store.add(line, {.enter_ns = enter, .exit_ns = exit, .context = context});
    line.events.change(id.index).waits = static_cast<std::uint32_t>(line.waits.size());
    for (const Wait& wait : waits) {
      waits::Wait added;
      added.event = id.index;
      added.pattern = wait.pattern;
      added.ns = wait.end_ns - wait.begin_ns;
      added.until_ns = wait.end_ns;
      added.context = context;
      line.waits.push_back(added);
    }
  }
  std::unique_ptr<Written> replay() {
    const merge::FrameTree frames(shape());
    auto written = std::make_unique<Written>();
    merge::LineReplay(frames, store, 0, nullptr).run(trace, 0, *written);
    CHECK(written->done());
    return written;
  }

  waits::TraceStore store;
  OneThread trace;
};

}  // namespace

TEST_CASE("a sample's path fills the time that it stands for, and neighbours' common scopes the rest") {
  Run run;
  run.sample(100, 110, kSum);
  run.call(120, 130, 9);
  CHECK(run.replay()->lines == std::vector<std::string>{"100 frame 1", "100 frame 4", "100 frame 6",
                                                        "110 end", "120 call 0 8", "130 end", "130 end",
                                                        "130 end"});
}

TEST_CASE("samples within calls leave the code as it is") {
  Run run;
  run.sample(0, 5, kSolve);
  run.sample(5, 15, 9);
  run.call(10, 20, 9);
  run.sample(15, 25, kSolve);
  CHECK(run.replay()->lines ==
        std::vector<std::string>{"0 frame 1", "0 frame 4", "10 call 0 8", "20 end", "25 end", "25 end"});
}

TEST_CASE("a series of polls holds the calls between its polls") {
  Run run;
  run.call(30, 40, kSend);
  run.call(50, 60, kSend);
  run.call(20, 70, kTest);
  run.call(80, 90, kSend);
  CHECK(run.replay()->lines == std::vector<std::string>{"20 frame 1", "20 call 2 3", "30 call 0 8", "40 end",
                                                        "50 call 1 8", "60 end", "70 end", "80 frame 4",
                                                        "80 call 3 8", "90 end", "90 end", "90 end"});
}

TEST_CASE("a wait that ends in a call within its own is divided where that begins") {
  Run run;
  run.call(30, 40, kSend);
  run.call(20, 70, kTest, {{.pattern = WaitPattern::late_sender, .begin_ns = 20, .end_ns = 35}});
  const std::unique_ptr<Written> written = run.replay();
  CHECK(written->wait_ns.at(database::WaitPattern::late_sender) == 15);
  CHECK(written->wait_count.at(database::WaitPattern::late_sender) == 1);
  CHECK(written->call_ns.at(0) == 10);
  CHECK(written->call_ns.at(1) == 50);
}

TEST_CASE("a wait begins before its part of the same length") {
  Run run;
  run.call(10, 40, kSend,
           {{.pattern = WaitPattern::late_sender, .begin_ns = 10, .end_ns = 30},
            {.pattern = WaitPattern::late_sender_wrong_order, .begin_ns = 10, .end_ns = 30}});
  const std::vector<std::string> lines = run.replay()->lines;
  CHECK(lines[3] == "10 wait 0");
  CHECK(lines[4] == "10 wait 1");
}

TEST_CASE("marks of iterations are no calls") {
  Run run;
  run.call(10, 10, 1);
  run.trace.records.back().operations = {{.kind = OperationKind::iteration, .bytes = 7}};
  CHECK(run.replay()->lines == std::vector<std::string>{"10 iteration 7"});
}

TEST_CASE("an arrow begins at the call that ended a wait") {
  Run run;
  run.store.open(1);
  run.call(10, 40, kSend, {{.pattern = WaitPattern::late_sender, .begin_ns = 10, .end_ns = 30}});
  waits::Wait wait = run.store.line(0).waits[0];
  const waits::EventId cause = run.store.add(1, {.enter_ns = 30, .exit_ns = 35, .context = kSend});
  wait.cause = cause;
  run.store.line(0).waits.set(0, wait);
  merge::Arrows arrows(run.store);
  CHECK(arrows.of(0, 0, wait) == 1);
  OneThread other;
  other.records.push_back({.kind = RecordKind::call,
                           .enter_ns = 30,
                           .exit_ns = 35,
                           .node = kSend,
                           .holder = {},
                           .operations = {}});
  Written written;
  const merge::FrameTree frames(shape());
  merge::LineReplay(frames, run.store, 1, &arrows).run(other, 0, written);
  CHECK(written.lines[3] == "arrow 1");
}

TEST_CASE("calls and waits keep their time, however calls nest") {
  CHECK(rc::check([] {
    Run run;
    std::uint64_t now = 1;
    std::map<std::uint32_t, std::uint64_t> expected_calls;
    std::map<database::WaitPattern, std::uint64_t> expected_waits;
    std::map<database::WaitPattern, std::size_t> expected_counts;
    std::uint32_t index = 0;
    const auto add = [&](const auto& again, int depth) -> void {
      now += *rc::gen::inRange<std::uint64_t>(1, 5);
      const std::uint64_t enter = now;
      const int within = depth > 2 ? 0 : *rc::gen::inRange(0, 3);
      for (int i = 0; i < within; ++i) again(again, depth + 1);
      now += *rc::gen::inRange<std::uint64_t>(3, 9);
      const std::uint64_t exit = now;
      std::vector<Run::Wait> waits;
      if (*rc::gen::arbitrary<bool>()) {
        const std::uint64_t until = *rc::gen::inRange(enter + 1, exit);
        waits.push_back({.pattern = WaitPattern::wait_at_nxn, .begin_ns = enter, .end_ns = until});
        const std::uint64_t since = *rc::gen::inRange(enter + 1, exit);
        waits.push_back({.pattern = WaitPattern::nxn_completion, .begin_ns = since, .end_ns = exit});
        expected_waits[database::WaitPattern::wait_at_nxn] += until - enter;
        expected_waits[database::WaitPattern::nxn_completion] += exit - since;
        ++expected_counts[database::WaitPattern::wait_at_nxn];
        ++expected_counts[database::WaitPattern::nxn_completion];
      }
      run.call(enter, exit, within > 0 ? kTest : kSend, waits);
      expected_calls[index++] = exit - enter;
    };
    const int calls = *rc::gen::inRange(1, 6);
    for (int i = 0; i < calls; ++i) add(add, 0);
    const std::unique_ptr<Written> written = run.replay();
    RC_ASSERT(written->call_ns == expected_calls);
    RC_ASSERT(written->wait_ns == expected_waits);
    RC_ASSERT(written->wait_count == expected_counts);
  }));
}

}  // namespace line_replay_test
