#include "exchange/message_exchange.hpp"

#include "exchange/threads.hpp"

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include <catch2/catch.hpp>

using namespace culprit::exchange;

namespace {

struct Question {
  static constexpr std::uint8_t kMessage = 1;
  using Item = std::uint64_t;
  int from = 0;
};
struct Answer {
  static constexpr std::uint8_t kMessage = 2;
  std::uint64_t sum = 0;
};

/// Answers each question by the sum of its items.
struct Recipient {
  using Received = MessageList<Question, Answer>;

  void receive(const Question& question, std::span<const std::uint64_t> items) {
    Answer answer;
    for (const std::uint64_t item : items) answer.sum += item;
    exchange->send(question.from, answer);
    askers.push_back(question.from);
  }
  void receive(const Answer& answer) { sums.push_back(answer.sum); }

  MessageExchange* exchange = nullptr;
  std::vector<int> askers = {};
  std::vector<std::uint64_t> sums = {};
};

}  // namespace

TEST_CASE("what a rank sends to itself is delivered as what it sends to others") {
  constexpr int kRanks = 3;
  std::atomic<int> right = 0;
  run_on_threads(kRanks, [&right](Communicator& analysis) {
    MessageExchange exchange(analysis);
    Recipient recipient{.exchange = &exchange};
    const std::vector<std::uint64_t> items{1, 2, 40 + static_cast<std::uint64_t>(analysis.rank())};
    for (int to = 0; to < kRanks; ++to) exchange.send(to, Question{.from = analysis.rank()}, items);
    exchange.deliver(recipient);
    const bool all = recipient.askers.size() == kRanks && exchange.pending() == 0;
    if (all && recipient.sums == std::vector<std::uint64_t>(kRanks, items[2] + 3)) ++right;
  });
  CHECK(right == kRanks);
}

TEST_CASE("what a rank sends to itself can be handed over without the others") {
  run_on_threads(1, [](Communicator& analysis) {
    MessageExchange exchange(analysis);
    Recipient recipient{.exchange = &exchange};
    exchange.send(0, Question{.from = 0}, std::vector<std::uint64_t>{5});
    exchange.deliver_own(recipient);
    CHECK(recipient.sums == std::vector<std::uint64_t>{5});
    CHECK_FALSE(exchange.deliver_once(recipient));
  });
}
