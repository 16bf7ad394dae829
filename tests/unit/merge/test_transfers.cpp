// Large transfers: what they cost without waiting is learned from all calls of the run, and is no idleness.
#include "exchange/threads.hpp"
#include "measurement/transfer_cost.hpp"
#include "merge/transfer_costs.hpp"
#include "merge/transfer_work.hpp"

#include <vector>

#include <catch2/catch.hpp>

using namespace culprit;
using database::ContextKind;
using measurement::cost_class;
using measurement::cost_of_class;
using measurement::EpochKind;
using measurement::WaitKind;
using merge::Columns;

namespace {

constexpr std::uint64_t kMessages = 1, kAllreduceOfTwo = (std::uint64_t{77} << 32) + 2;
constexpr std::uint64_t kBytes = 1'000'000;
constexpr std::uint32_t kClass = 20;
constexpr cct::NodeId kCall = 1;

/// Counts a call as the runtime does.
void count(measurement::ThreadProfile& thread, std::uint64_t family, std::uint64_t sent,
           std::uint64_t received, std::uint64_t time_ns) {
  const auto add = [&](cct::NodeId node, EpochKind kind, std::uint64_t amount, std::uint64_t cost) {
    thread.epochs.push_back({.node = node,
                             .kind = kind,
                             .size_class = kClass,
                             .window = family,
                             .peers = cost,
                             .count = 1,
                             .total_ns = amount,
                             .least_ns = amount});
  };
  add(kCall, EpochKind::transfer, time_ns, 0);
  add(kCall, EpochKind::transfer_sent, sent, 0);
  add(kCall, EpochKind::transfer_received, received, 0);
  add(0, EpochKind::transfer_cost, time_ns, cost_class(time_ns, sent + received));
}

/// Two ranks; the calls of each in its own thread.
std::vector<measurement::Measurement> two_ranks() {
  std::vector<measurement::Measurement> files(2);
  for (measurement::Measurement& file : files) {
    file.process.world_size = 2;
    file.threads.emplace_back();
  }
  return files;
}

merge::TransferCosts learn(const std::vector<measurement::Measurement>& files) {
  merge::TransferCosts result;
  exchange::run_on_threads(static_cast<int>(files.size()), [&](exchange::Communicator& comm) {
    merge::TransferCosts costs;
    costs.add(files[static_cast<std::size_t>(comm.rank())]);
    costs.agree(comm);
    if (comm.rank() == 1) result = costs;
  });
  return result;
}

/// One procedure that waits, with a statement of its own and one in a function below.
merge::Shape shape() {
  merge::Shape shape;
  shape.contexts.push_back({});
  shape.contexts.push_back(
      {.parent = 0, .kind = ContextKind::procedure, .wait = WaitKind::mpi, .idle_by_name = 1});
  shape.contexts.push_back(
      {.parent = 1, .kind = ContextKind::statement, .wait = WaitKind::mpi, .idle_by_name = 1});
  shape.contexts.push_back(
      {.parent = 1, .kind = ContextKind::statement, .wait = WaitKind::mpi, .never_idle = 1});
  shape.own = {0, 1, 2, 3};
  return shape;
}

constexpr std::uint64_t kMillisecond = 1'000'000;

}  // namespace

TEST_CASE("classes of cost ascend and are narrow") {
  std::uint64_t last = 0;
  for (std::uint64_t cost = 1; cost < 1'000'000; cost += 1 + cost / 50) {
    const std::uint64_t here = cost_class(cost, 1000);
    CHECK(here >= last);
    last = here;
    if (cost >= 8) CHECK(cost_of_class(here) == Approx(static_cast<double>(cost)).epsilon(0.07));
  }
  CHECK(cost_class(~std::uint64_t{0}, 1) >= cost_class(std::uint64_t{1} << 50, 1));
}

TEST_CASE("of a late receiver's calls the receives tell the cost, and the sends waited") {
  auto files = two_ranks();
  for (int i = 0; i < 40; ++i) {
    count(files[0].threads[0], kMessages, kBytes, 0, 20 * kMillisecond);
    count(files[1].threads[0], kMessages, 0, kBytes, kMillisecond);
  }
  const merge::TransferCosts costs = learn(files);
  CHECK(costs.cost(kMessages, kClass) == Approx(1000).epsilon(0.07));  // ps per byte
  CHECK(costs.cost(kMessages, kClass + 1) == 0);

  const merge::Shape tree = shape();
  const std::vector<cct::NodeId> same{0, 1, 2, 3};
  std::vector<std::vector<std::uint64_t>> own(4, std::vector<std::uint64_t>(tree.columns.all()));
  std::vector<merge::RecordedRow> rows;
  for (database::ContextId x = 2; x < 4; ++x) rows.push_back({.context = x, .values = own[x].data()});
  own[2][Columns::kRealtime] = own[2][Columns::kIdleness] = 800 * kMillisecond;
  merge::count_transfers_as_work(files[0].threads[0], same, tree, costs, rows);
  CHECK(static_cast<double>(own[2][Columns::kIdleness]) == Approx(760e6).epsilon(0.01));
  CHECK(own[2][Columns::kIdleness] + own[2][Columns::kCommunication] == 800 * kMillisecond);
}

TEST_CASE("a punctual transfer is no idleness; what moved data by its frames counts once") {
  auto files = two_ranks();
  for (auto& file : files) {
    for (int i = 0; i < 40; ++i) count(file.threads[0], kAllreduceOfTwo, kBytes, kBytes, kMillisecond);
  }
  const merge::TransferCosts costs = learn(files);
  const merge::Shape tree = shape();
  const std::vector<cct::NodeId> same{0, 1, 2, 3};
  std::vector<std::vector<std::uint64_t>> own(4, std::vector<std::uint64_t>(tree.columns.all()));
  std::vector<merge::RecordedRow> rows;
  for (database::ContextId x = 2; x < 4; ++x) rows.push_back({.context = x, .values = own[x].data()});
  own[2][Columns::kRealtime] = own[2][Columns::kIdleness] = 30 * kMillisecond;
  own[3][Columns::kRealtime] = own[3][Columns::kCommunication] = 10 * kMillisecond;
  SECTION("all calls are transfers") {
    merge::count_transfers_as_work(files[0].threads[0], same, tree, costs, rows);
    CHECK(own[2][Columns::kIdleness] <= 3 * kMillisecond);  // a class of cost is 6 % wide
    CHECK(own[3][Columns::kCommunication] == 10 * kMillisecond);
  }
  SECTION("the frame's small calls wait as before") {
    own[2][Columns::kRealtime] = own[2][Columns::kIdleness] = 130 * kMillisecond;
    merge::count_transfers_as_work(files[0].threads[0], same, tree, costs, rows);
    CHECK(static_cast<double>(own[2][Columns::kIdleness]) == Approx(100e6).epsilon(0.05));
  }
}

TEST_CASE("where only one side of messages was counted, all stays idleness") {
  auto files = two_ranks();
  for (int i = 0; i < 40; ++i) count(files[1].threads[0], kMessages, 0, kBytes, 20 * kMillisecond);
  const merge::TransferCosts costs = learn(files);
  CHECK(costs.cost(kMessages, kClass) == 0);
}

TEST_CASE("one process in many that never waits tells the cost") {
  std::vector<measurement::Measurement> files(16);
  for (std::size_t rank = 0; rank < files.size(); ++rank) {
    files[rank].process.world_size = 16;
    auto& thread = files[rank].threads.emplace_back();
    const std::uint64_t time = rank == 5 ? kMillisecond : 9 * kMillisecond;
    for (int i = 0; i < 20; ++i) count(thread, kMessages, kBytes, kBytes, time);
  }
  CHECK(learn(files).cost(kMessages, kClass) == Approx(500).epsilon(0.07));
}
