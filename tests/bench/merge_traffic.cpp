// What merging sends: the bytes of every collective operation, per rank and over all ranks, with threads for
// ranks. Usage: merge_traffic MEASUREMENT OUTPUT RANKS...
#include "exchange/threads.hpp"
#include "merge/merge.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace culprit;
using exchange::Bytes;

/// What ranks sent in one operation, by its number in the order in which all ranks run them.
struct Operation {
  std::string name;
  std::uint64_t sum = 0, most = 0;  ///< bytes that leave ranks: of all, of one
};

class Log {
 public:
  void add(std::size_t number, const char* name, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    Operation& operation = operations_[number];
    operation.name = name;
    operation.sum += bytes;
    operation.most = std::max(operation.most, bytes);
  }
  /// Point-to-point messages, by tag.
  void add_message(int tag, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    Operation& operation = messages_[tag];
    operation.sum += bytes;
    operation.most = std::max(operation.most, bytes);
  }
  void print(int ranks, std::uint64_t profiles) const;

 private:
  std::mutex mutex_;
  std::map<std::size_t, Operation> operations_;
  std::map<int, Operation> messages_;
};

void Log::print(int ranks, std::uint64_t profiles) const {
  constexpr std::uint64_t kShown = 4096;  // the others keep step, or say that nothing is to be said
  std::uint64_t small = 0;
  std::size_t count = 0;
  std::printf("%d ranks, %llu profiles\n", ranks, static_cast<unsigned long long>(profiles));
  const auto line = [](const std::string& what, const Operation& operation) {
    std::printf("  %-28s %12llu bytes in all, %12llu from one rank\n", what.c_str(),
                static_cast<unsigned long long>(operation.sum),
                static_cast<unsigned long long>(operation.most));
  };
  for (const auto& [tag, operation] : messages_) line("messages with tag " + std::to_string(tag), operation);
  for (const auto& [number, operation] : operations_) {
    if (operation.most >= kShown) {
      line(std::to_string(number) + " " + operation.name, operation);
    } else {
      small += operation.sum;
      ++count;
    }
  }
  std::printf("  %zu others                   %12llu bytes in all\n", count,
              static_cast<unsigned long long>(small));
}

/// Hands everything on and counts what this rank sends: to the root in a gather, to each in an all-to-all,
/// its payload in a broadcast (which the tree below it repeats).
class Counting : public exchange::Communicator {
 public:
  Counting(exchange::Communicator& under, Log& log) : under_(under), log_(log) {}

  [[nodiscard]] int rank() const override { return under_.rank(); }
  [[nodiscard]] int size() const override { return under_.size(); }
  void send(int destination, int tag, std::span<const std::byte> data) override {
    log_.add_message(tag, data.size());
    under_.send(destination, tag, data);
  }
  [[nodiscard]] Bytes receive(int source, int tag) override { return under_.receive(source, tag); }
  void barrier() override { under_.barrier(); }
  void broadcast(Bytes& data, int root) override {
    log_.add(number_++, "broadcast", rank() == root ? data.size() : 0);
    under_.broadcast(data, root);
  }
  [[nodiscard]] std::vector<Bytes> gather(std::span<const std::byte> data, int root) override {
    log_.add(number_++, "gather", rank() == root ? 0 : data.size());
    return under_.gather(data, root);
  }
  [[nodiscard]] std::vector<Bytes> all_to_all(std::vector<Bytes> outgoing) override {
    std::uint64_t bytes = 0;
    for (std::size_t to = 0; to < outgoing.size(); ++to)
      if (to != static_cast<std::size_t>(rank())) bytes += outgoing[to].size();
    log_.add(number_++, "all-to-all", bytes);
    return under_.all_to_all(std::move(outgoing));
  }
  [[nodiscard]] std::uint64_t exclusive_scan(std::uint64_t value) override {
    log_.add(number_++, "scan", sizeof value);
    return under_.exclusive_scan(value);
  }
  [[nodiscard]] std::uint64_t all_sum(std::uint64_t value) override {
    log_.add(number_++, "sum", sizeof value);
    return under_.all_sum(value);
  }
  [[nodiscard]] std::uint64_t all_max(std::uint64_t value) override {
    log_.add(number_++, "max", sizeof value);
    return under_.all_max(value);
  }
  [[nodiscard]] std::unique_ptr<exchange::OutputFile> create_file(
      const std::filesystem::path& path) override {
    return under_.create_file(path);
  }

 private:
  exchange::Communicator& under_;
  Log& log_;
  std::size_t number_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: merge_traffic MEASUREMENT OUTPUT RANKS...\n");
    return 2;
  }
  try {
    for (int i = 3; i < argc; ++i) {
      const int ranks = std::atoi(argv[i]);
      Log log;
      merge::Options options;
      options.measurement = argv[1];
      options.output = argv[2];
      options.force = true;
      std::uint64_t profiles = 0;
      exchange::run_on_threads(ranks, [&](exchange::Communicator& under) {
        Counting comm(under, log);
        const merge::Outcome outcome = merge::merge(comm, options, {});
        if (comm.rank() == 0) profiles = outcome.profiles;
      });
      log.print(ranks, profiles);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "merge_traffic: %s\n", error.what());
    return 1;
  }
  return 0;
}
