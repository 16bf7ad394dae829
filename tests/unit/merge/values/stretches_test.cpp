#include "merge/values/stretches.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace stretches_test {

using namespace culprit;
using measurement::Cell;
using measurement::Epoch;
using measurement::EpochKind;
using measurement::Stretch;
using measurement::ThreadProfile;
using merge::Calibration;

namespace {

constexpr std::uint64_t kPeriod = 5'000'000;

Stretch after(cct::NodeId call) {
  return {Stretch::kFirst + call};
}
constexpr Stretch kIn{Stretch::kInCall};

/// A thread with samples one by one, and stamps of its stretches.
struct Fixture {
  ThreadProfile thread;

  Fixture() { add(cct::kNoNode, {}); }

  cct::NodeId add(cct::NodeId parent, cct::FrameKey frame) {
    thread.nodes.push_back({.frame = frame, .parent = parent});
    thread.cell.push_back(cct::kNoNode);
    return static_cast<cct::NodeId>(thread.nodes.size() - 1);
  }
  cct::NodeId call(std::uint64_t offset, cct::NodeId parent = 0) {
    return add(parent, {.offset = offset, .module = 0, .kind = cct::FrameKind::call});
  }
  cct::NodeId leaf(std::uint64_t offset, cct::NodeId parent = 0) {
    return add(parent, {.offset = offset, .module = 0, .kind = cct::FrameKind::sample});
  }
  void sample(cct::NodeId node, Stretch stretch, std::uint64_t count, bool waits = false) {
    if (thread.cell[node] == cct::kNoNode) {
      thread.cell[node] = static_cast<std::uint32_t>(thread.cells.size());
      thread.cells.push_back({.stretch = stretch});
    }
    Cell& cell = thread.cells[thread.cell[node]];
    cell.time_ns += count * kPeriod;
    cell.samples += count;
    cell.weight_sq += count;
    if (waits) cell.marked_ns += count * kPeriod;
    if (cell.stretch == stretch) return;
    thread.epochs.push_back({.node = node,
                             .kind = EpochKind::stretch_samples,
                             .size_class = stretch.code,
                             .count = count,
                             .total_ns = count * kPeriod,
                             .squares = static_cast<double>(count)});
  }
  void length(EpochKind kind, cct::NodeId node, std::uint64_t ns, cct::NodeId next = 0) {
    thread.epochs.push_back({.node = node,
                             .kind = kind,
                             .size_class = kind == EpochKind::gap ? after(next).code : 0,
                             .count = 1,
                             .total_ns = ns});
  }
  [[nodiscard]] const Cell& of(const Calibration& calibration, cct::NodeId node) const {
    return calibration.cells()[thread.cell[node]];
  }
};

}  // namespace

TEST_CASE("samples divide the known length of calls and gaps") {
  Fixture f;
  const auto call = f.leaf(1), twin = f.call(1);  // where a call ended, and its frame while it runs
  const auto inside = f.leaf(2, twin), f_work = f.leaf(3), g_work = f.leaf(4);
  f.sample(inside, kIn, 40, true);
  f.sample(f_work, after(call), 30);
  f.sample(g_work, after(call), 10);
  f.length(EpochKind::waiting_call, call, 42 * kPeriod);
  f.length(EpochKind::gap, call, 44 * kPeriod, call);
  Calibration calibration;
  calibration.calibrate(f.thread, kPeriod);
  CHECK(f.of(calibration, inside).time_ns == 42 * kPeriod);
  CHECK(f.of(calibration, inside).marked_ns == 42 * kPeriod);
  CHECK(f.of(calibration, inside).weight_sq == 0);  // nothing of it varies
  CHECK(f.of(calibration, f_work).time_ns == 33 * kPeriod);
  CHECK(f.of(calibration, g_work).time_ns == 11 * kPeriod);
  REQUIRE(calibration.gaps().size() == 1);
  CHECK(calibration.gaps()[0].sampled_ns == 40 * kPeriod);
  CHECK(calibration.gaps()[0].weight_sq == 40);
  CHECK(calibration.sampled().size() == 2);
}

TEST_CASE("one node's samples in several gaps are distinguished") {
  Fixture f;
  const auto a = f.leaf(1), b = f.leaf(2), work = f.leaf(3), other = f.leaf(4);
  f.sample(work, after(a), 20);
  f.sample(work, after(b), 10);
  f.sample(other, after(b), 30);
  for (const auto call : {a, b}) f.length(EpochKind::waiting_call, call, 1000);
  f.length(EpochKind::gap, a, 22 * kPeriod, b);
  f.length(EpochKind::gap, b, 20 * kPeriod, a);
  f.length(EpochKind::gap, b, 24 * kPeriod, b);  // whatever ends it
  Calibration calibration;
  calibration.calibrate(f.thread, kPeriod);
  CHECK(f.of(calibration, work).time_ns == 33 * kPeriod);
  CHECK(f.of(calibration, other).time_ns == 33 * kPeriod);
}

TEST_CASE("gaps that were hardly sampled are joined") {
  Fixture f;
  const auto a = f.leaf(1), b = f.leaf(2), c = f.leaf(3), work = f.leaf(4);
  f.sample(work, after(a), 3);
  for (const auto call : {a, b, c}) {
    f.length(EpochKind::waiting_call, call, 1000);
    f.length(EpochKind::gap, call, kPeriod * 3 / 2, a);
  }
  Calibration calibration;
  calibration.calibrate(f.thread, kPeriod);
  CHECK(f.of(calibration, work).time_ns == kPeriod * 9 / 2);
}

TEST_CASE("gaps without samples are joined to the one with the fewest") {
  Fixture f;
  const auto a = f.leaf(1), b = f.leaf(2), c = f.leaf(3), work = f.leaf(4), other = f.leaf(5);
  f.sample(work, after(a), 10);
  f.sample(other, after(b), 20);
  for (const auto call : {a, b, c}) f.length(EpochKind::waiting_call, call, 1000);
  f.length(EpochKind::gap, a, 10 * kPeriod, b);
  f.length(EpochKind::gap, b, 20 * kPeriod, c);
  f.length(EpochKind::gap, c, 2 * kPeriod, a);
  Calibration calibration;
  calibration.calibrate(f.thread, kPeriod);
  CHECK(f.of(calibration, work).time_ns == 12 * kPeriod);
  CHECK(f.of(calibration, other).time_ns == 20 * kPeriod);
}

TEST_CASE("a sample in the wrapper of a call takes nothing of a gap in which code was sampled") {
  Fixture f;
  const auto call = f.leaf(1), twin = f.call(1), wrapper = f.leaf(2, twin), work = f.leaf(3);
  f.sample(wrapper, kIn, 4, true);
  f.sample(wrapper, after(call), 1);
  f.sample(work, after(call), 1);
  f.length(EpochKind::waiting_call, call, 5 * kPeriod);
  f.length(EpochKind::gap, call, 2 * kPeriod, call);
  Calibration calibration;
  calibration.calibrate(f.thread, kPeriod);
  CHECK(f.of(calibration, wrapper).time_ns == 5 * kPeriod);
  CHECK(f.of(calibration, wrapper).weight_sq == 0);
  CHECK(f.of(calibration, work).time_ns == 2 * kPeriod);
  REQUIRE(calibration.gaps().size() == 1);
  CHECK(calibration.gaps()[0].sampled_ns == kPeriod);

  Fixture g;  // nothing but the wrapper was sampled
  const auto only = g.leaf(1), around = g.call(1), inside = g.leaf(2, around);
  g.sample(inside, after(only), 4);
  g.length(EpochKind::waiting_call, only, kPeriod);
  g.length(EpochKind::gap, only, 4 * kPeriod, only);
  calibration.calibrate(g.thread, kPeriod);
  CHECK(g.of(calibration, inside).time_ns == 4 * kPeriod);
}

TEST_CASE("each call has its own time, sampled or not") {
  Fixture f;
  const auto seldom = f.leaf(1), never = f.leaf(2), often = f.leaf(3);
  f.sample(seldom, kIn, 1, true);
  f.sample(often, kIn, 100, true);
  f.length(EpochKind::waiting_call, seldom, kPeriod * 5 / 2);
  f.length(EpochKind::waiting_call, never, kPeriod * 7 / 2);
  f.length(EpochKind::waiting_call, often, 102 * kPeriod);
  Calibration calibration;
  calibration.calibrate(f.thread, kPeriod);
  CHECK(f.of(calibration, seldom).time_ns == kPeriod * 5 / 2);
  CHECK(f.of(calibration, often).time_ns == 102 * kPeriod);
  REQUIRE(calibration.unsampled().size() == 1);
  CHECK(calibration.unsampled()[0].node == never);
  CHECK(calibration.unsampled()[0].ns == kPeriod * 7 / 2);
}

TEST_CASE("a call without samples that is longer than chance allows is left to the samples") {
  Fixture f;
  const auto call = f.leaf(1);
  f.length(EpochKind::waiting_call, call, 100 * kPeriod);
  Calibration calibration;
  calibration.calibrate(f.thread, kPeriod);
  CHECK(calibration.unsampled().empty());
}

TEST_CASE("where stamps and samples contradict each other, the samples stand") {
  Fixture f;
  const auto a = f.leaf(1), work = f.leaf(2), twin = f.call(1), inside = f.leaf(3, twin);
  f.sample(work, after(a), 100);
  f.sample(inside, kIn, 100, true);
  f.length(EpochKind::waiting_call, a, 400 * kPeriod);
  f.length(EpochKind::gap, a, 10 * kPeriod, a);
  Calibration calibration;
  calibration.calibrate(f.thread, kPeriod);
  CHECK(f.of(calibration, work).time_ns == 100 * kPeriod);
  CHECK(f.of(calibration, inside).time_ns == 100 * kPeriod);
  CHECK(f.of(calibration, inside).weight_sq == 100);
  CHECK(calibration.gaps().empty());
}

TEST_CASE("the last gap of a killed process has the time that stamps lack") {
  Fixture f;
  const auto a = f.leaf(1), work = f.leaf(2), inside = f.leaf(3, f.call(1));
  f.sample(inside, kIn, 100, true);
  f.sample(work, after(a), 1600);
  f.thread.cells[f.thread.cell[work]].weight_sq += 400 * 399;  // one stands for 400: the process was stopped
  f.length(EpochKind::waiting_call, a, 101 * kPeriod);
  f.length(EpochKind::gap, a, 150 * kPeriod, a);
  const bool open = GENERATE(false, true);
  Calibration calibration;
  calibration.calibrate(f.thread, kPeriod, open);
  CHECK(f.of(calibration, work).time_ns == (open ? 1599 : 150) * kPeriod);
  CHECK(f.of(calibration, inside).time_ns == 101 * kPeriod);
}

TEST_CASE("without stamps, and for samples outside of stretches, nothing changes") {
  Fixture f;
  const auto a = f.leaf(1), work = f.leaf(2);
  f.sample(work, {}, 100);
  f.sample(a, kIn, 50);
  if (GENERATE(false, true)) f.length(EpochKind::waiting_call, work, 1000);
  Calibration calibration;
  calibration.calibrate(f.thread, kPeriod);
  CHECK(f.of(calibration, work).time_ns == 100 * kPeriod);
  CHECK(f.of(calibration, a).time_ns == 50 * kPeriod);
}

TEST_CASE("the times of calibrated gaps add up to their lengths") {
  CHECK(rc::check([] {
    Fixture f;
    std::vector<cct::NodeId> calls, leaves;
    const int gaps = *rc::gen::inRange(1, 6), work = *rc::gen::inRange(1, 8);
    for (int i = 0; i < gaps; ++i) calls.push_back(f.leaf(static_cast<std::uint64_t>(i)));
    for (int i = 0; i < work; ++i) leaves.push_back(f.leaf(static_cast<std::uint64_t>(100 + i)));
    double known = 0;
    for (const cct::NodeId call : calls) {
      std::uint64_t sampled = 0;
      for (const cct::NodeId leaf : leaves) {
        const auto count = *rc::gen::inRange<std::uint64_t>(0, 60);
        if (count != 0) f.sample(leaf, after(call), count);
        sampled += count;
      }
      const std::uint64_t length = sampled * kPeriod * *rc::gen::inRange<std::uint64_t>(95, 106) / 100;
      f.length(EpochKind::waiting_call, call, 1000);
      f.length(EpochKind::gap, call, length, call);
      known += static_cast<double>(length);
    }
    Calibration calibration;
    calibration.calibrate(f.thread, kPeriod);
    double sum = 0;
    for (const Cell& cell : calibration.cells()) sum += static_cast<double>(cell.time_ns);
    RC_ASSERT(std::abs(sum - known) <= static_cast<double>(leaves.size()));
  }));
}

}  // namespace stretches_test
