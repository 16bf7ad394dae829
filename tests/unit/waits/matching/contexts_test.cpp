#include "waits/matching/contexts.hpp"

#include "exchange/message_communicator.hpp"
#include "scripted_run.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

namespace contexts_test {

using namespace culprit::waits;
using namespace culprit::waits::testing;
using culprit::exchange::Bytes;
using culprit::exchange::ExchangeError;

namespace {

/// One rank, which changes one of the messages that it exchanges with itself.
class Damaging : public culprit::exchange::MessageCommunicator {
 public:
  Damaging(std::size_t which, std::function<void(Bytes&)> damage)
      : which_(which), damage_(std::move(damage)) {}

  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  void send(int, int, std::span<const std::byte>) override { throw std::logic_error("sends to no other"); }
  [[nodiscard]] Bytes receive(int, int) override { throw std::logic_error("receives from no other"); }
  [[nodiscard]] std::vector<Bytes> all_to_all(std::vector<Bytes> messages) override {
    if (exchanged_++ == which_) damage_(messages.front());
    return messages;
  }
  [[nodiscard]] std::unique_ptr<culprit::exchange::OutputFile> create_file(
      const std::filesystem::path&) override {
    throw std::logic_error("writes no file");
  }

 protected:
  [[nodiscard]] Bytes send_receive(int, Bytes, int, int) override {
    throw std::logic_error("exchanges with no other");
  }

 private:
  std::size_t which_, exchanged_ = 0;
  std::function<void(Bytes&)> damage_;
};

/// Three processes and a window of two of them, whose members nobody recorded.
ScriptedRun run_with_window() {
  ScriptedRun run(3);
  const auto window = run.define(culprit::measurement::trace::DefinitionKind::window, {2, 1});
  for (ScriptedRun::Process& process : run.processes) {
    if (window < process.definitions.size()) process.definitions[window].members.clear();
  }
  return run;
}

Contexts exchange_contexts(std::size_t which, std::function<void(Bytes&)> damage) {
  const ScriptedRun run = run_with_window();
  Damaging analysis(which, std::move(damage));
  const auto own = traces(run, analysis);
  return {analysis, own};
}

// Which of the exchanges: members as recorded, questions, answers; places as recorded, questions, answers.
constexpr std::size_t kMembers = 2, kPlaces = 5, kLast = 7;

}  // namespace

TEST_CASE("members that nobody recorded are put together from their own places") {
  const Contexts contexts = exchange_contexts(kLast + 1, {});
  REQUIRE(contexts.size() == 2);
  CHECK(contexts.shared(0).members.size() == 3);
  REQUIRE(contexts.shared(1).members.size() == 2);
  CHECK(contexts.shared(1).members.at(0) == 2);
  CHECK(contexts.shared(1).members.at(1) == 1);
}

TEST_CASE("a message about contexts that is too short is an error") {
  for (std::size_t which = kMembers; which <= kLast; ++which) {
    CAPTURE(which);
    CHECK_THROWS_AS(exchange_contexts(which, [](Bytes& message) { message.pop_back(); }), ExchangeError);
  }
  CHECK_THROWS_AS(exchange_contexts(kPlaces, [](Bytes& message) { message.resize(message.size() - 8); }),
                  ExchangeError);
}

TEST_CASE("a member list that is longer than its message is an error, and takes no memory") {
  CHECK_THROWS_AS(exchange_contexts(kMembers,
                                    [](Bytes& message) {
                                      const auto count = message.begin() + sizeof(std::uint64_t);
                                      std::fill_n(count, sizeof(std::uint64_t), std::byte{0x7f});
                                    }),
                  ExchangeError);
}

}  // namespace contexts_test
