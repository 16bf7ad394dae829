#include "merge/input/collectively.hpp"

#include "cct/message.hpp"

#include <cstring>
#include <exception>

namespace culprit::merge {
namespace {

constexpr int kScatterTag = 203;

exchange::Bytes to_bytes(const std::vector<std::string>& lines) {
  cct::MessageWriter message;
  message.value(std::uint64_t{lines.size()});
  for (const std::string& line : lines) message.text(line);
  return message.take();
}

std::vector<std::string> to_lines(const exchange::Bytes& bytes) {
  cct::MessageReader message(bytes);
  const auto count = message.value<std::uint64_t>();
  std::vector<std::string> lines;
  for (std::uint64_t i = 0; i < count; ++i) lines.push_back(message.text());
  return lines;
}

}  // namespace

void collectively(exchange::Communicator& comm, const std::function<void()>& work) {
  std::vector<std::string> failure;
  try {
    work();
  } catch (const std::exception& error) {
    failure.push_back(reason_of(error));
  }
  // The lowest failing rank gives the largest value, 0 means that none failed.
  const auto ranks = static_cast<std::uint64_t>(comm.size());
  const auto here = static_cast<std::uint64_t>(comm.rank());
  const std::uint64_t worst = comm.all_max(failure.empty() ? 0 : ranks - here);
  if (worst == 0) return;
  exchange::Bytes message = to_bytes(failure);
  comm.broadcast(message, static_cast<int>(ranks - worst));
  throw std::runtime_error(to_lines(message).at(0));
}

exchange::Bytes scatter(exchange::Communicator& comm, const std::function<exchange::Bytes(int rank)>& make) {
  exchange::Bytes mine;
  std::exception_ptr failure;
  for (int rank = 0; comm.rank() == 0 && rank < comm.size(); ++rank) {
    exchange::Bytes message;
    try {
      if (!failure) message = make(rank);
    } catch (const std::exception&) {
      failure = std::current_exception();  // the others wait for something
    }
    if (rank == 0) {
      mine = std::move(message);
    } else {
      comm.send(rank, kScatterTag, message);
    }
  }
  if (comm.rank() != 0) mine = comm.receive(0, kScatterTag);
  collectively(comm, [&] {
    if (failure) std::rethrow_exception(failure);
  });
  return mine;
}

std::vector<std::string> gather_lines(exchange::Communicator& comm, const std::vector<std::string>& lines) {
  std::vector<std::string> all;
  for (const exchange::Bytes& bytes : comm.gather(to_bytes(lines), 0)) {
    for (std::string& line : to_lines(bytes)) all.push_back(std::move(line));
  }
  return all;
}

}  // namespace culprit::merge
