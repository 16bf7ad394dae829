#include "suite.hpp"

#include "exchange/machine.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <system_error>

namespace culprit::exchange::suite {
namespace {

void require(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error("wrong: " + what);
}

/// Bytes that only this (from, to, number, length) has.
Bytes content(int from, int to, int number, std::size_t length) {
  Bytes bytes(length);
  auto state = static_cast<std::uint32_t>(from * 7919 + to * 104729 + number * 1299709) + 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

void point_to_point(Communicator& comm, std::size_t large) {
  const int next = (comm.rank() + 1) % comm.size();
  const int before = (comm.rank() + comm.size() - 1) % comm.size();
  const std::size_t lengths[] = {0, 1, 1000, large, 0, 17};
  // A ring; odd and even ranks take turns, since a send may wait for its receiver. A lone last rank meets
  // rank 0.
  for (const int tag : {0, 3, Communicator::kMaxTag}) {
    const auto send_all = [&] {
      int number = 0;
      for (const std::size_t length : lengths)
        comm.send(next, tag, content(comm.rank(), next, number++, length));
    };
    const auto receive_all = [&] {
      int number = 0;
      for (const std::size_t length : lengths) {
        require(comm.receive(before, tag) == content(before, comm.rank(), number++, length), "message");
      }
    };
    if (comm.size() == 1) break;
    if (comm.rank() == 0) {
      send_all();
      receive_all();
    } else {
      receive_all();
      send_all();
    }
  }
  // Tags are apart: received in the other order than sent.
  if (comm.size() > 1 && comm.rank() == 0) {
    comm.send(1, 1, content(0, 1, 1, 10));
    comm.send(1, 2, content(0, 1, 2, 20));
  } else if (comm.rank() == 1) {
    require(comm.receive(0, 2) == content(0, 1, 2, 20), "second tag first");
    require(comm.receive(0, 1) == content(0, 1, 1, 10), "first tag second");
  }
}

void collectives(Communicator& comm, std::size_t large) {
  const int size = comm.size();
  comm.barrier();
  for (int root = 0; root < size; ++root) {
    for (const std::size_t length : {std::size_t{0}, std::size_t{5}, large}) {
      Bytes data = comm.rank() == root ? content(root, 0, 1, length) : Bytes(3);
      comm.broadcast(data, root);
      require(data == content(root, 0, 1, length), "broadcast");
      const std::vector<Bytes> gathered = comm.gather(content(comm.rank(), root, 2, length), root);
      require(gathered.size() == static_cast<std::size_t>(comm.rank() == root ? size : 0), "gather's count");
      for (int r = 0; r < size && comm.rank() == root; ++r) {
        require(gathered[static_cast<std::size_t>(r)] == content(r, root, 2, length), "gather");
      }
    }
  }
  for (const std::size_t length : {std::size_t{1}, large}) {
    std::vector<Bytes> outgoing;
    const auto length_of = [&](int from, int to) {
      return from == to + 1 ? 0 : length + static_cast<std::size_t>(to);
    };
    for (int r = 0; r < size; ++r) outgoing.push_back(content(comm.rank(), r, 3, length_of(comm.rank(), r)));
    const std::vector<Bytes> incoming = comm.all_to_all(std::move(outgoing));
    require(incoming.size() == static_cast<std::size_t>(size), "all_to_all's count");
    for (int r = 0; r < size; ++r) {
      require(incoming[static_cast<std::size_t>(r)] == content(r, comm.rank(), 3, length_of(r, comm.rank())),
              "all_to_all");
    }
  }
}

void numbers(Communicator& comm) {
  const auto value_of = [](int rank) {
    return (std::uint64_t{1} << 50) + static_cast<std::uint64_t>(rank * rank);
  };
  std::uint64_t before = 0, sum = 0, largest = 0;
  for (int r = 0; r < comm.size(); ++r) {
    if (r < comm.rank()) before += value_of(r);
    sum += value_of(r);
    largest = std::max(largest, value_of(r));
  }
  require(comm.exclusive_scan(value_of(comm.rank())) == before, "exclusive_scan");
  require(comm.all_sum(value_of(comm.rank())) == sum, "all_sum");
  require(comm.all_max(value_of(comm.rank())) == largest, "all_max");
  // The largest on another rank than the last.
  require(comm.all_max(static_cast<std::uint64_t>(comm.size() - comm.rank())) ==
              static_cast<std::uint64_t>(comm.size()),
          "all_max, descending");
}

void machines(Communicator& comm) {
  require(ranks_with(comm, this_machine()) == comm.size(), "ranks of this machine");
  const int thirds = (comm.size() - comm.rank() % 3 + 2) / 3;
  require(ranks_with(comm, std::string("machine ") + std::to_string(comm.rank() % 3)) == thirds,
          "ranks of one machine of three");
  require(ranks_with(comm, comm.rank() == 0 ? "" : "other") == (comm.rank() == 0 ? 1 : comm.size() - 1),
          "ranks of no name");
}

void tree_reduction(Communicator& comm) {
  std::string value(1, static_cast<char>('a' + comm.rank()));
  const auto pack = [](const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    return Bytes(bytes.begin(), bytes.end());
  };
  const auto unpack = [](const Bytes& bytes) {
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  const bool first =
      reduce_tree(comm, value, 5, pack, unpack, [](std::string& into, std::string&& from) { into += from; });
  require(first == (comm.rank() == 0), "reduce_tree's result");
  std::string all;
  for (int r = 0; r < comm.size(); ++r) all += static_cast<char>('a' + r);
  if (first) require(value == all, "reduce_tree: " + value);  // in rank order: concatenation does not commute
}

void files(Communicator& comm, std::size_t large, const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "out";
  comm.barrier();
  const auto length_of = [&](int rank) { return large + static_cast<std::size_t>(rank); };
  std::uint64_t end = 0;
  for (int r = 0; r < comm.size(); ++r) end += length_of(r);
  const std::uint64_t own = comm.exclusive_scan(length_of(comm.rank()));
  {
    const auto file = comm.create_file(path);
    file->write_at(own, content(comm.rank(), 0, 9, length_of(comm.rank())));
    if (comm.rank() == comm.size() - 1) file->write_at(end, content(0, 0, 10, 3));
    file->close();
  }
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  Bytes expected;
  for (int r = 0; r < comm.size(); ++r) {
    const Bytes part = content(r, 0, 9, length_of(r));
    expected.insert(expected.end(), part.begin(), part.end());
  }
  const Bytes tail = content(0, 0, 10, 3);
  expected.insert(expected.end(), tail.begin(), tail.end());
  require(std::ranges::equal(std::as_bytes(std::span(text)), expected), "file content");
  comm.barrier();

  bool refused = false;
  try {
    (void)comm.create_file(directory / "absent" / "out");
  } catch (const std::system_error& error) {
    refused = error.code() == std::errc::no_such_file_or_directory;
  }
  require(refused, "create_file in an absent directory");
  comm.barrier();
}

void wrong_use(Communicator& comm) {
  const auto refuses = [](auto&& operation) {
    try {
      operation();
    } catch (const PeerFailed&) {
      return false;
    } catch (const ExchangeError&) {
      return true;
    }
    return false;
  };
  require(refuses([&] { comm.send(comm.size(), 0, {}); }), "send beyond the last rank");
  require(refuses([&] { (void)comm.receive(-1, 0); }), "receive from no rank");
  require(refuses([&] { (void)comm.all_to_all({}); }) || comm.size() == 0, "all_to_all without messages");
}

}  // namespace

void run(Communicator& comm, std::size_t large, const std::filesystem::path& directory) {
  require(comm.rank() >= 0 && comm.rank() < comm.size(), "rank");
  point_to_point(comm, large);
  collectives(comm, large);
  numbers(comm);
  machines(comm);
  tree_reduction(comm);
  files(comm, large, directory);
  wrong_use(comm);
  comm.barrier();
}

void fail(Communicator& comm, int failing) {
  if (comm.rank() == failing) throw std::domain_error("rank " + std::to_string(failing) + " cannot go on");
  switch (comm.rank() % 4) {
    case 0:
      (void)comm.receive(failing, 1);
      break;
    case 1:
      comm.barrier();
      break;
    case 2:
      // More than any transport buffers: a send that waits for its receiver.
      comm.send(failing, 1, Bytes(8 << 20));
      comm.barrier();
      break;
    default:
      (void)comm.all_to_all(std::vector<Bytes>(static_cast<std::size_t>(comm.size()), Bytes(100000)));
      comm.barrier();
      break;
  }
  throw std::logic_error("wrong: an operation succeeded that rank " + std::to_string(failing) +
                         " never joined");
}

}  // namespace culprit::exchange::suite
