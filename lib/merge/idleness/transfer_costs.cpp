// What a byte costs where nobody waits (ours; docs/algorithms.md 5.1): in each message or collective of P
// processes somebody comes last, so at least one call in P shows the cost itself. The quantile 1/(4P) of all
// calls of a family and size class, from counts by class of cost, is taken for the cost of all; it errs
// towards idleness. Nothing is known where one side of messages was not counted.
#include "merge/idleness/transfer_costs.hpp"

#include "cct/message.hpp"
#include "measurement/transfer_cost.hpp"

#include <algorithm>
#include <vector>

namespace culprit::merge {

using measurement::EpochKind;

namespace {

// As the MPI wrappers number families.
constexpr std::uint64_t kFirstCollective = std::uint64_t{1} << 32;

/// Sums on their way; `what` is a class of cost, or one of these.
constexpr std::uint64_t kSentSum = ~std::uint64_t{0}, kReceivedSum = kSentSum - 1;
struct Sum {
  std::uint64_t family, size_class, what, amount;
};

}  // namespace

void TransferCosts::add(const measurement::Measurement& file) {
  processes_ = std::max<std::uint64_t>(processes_, file.process.world_size);
  for (const measurement::ThreadProfile& thread : file.threads) {
    for (const measurement::Epoch& epoch : thread.epochs) {
      if (!measurement::is_transfer(epoch.kind)) continue;
      Calls& calls = calls_[{epoch.window, epoch.size_class}];
      if (epoch.kind == EpochKind::transfer_cost) calls.by_cost[epoch.peers] += epoch.count;
      if (epoch.kind == EpochKind::transfer_sent) calls.sent += epoch.total_ns;
      if (epoch.kind == EpochKind::transfer_received) calls.received += epoch.total_ns;
    }
  }
}

void TransferCosts::agree(exchange::Communicator& comm) {
  std::vector<Sum> sums;
  for (const auto& [kind, calls] : calls_) {
    sums.push_back({kind.first, kind.second, kSentSum, calls.sent});
    sums.push_back({kind.first, kind.second, kReceivedSum, calls.received});
    for (const auto& [cost, count] : calls.by_cost) sums.push_back({kind.first, kind.second, cost, count});
  }
  cct::MessageWriter mine;
  mine.value(processes_);
  mine.values(sums);
  exchange::Bytes everyones;
  const std::vector<exchange::Bytes> all = comm.gather(mine.take(), 0);
  if (comm.rank() == 0) {
    cct::MessageWriter message;
    sums.clear();
    for (const exchange::Bytes& bytes : all) {
      cct::MessageReader reader(bytes);
      processes_ = std::max(processes_, reader.value<std::uint64_t>());
      const auto part = reader.values<Sum>();
      sums.insert(sums.end(), part.begin(), part.end());
    }
    message.value(processes_);
    message.values(sums);
    everyones = message.take();
  }
  comm.broadcast(everyones, 0);
  cct::MessageReader reader(everyones);
  processes_ = reader.value<std::uint64_t>();
  calls_.clear();
  for (const Sum& sum : reader.values<Sum>()) {
    Calls& calls = calls_[{sum.family, static_cast<std::uint32_t>(sum.size_class)}];
    if (sum.what == kSentSum) {
      calls.sent += sum.amount;
    } else if (sum.what == kReceivedSum) {
      calls.received += sum.amount;
    } else {
      calls.by_cost[sum.what] += sum.amount;
    }
  }
  for (const auto& [kind, calls] : calls_) costs_[kind] = learn(kind.first, calls);
}

double TransferCosts::learn(std::uint64_t family, const Calls& calls) const {
  // Where one side of the messages was not counted, it may be the one that never waited.
  if (calls.sent / 2 > calls.received || calls.received / 2 > calls.sent) return 0;
  std::uint64_t processes = processes_;
  if (family >= kFirstCollective) processes = std::max<std::uint64_t>(1, family % kFirstCollective);
  std::uint64_t all = 0;
  for (const auto& [cost, count] : calls.by_cost) all += count;
  const std::uint64_t cheaper = all / (4 * processes);
  std::uint64_t before = 0;
  for (const auto& [cost, count] : calls.by_cost) {
    before += count;
    if (before > cheaper) return measurement::cost_of_class(cost);
  }
  return 0;
}

double TransferCosts::cost(std::uint64_t family, std::uint32_t size_class) const {
  const auto found = costs_.find({family, size_class});
  return found == costs_.end() ? 0 : found->second;
}

}  // namespace culprit::merge
