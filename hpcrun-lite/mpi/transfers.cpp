#include "mpi/transfers.hpp"

#include "measurement/transfer_cost.hpp"
#include "mpi/predefined.hpp"
#include "mpi/real_call.hpp"

#include <bit>

namespace culprit::mpi {
namespace {

std::uint32_t class_of(std::uint64_t bytes) {
  return static_cast<std::uint32_t>(std::bit_width(bytes));
}

void count_messages(const Moved& moved, Occurrence& occurrence) {
  const CulpritTransfer transfer{.family = moved.self ? measurement::kOwnMessages : measurement::kMessages,
                                 .size_class = class_of(moved.largest),
                                 .unused = 0,
                                 .sent = moved.sent,
                                 .received = moved.received,
                                 .time_ns = occurrence.left() - occurrence.entered()};
  culprit_rt_count_transfer(&transfer, occurrence.path());
}

/// A large operation between its start and its completion.
struct Started {
  MPI_Request request;
  Moved moved;
  bool persistent;  ///< may be started again
};

/// Those of one thread, unordered. What another thread completes stays until its handle is used again; what
/// finds no room is not counted.
struct StartedList {
  static constexpr int kMax = 64;
  int count;
  Started entries[kMax];

  [[nodiscard]] int find(MPI_Request request) const {
    for (int i = 0; i < count; ++i) {
      if (entries[i].request == request) return i;
    }
    return -1;
  }
  void remove(int i) {
    --count;
    entries[i] = entries[count];
  }
};
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): thread-local and zero
__thread StartedList started __attribute__((tls_model("initial-exec")));

}  // namespace

std::uint64_t bytes_of(MPI_Count count, MPI_Datatype datatype) {
  int size = 0;
  CULPRIT_MPI(PMPI_Type_size)(datatype, &size);
  return size > 0 && count > 0 ? static_cast<std::uint64_t>(size) * static_cast<std::uint64_t>(count) : 0;
}

bool is_self(const Message& message) {
  if (message.peer < 0) return false;
  int rank = -1;
  CULPRIT_MPI(PMPI_Comm_rank)(message.comm, &rank);
  return rank == message.peer;
}

std::uint64_t arrived(const MPI_Status* status, std::uint64_t posted) {
  if (status == MPI_STATUS_IGNORE) return posted;
  int count = 0;
  CULPRIT_MPI(PMPI_Get_count)(status, bytes(), &count);
  return count >= 0 ? static_cast<std::uint64_t>(count) : posted;  // negative: does not fit an int
}

void MessageCall::count() {
  count_messages(moved_, occurrence_);
}

int CollectiveCall::processes(MPI_Comm comm) {
  int size = 0;
  CULPRIT_MPI(PMPI_Comm_size)(comm, &size);
  return size;
}

void CollectiveCall::count(MPI_Comm comm, std::uint32_t call, bool uneven) {
  const std::uint64_t exited = occurrence_.left();  // before anything else is asked for
  const CulpritTransfer transfer{
      .family = std::uint64_t{call} << 32 | static_cast<std::uint32_t>(processes(comm)),
      // Classes of uneven amounts would part the processes of one call.
      .size_class = uneven ? 0 : class_of(bytes_),
      .unused = 0,
      .sent = bytes_,
      .received = bytes_,
      .time_ns = exited - entered_};
  culprit_rt_count_transfer(&transfer, occurrence_.path());
}

bool CompletionCall::any_started() {
  return started.count != 0;
}

void CompletionCall::begin(const Requests& requests) {
  if (requests.count <= 0) return;
  if (requests.count > kMaxRequests) {
    started.count = 0;
    return;
  }
  count_ = requests.count;
  std::copy_n(requests.requests, count_, handles_);
  entered_ = transfer_begin(occurrence_);
}

void CompletionCall::end(const Requests& requests, bool waited) {
  Moved moved{.sent = 0, .received = 0, .largest = 0, .self = true};
  const auto complete = [&](int index, const MPI_Status* status) {
    if (index < 0 || index >= count_) return;
    const int i = started.find(handles_[index]);
    if (i < 0) return;
    Moved one = started.entries[i].moved;
    if (one.received != 0) one.received = arrived(status, one.received);
    moved.add(one);
    if (!started.entries[i].persistent) started.remove(i);
  };
  MPI_Status* const ignored = MPI_STATUS_IGNORE;
  if (requests.completed_count != nullptr) {
    for (int i = 0; i < *requests.completed_count; ++i) complete(requests.completed[i], ignored);
  } else if (requests.completed != nullptr) {
    complete(*requests.completed, requests.statuses);
  } else if (count_ == 1) {
    complete(0, requests.statuses);
  } else {
    for (int i = 0; i < count_; ++i) complete(i, ignored);
  }
  if (waited && entered_ != 0 && moved.largest != 0) count_messages(moved, occurrence_);
}

void StartCall::forget(MPI_Request request) {
  if (started.count == 0) return;
  const int i = started.find(request);
  if (i >= 0) started.remove(i);
}

void StartCall::remember(MPI_Request request, const Message& message, bool sent, std::uint64_t bytes,
                         bool persistent) {
  forget(request);
  if (started.count == StartedList::kMax) return;
  started.entries[started.count++] = {.request = request,
                                      .moved = {.sent = sent ? bytes : 0,
                                                .received = sent ? 0 : bytes,
                                                .largest = bytes,
                                                .self = is_self(message)},
                                      .persistent = persistent};
}

}  // namespace culprit::mpi
