// Keeps the times of single large transfers, chosen by a hash of their numbers on all ranks alike
// (docs/algorithms.md 5.1).
#include "mpi/transfer_stamps.hpp"

#include "measurement/kinds.hpp"
#include "mpi/handle_table.hpp"
#include "mpi/members.hpp"
#include "mpi/predefined.hpp"
#include "mpi/real_call.hpp"
#include "mpi/room.hpp"
#include "mpi/topology.hpp"

#include <atomic>

namespace culprit::mpi {

// As CallStamps numbers them.
static_assert(static_cast<int>(measurement::EpochKind::collective_stamp) == 24 &&
              static_cast<int>(measurement::EpochKind::sent_stamp) == 25 &&
              static_cast<int>(measurement::EpochKind::received_stamp) == 26);

namespace {

constexpr std::size_t kFewMembers = 256;  ///< on the stack
constexpr std::uint32_t kCheckBits = 0xffff;

// Communicators that live, and pairs of processes with large messages; what finds no room has no stamps.
HandleTable<TransferComm, 4, 1024> communicators;
HandleTable<std::uint32_t, 16, 1024> messages;  ///< number of the last, by stream
/// A file that is open.
struct TransferFile {
  std::uint64_t stream;  ///< 0: without numbers
  std::uint32_t last;    ///< number of the last transfer
  std::uint32_t members;
};
HandleTable<TransferFile, 1, 1024> files;
/// How many communicators with the same members had collectives.
HandleTable<std::uint32_t, 1, 1024> same_members;

/// What a stream is of; mixed in first, so that no two sorts are ever the same numbers.
enum StreamOf : std::uint64_t { collectives_of = 1, messages_of, transfers_of_file };

std::atomic<bool> messages_are_lost{false};
std::atomic<bool> communicators_are_full{false};

/// Counts one up, from 1; 0 where there is no room.
template <typename Table>
std::uint32_t count_up(Table& table, std::uint64_t key) {
  std::uint32_t number = 0;
  const bool known = table.visit(
      key, [](const std::uint32_t&) { return true; },
      [&](std::uint32_t& last) {
        number = ++last;
        return true;
      });
  if (known) return number;
  return table.add(key, 1) ? 1 : 0;
}

std::uint64_t members_of(MPI_Comm comm) {
  int inter = 0;
  CULPRIT_MPI(PMPI_Comm_test_inter)(comm, &inter);
  if (inter != 0) return 0;
  MPI_Group group;
  int size = 0;
  CULPRIT_MPI(PMPI_Comm_group)(comm, &group);
  CULPRIT_MPI(PMPI_Group_size)(group, &size);
  Room<int, kFewMembers> ranks(static_cast<std::size_t>(size));
  std::uint64_t hash = 0;
  if (ranks.size() != 0) {
    world_ranks(group, size, ranks.data());
    hash = hash_of(ranks.data(), size) | 1;  // 0 means none
  }
  CULPRIT_MPI(PMPI_Group_free)(&group);
  return hash;
}

TransferComm measure(MPI_Comm comm) {
  TransferComm known{};
  CULPRIT_MPI(PMPI_Comm_size)(comm, &known.size);
  CULPRIT_MPI(PMPI_Comm_rank)(comm, &known.rank);
  // To look at all members again at every call would take too long.
  if (communicators_are_full.load(std::memory_order_relaxed)) return known;
  known.members = members_of(comm);
  if (known.members == 0) return known;
  Neighbors neighbors(comm);
  known.sources = static_cast<int>(neighbors.source_count());
  known.destinations = static_cast<int>(neighbors.destination_count());
  known.nobody = neighbors.nobody();
  return known;
}

/// The messages that `sender` sends to `receiver`. Communicators with the same members share them: which one
/// a message came by need not be agreed on.
Instance next_message(std::uint64_t members, int sender, int receiver, int tag, std::uint64_t bytes) {
  if (members == 0 || sender == receiver || messages_are_lost.load(std::memory_order_relaxed)) return {};
  std::uint64_t stream = mixed(mixed(messages_of, members), static_cast<std::uint64_t>(sender));
  stream = mixed(stream, static_cast<std::uint64_t>(receiver)) | 1;
  const std::uint32_t number = count_up(messages, stream);
  if (number == 0) return {};
  const std::uint64_t check = mixed(bytes, static_cast<std::uint64_t>(tag));
  return {.stream = stream,
          .number = number,
          .members = 0,
          .check = static_cast<std::uint32_t>(check & kCheckBits)};
}

}  // namespace

TransferComm transfer_comm(MPI_Comm comm) {
  TransferComm known{};
  if (communicators.find(key_of(comm), known) || comm == no_communicator()) return known;
  known = measure(comm);
  if (!communicators.add(key_of(comm), known)) {
    communicators_are_full.store(true, std::memory_order_relaxed);
    lose_messages();  // those of other communicators with the same members are numbered with these
  }
  return known;
}

void forget_transfer_comm(MPI_Comm comm) {
  TransferComm known;
  communicators.take(key_of(comm), known);
}

Instance next_collective(MPI_Comm comm) {
  const TransferComm known = transfer_comm(comm);
  if (known.members == 0) return {};
  std::uint64_t stream = known.collectives;
  if (stream == 0)
    stream = mixed(mixed(collectives_of, known.members), count_up(same_members, known.members)) | 1;
  std::uint32_t number = 0;
  communicators.visit(
      key_of(comm), [](const TransferComm&) { return true; },
      [&](TransferComm& there) {
        there.collectives = stream;
        number = ++there.last;
        return true;
      });
  if (number == 0) return {};
  return {.stream = stream, .number = number, .members = static_cast<std::uint32_t>(known.size), .check = 0};
}

// All of the communicator open it together.
void add_transfer_file(MPI_Comm comm, MPI_File file) {
  const Instance opening = next_collective(comm);
  files.add(
      key_of(file),
      {.stream =
           opening.stream == 0 ? 0 : mixed(mixed(transfers_of_file, opening.stream), opening.number) | 1,
       .last = 0,
       .members = static_cast<std::uint32_t>(transfer_comm(comm).size)});
}

void forget_transfer_file(MPI_File file) {
  TransferFile known;
  files.take(key_of(file), known);
}

Instance next_file_transfer(MPI_File file) {
  Instance instance{};
  files.visit(
      key_of(file), [](const TransferFile&) { return true; },
      [&](TransferFile& known) {
        instance = {.stream = known.stream, .number = ++known.last, .members = known.members, .check = 0};
        return true;
      });
  return instance;
}

Instance next_sent(MPI_Comm comm, int destination, int tag, std::uint64_t bytes) {
  const TransferComm known = transfer_comm(comm);
  return next_message(known.members, known.rank, destination, tag, bytes);
}

Instance next_received(MPI_Comm comm, int source, int tag, std::uint64_t bytes) {
  const TransferComm known = transfer_comm(comm);
  return next_message(known.members, source, known.rank, tag, bytes);
}

void lose_messages() {
  messages_are_lost.store(true, std::memory_order_relaxed);
}

std::uint64_t order_of(std::uint64_t stream, std::uint32_t instance) {
  return mixed(stream, instance);
}

void keep_stamps(const CulpritTransfer* transfer, CulpritStamp* stamps, int count, CulpritPath* path) {
  std::size_t chosen = 0;
  for (int i = 0; i < count; ++i) {
    // Messages of one number are chosen together, whoever exchanges them: a call that completes several says
    // something only if all of them are there.
    stamps[i].order = order_of(stamps[i].members != 0 ? stamps[i].window : 0, stamps[i].instance);
    if (stamp_level.keeps(stamps[i].order)) stamps[chosen++] = stamps[i];
  }
  if (transfer == nullptr && chosen == 0) return;
  stamp_level.raise_to(culprit_rt_count_transfer(transfer, stamps, chosen, path));
}

}  // namespace culprit::mpi
