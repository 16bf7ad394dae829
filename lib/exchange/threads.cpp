// Ranks of the analysis as threads of one process. Messages wait in the receiver's box, by source and tag,
// behind one lock: ranks compute far longer than they exchange. If a rank throws, the others' operations
// throw, too, and its exception is the one that the caller gets. To receive from a rank that has ended
// without sending is an error, since it would wait for ever.
#include "exchange/threads.hpp"

#include "exchange/message_communicator.hpp"
#include "exchange/shared_file.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace culprit::exchange {
namespace {

/// What the ranks of one run share: their mailboxes, and whether one has given up or ended. One lock is
/// enough: the ranks compute far longer than they exchange.
class Hub {
 public:
  explicit Hub(int ranks) : boxes_(static_cast<std::size_t>(ranks)) {}

  [[nodiscard]] int size() const { return static_cast<int>(boxes_.size()); }

  void post(int source, int destination, int tag, Bytes message) {
    const std::lock_guard lock(mutex_);
    throw_if_failed();
    Box& box = at(destination);
    box.messages[{source, tag}].push_back(std::move(message));
    box.arrived.notify_one();
  }

  Bytes take(int source, int destination, int tag) {
    std::unique_lock lock(mutex_);
    Box& box = at(destination);
    std::deque<Bytes>& queue = box.messages[{source, tag}];
    box.arrived.wait(lock, [&] { return first_error_ || !queue.empty() || at(source).ended; });
    throw_if_failed();
    if (queue.empty()) {
      throw ExchangeError("receive: rank " + std::to_string(source) + " ended without sending to rank " +
                          std::to_string(destination));
    }
    Bytes message = std::move(queue.front());
    queue.pop_front();
    return message;
  }

  void end(int rank) {
    const std::lock_guard lock(mutex_);
    at(rank).ended = true;
    wake_all();
  }

  /// The first failure is the one to report; what it made others throw is not.
  void fail(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!first_error_) first_error_ = std::move(error);
    wake_all();
  }

  void rethrow() {
    if (first_error_) std::rethrow_exception(first_error_);
  }

 private:
  struct Box {
    std::map<std::pair<int, int>, std::deque<Bytes>> messages;  ///< by (source, tag)
    std::condition_variable arrived;
    bool ended = false;
  };

  Box& at(int rank) { return boxes_[static_cast<std::size_t>(rank)]; }
  void wake_all() {
    for (Box& box : boxes_) box.arrived.notify_all();
  }
  void throw_if_failed() const {
    if (first_error_) throw PeerFailed("exchange: another rank failed");
  }

  std::mutex mutex_;
  std::vector<Box> boxes_;
  std::exception_ptr first_error_;
};

class ThreadCommunicator : public MessageCommunicator {
 public:
  ThreadCommunicator(Hub& hub, int rank) : hub_(hub), rank_(rank) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return hub_.size(); }

  void send(int destination, int tag, std::span<const std::byte> data) override {
    require_rank(destination, "send");
    hub_.post(rank_, destination, tag, Bytes(data.begin(), data.end()));
  }
  [[nodiscard]] Bytes receive(int source, int tag) override {
    require_rank(source, "receive");
    return hub_.take(source, rank_, tag);
  }
  [[nodiscard]] std::unique_ptr<OutputFile> create_file(const std::filesystem::path& path) override {
    return create_shared_file(*this, path);
  }

 protected:
  [[nodiscard]] Bytes send_receive(int destination, Bytes data, int source, int tag) override {
    require_rank(destination, "send");
    hub_.post(rank_, destination, tag, std::move(data));
    return receive(source, tag);
  }

 private:
  Hub& hub_;
  int rank_;
};

void run_rank(Hub& hub, int rank, const std::function<void(Communicator&)>& work) {
  try {
    ThreadCommunicator comm(hub, rank);
    work(comm);
  } catch (...) {
    hub.fail(std::current_exception());
  }
  hub.end(rank);
}

}  // namespace

void run_on_threads(int ranks, const std::function<void(Communicator&)>& work) {
  if (ranks < 1) throw ExchangeError("run_on_threads: at least one rank is needed");
  Hub hub(ranks);
  {
    std::vector<std::jthread> threads;  // rank 0 is the calling thread, so one rank needs no thread
    try {
      for (int rank = 1; rank < ranks; ++rank) threads.emplace_back([&, rank] { run_rank(hub, rank, work); });
      run_rank(hub, 0, work);
    } catch (const std::system_error&) {
      hub.fail(std::current_exception());  // no more threads: ends the ranks that did start
    }
  }
  hub.rethrow();
}

}  // namespace culprit::exchange
