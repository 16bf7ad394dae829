// Large transfers: what they cost without waiting is learned from all calls of the run, and is no idleness.
#include "exchange/threads.hpp"
#include "measurement/transfer_cost.hpp"
#include "merge/idleness/transfer_costs.hpp"
#include "merge/values/transfer_work.hpp"

#include <vector>

#include <catch2/catch.hpp>

namespace transfers_test {

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

merge::Transfers learn(const std::vector<measurement::Measurement>& files,
                       std::size_t most_stamps = merge::TransferArrivals::kMostStamps) {
  merge::Transfers result;
  exchange::run_on_threads(static_cast<int>(files.size()), [&](exchange::Communicator& comm) {
    merge::Transfers costs{.costs = {}, .arrivals = merge::TransferArrivals(most_stamps)};
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

merge::RecordedRow row_of(database::ContextId context, std::vector<std::uint64_t>& own) {
  return {.context = context,
          .time = &own[Columns::kRealtime],
          .idleness = &own[Columns::kIdleness],
          .communication = &own[Columns::kCommunication]};
}

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
  const merge::Transfers costs = learn(files);
  CHECK(costs.costs.cost(kMessages, kClass) == Approx(1000).epsilon(0.07));  // ps per byte
  CHECK(costs.costs.cost(kMessages, kClass + 1) == 0);

  const merge::Shape tree = shape();
  const std::vector<cct::NodeId> same{0, 1, 2, 3};
  std::vector<std::vector<std::uint64_t>> own(4, std::vector<std::uint64_t>(tree.columns.metrics()));
  std::vector<merge::RecordedRow> rows;
  for (database::ContextId x = 2; x < 4; ++x) rows.push_back(row_of(x, own[x]));
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
  const merge::Transfers costs = learn(files);
  const merge::Shape tree = shape();
  const std::vector<cct::NodeId> same{0, 1, 2, 3};
  std::vector<std::vector<std::uint64_t>> own(4, std::vector<std::uint64_t>(tree.columns.metrics()));
  std::vector<merge::RecordedRow> rows;
  for (database::ContextId x = 2; x < 4; ++x) rows.push_back(row_of(x, own[x]));
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
  const merge::Transfers costs = learn(files);
  CHECK(costs.costs.cost(kMessages, kClass) == 0);
}

TEST_CASE("one process in many that never waits tells the cost") {
  std::vector<measurement::Measurement> files(16);
  for (std::size_t rank = 0; rank < files.size(); ++rank) {
    files[rank].process.world_size = 16;
    auto& thread = files[rank].threads.emplace_back();
    const std::uint64_t time = rank == 5 ? kMillisecond : 9 * kMillisecond;
    for (int i = 0; i < 20; ++i) count(thread, kMessages, kBytes, kBytes, time);
  }
  CHECK(learn(files).costs.cost(kMessages, kClass) == Approx(500).epsilon(0.07));
}

namespace {

// Bits of stamps (docs/formats.md).
constexpr std::uint32_t kRoot = 1, kWhole = 2, kOneOperation = 1U << 8;
constexpr std::uint32_t flow(std::uint32_t number) {
  return number << 4;
}
constexpr std::uint32_t kOneToAll = flow(1), kAllToAll = flow(3);
constexpr std::uint64_t kStream = 77;

struct Times {
  std::uint64_t enter, exit;  ///< ms
};

/// A call's stamp, as the runtime keeps it.
void stamp(measurement::ThreadProfile& thread, EpochKind kind, std::uint32_t number, std::uint32_t members,
           std::uint32_t bits, Times times) {
  thread.epochs.push_back({.node = kCall,
                           .kind = kind,
                           .size_class = number,
                           .window = kStream,
                           .peers = std::uint64_t{members} << 32 | bits,
                           .count = times.enter * kMillisecond,
                           .total_ns = times.exit * kMillisecond,
                           .least_ns = times.enter * kMillisecond});
}

/// A call of `kAllreduceOfTwo` and its stamp.
void collective(measurement::ThreadProfile& thread, std::uint32_t number, std::uint32_t bits, Times times) {
  count(thread, kAllreduceOfTwo, kBytes, kBytes, (times.exit - times.enter) * kMillisecond);
  stamp(thread, EpochKind::collective_stamp, number, 2, kWhole | kOneOperation | bits, times);
}

void message(measurement::ThreadProfile& thread, bool sent, std::uint32_t number, std::uint32_t check,
             Times times) {
  count(thread, kMessages, sent ? kBytes : 0, sent ? 0 : kBytes, (times.exit - times.enter) * kMillisecond);
  stamp(thread, sent ? EpochKind::sent_stamp : EpochKind::received_stamp, number, 0,
        kWhole | kOneOperation | check << 16, times);
}

/// Idleness in ms of a thread that was sampled for `sampled` ms in its transfers, all of it idle at first.
double idleness(const measurement::ThreadProfile& thread, const merge::Transfers& transfers,
                std::uint64_t sampled) {
  const merge::Shape tree = shape();
  const std::vector<cct::NodeId> same{0, 1, 2, 3};
  std::vector<std::uint64_t> own(tree.columns.metrics());
  own[Columns::kRealtime] = own[Columns::kIdleness] = sampled * kMillisecond;
  const merge::RecordedRow row = row_of(2, own);
  merge::count_transfers_as_work(thread, same, tree, transfers, {&row, 1});
  CHECK(own[Columns::kIdleness] + own[Columns::kCommunication] == sampled * kMillisecond);
  return 1e-6 * static_cast<double>(own[Columns::kIdleness]);
}

}  // namespace

TEST_CASE("a late rank is waited for until it comes, however long the collective takes then") {
  auto files = two_ranks();
  // Each instance takes another time: no cost per byte tells what is waiting.
  for (std::uint32_t i = 1; i <= 20; ++i) {
    const std::uint64_t begin = 1000 * i;
    collective(files[0].threads[0], i, kAllToAll, {begin, begin + 30 + i});
    collective(files[1].threads[0], i, kAllToAll, {begin + 10, begin + 30 + i});
  }
  const merge::Transfers transfers = learn(files);
  const std::uint64_t inside = 20 * 30 + 210;
  CHECK(idleness(files[0].threads[0], transfers, inside) == Approx(200).epsilon(0.001));
  CHECK(idleness(files[1].threads[0], transfers, inside - 200) == Approx(0).margin(0.001));
}

TEST_CASE("a receiver waits for its sender, and a sender for its receiver") {
  auto files = two_ranks();
  message(files[0].threads[0], true, 1, 5, {100, 160});
  message(files[1].threads[0], false, 1, 5, {130, 161});
  message(files[0].threads[0], true, 2, 6, {240, 260});
  message(files[1].threads[0], false, 2, 6, {200, 261});
  const merge::Transfers transfers = learn(files);
  CHECK(idleness(files[0].threads[0], transfers, 80) == Approx(30).epsilon(0.001));
  CHECK(idleness(files[1].threads[0], transfers, 92) == Approx(40).epsilon(0.001));
}

TEST_CASE("stamps that contradict each other tell nothing") {
  auto files = two_ranks();
  SECTION("messages of different tags") {
    message(files[0].threads[0], true, 1, 5, {100, 160});
    message(files[1].threads[0], false, 1, 6, {100, 160});
  }
  SECTION("calls that never met") {
    message(files[0].threads[0], true, 1, 5, {100, 160});
    message(files[1].threads[0], false, 1, 5, {200, 260});
  }
  SECTION("one that left before the other came") {
    collective(files[0].threads[0], 1, kAllToAll, {100, 160});
    collective(files[1].threads[0], 1, kAllToAll, {170, 230});
  }
  SECTION("of two hosts") {
    collective(files[0].threads[0], 1, kAllToAll, {100, 160});
    collective(files[1].threads[0], 1, kAllToAll, {100, 160});
    files[1].process.host = "other";
  }
  SECTION("of one rank alone") {
    collective(files[0].threads[0], 1, kAllToAll, {100, 160});
  }
  const merge::Transfers transfers = learn(files);
  for (const auto& file : files) {
    for (const measurement::Epoch& epoch : file.threads[0].epochs) {
      if (measurement::is_transfer_stamp(epoch.kind)) CHECK(!transfers.arrivals.of(epoch).has_value());
    }
  }
}

TEST_CASE("a root that may have waited for those who came late waits but for what its bytes cost") {
  auto files = two_ranks();
  for (std::uint32_t i = 1; i <= 40; ++i) {  // all come on time: the cost
    collective(files[0].threads[0], i, kOneToAll | kRoot, {1000 * i, 1000 * i + 10});
    collective(files[1].threads[0], i, kOneToAll, {1000 * i, 1000 * i + 10});
  }
  auto late = two_ranks();
  late[0].threads[0].epochs = files[0].threads[0].epochs;
  late[1].threads[0].epochs = files[1].threads[0].epochs;
  collective(late[0].threads[0], 41, kOneToAll | kRoot, {100'000, 100'060});
  collective(late[1].threads[0], 41, kOneToAll, {100'050, 100'060});
  const merge::Transfers transfers = learn(late);
  CHECK(idleness(late[0].threads[0], transfers, 460) == Approx(50).margin(2));
  CHECK(idleness(late[1].threads[0], transfers, 410) == Approx(0).margin(0.001));
}

TEST_CASE("calls without stamps work as long as those that have some") {
  auto files = two_ranks();
  for (std::uint32_t i = 1; i <= 100; ++i) {
    const std::uint64_t begin = 1000 * i;
    const std::uint64_t late = i % 2 == 0 ? 40 : 0;
    if (i <= 50) {
      collective(files[0].threads[0], i, kAllToAll, {begin, begin + 20 + late});
      collective(files[1].threads[0], i, kAllToAll, {begin + late, begin + 20 + late});
    } else {
      count(files[0].threads[0], kAllreduceOfTwo, kBytes, kBytes, (20 + late) * kMillisecond);
      count(files[1].threads[0], kAllreduceOfTwo, kBytes, kBytes, 20 * kMillisecond);
    }
  }
  CHECK(idleness(files[0].threads[0], learn(files), 4000) == Approx(2000).epsilon(0.001));
}

TEST_CASE("of more stamps than fit, the same ones are taken, whoever reads them") {
  auto files = two_ranks();
  for (std::uint32_t i = 1; i <= 500; ++i) {
    collective(files[0].threads[0], i, kAllToAll, {1000 * i, 1000 * i + 20});
    collective(files[1].threads[0], i, kAllToAll, {1000 * i + 5, 1000 * i + 20});
  }
  const auto known = [&](const merge::Transfers& transfers) {
    std::vector<std::uint32_t> numbers;
    for (const measurement::Epoch& epoch : files[0].threads[0].epochs) {
      if (measurement::is_transfer_stamp(epoch.kind) && transfers.arrivals.of(epoch).has_value())
        numbers.push_back(epoch.size_class);
    }
    return numbers;
  };
  const std::vector<std::uint32_t> some = known(learn(files, 100));
  CHECK(some.size() > 20);
  CHECK(some.size() <= 50);
  auto joined = two_ranks();  // one reader has them all
  joined[0].threads.push_back(files[1].threads[0]);
  joined[0].threads[0] = files[0].threads[0];
  CHECK(known(learn(joined, 100)) == some);
  CHECK(known(learn(files)).size() == 500);
}

}  // namespace transfers_test
