// Counts messages by receiver in a table of the thread, without a trace. It has open addressing and few
// probes; an entry is handed over when it has counted enough, and may be given to another partner once a
// communicator was freed, since its handle may then be another's. A communicator is identified by its size
// and its first and last member.
#include "mpi/call_counts.hpp"

#include "mpi/members.hpp"
#include "mpi/predefined.hpp"
#include "mpi/real_call.hpp"

namespace culprit::mpi {
namespace {

constexpr std::uint64_t kWorld = 1;  // CulpritPartnerCount::communicator

std::uint64_t word(int value) {
  return static_cast<std::uint32_t>(value);
}

/// Counts a message at the place of the partner with this key; `identify` says who it is where it is new.
template <typename Identify>
void count_at_place(CulpritCallTable& table, std::uint64_t comm, int peer, std::uint64_t bytes,
                    Identify identify) {
  const std::uint32_t generation = handle_generation.load(std::memory_order_relaxed);
  const std::size_t first = partner_place(comm, peer);
  for (std::size_t probe = 0; probe < CulpritCallTable::kPartnerProbes; ++probe) {
    CulpritPartnerCount& partner = table.partners[(first + probe) % CulpritCallTable::kPartners];
    const bool same = partner.comm == comm && partner.peer == peer;
    if (partner.generation == generation && !same) continue;
    const bool fresh = partner.generation != generation;
    if (fresh) {  // free, or of a handle that may be another communicator's now
      if (partner.generation != 0) culprit_rt_hand_over_partner(&partner);
      partner.messages = partner.bytes = 0;  // where it could not be handed over: they are another's
      partner.comm = comm;
      partner.peer = peer;
      partner.generation = generation;
      const Recipient recipient = identify();
      partner.rank = recipient.rank;
      partner.members = recipient.members;
      partner.communicator = recipient.communicator;
    }
    ++partner.messages;
    partner.bytes += bytes;
    // The first at once: where the program is killed, it is known that there was something.
    if (partner.messages >= kHandedOver || fresh) culprit_rt_hand_over_partner(&partner);
    return;
  }
}

}  // namespace

// A communicator is known by its size and its first and last member: to look at all members would take too
// long where there are many. A session has no MPI_COMM_WORLD to name ranks by.
Recipient recipient_of(MPI_Comm comm, int peer) {
  int initialized = 0, inter = 0, size = 0;
  CULPRIT_MPI(PMPI_Initialized)(&initialized);
  if (initialized == 0) return {};
  CULPRIT_MPI(PMPI_Comm_test_inter)(comm, &inter);
  if (inter != 0) return {};
  CULPRIT_MPI(PMPI_Comm_size)(comm, &size);
  const auto members = static_cast<std::uint32_t>(size);
  // Libraries look for ranks one by one.
  if (comm == world()) return {.rank = peer, .members = members, .communicator = kWorld};
  MPI_Group group;
  if (CULPRIT_MPI(PMPI_Comm_group)(comm, &group) != MPI_SUCCESS) return {};
  const int first = translate(group, 0, world_group()), last = translate(group, size - 1, world_group());
  const int rank = translate(group, peer, world_group());
  int world_size = 0;
  CULPRIT_MPI(PMPI_Group_size)(world_group(), &world_size);
  CULPRIT_MPI(PMPI_Group_free)(&group);
  const bool all = size == world_size && first == 0 && last == size - 1;
  return {.rank = rank,
          .members = members,
          .communicator = all ? kWorld : mixed(mixed(word(size), word(first)), word(last)) | 2};
}

void count_new_partner(CulpritCallTable& table, const Message& message, std::uint64_t bytes) {
  count_at_place(table, key_of(message.comm), message.peer, bytes,
                 [&] { return recipient_of(message.comm, message.peer); });
}

// No handle is a number like those that communicators are known by here.
void count_recipient(const Recipient& recipient, std::uint64_t bytes) {
  if (recipient.rank < 0) return;
  count_at_place(*culprit_rt_thread.calls, recipient.communicator, recipient.rank, bytes,
                 [&] { return recipient; });
}

Communicator counted_communicator(MPI_Comm comm, Flow flow) {
  Communicator communicator = kUnknownCommunicator;
  communicator.context = 0;
  CULPRIT_MPI(PMPI_Comm_size)(comm, &communicator.size);
  CULPRIT_MPI(PMPI_Comm_rank)(comm, &communicator.rank);
  int inter = 0;
  CULPRIT_MPI(PMPI_Comm_test_inter)(comm, &inter);
  if (inter != 0) CULPRIT_MPI(PMPI_Comm_remote_size)(comm, &communicator.remote_size);
  if (flow == Flow::neighbors) {
    const TransferComm known = transfer_comm(comm);
    communicator.sources = known.sources;
    communicator.destinations = known.destinations;
    communicator.nobody = known.nobody;
  }
  return communicator;
}

}  // namespace culprit::mpi
