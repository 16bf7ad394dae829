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

/// Who a partner is. A communicator is known by its size and its first and last member: to look
/// at all members would take too long where there are many. A session has no MPI_COMM_WORLD to name ranks by.
void identify(CulpritPartnerCount& partner, MPI_Comm comm, int peer) {
  partner.rank = -1;
  int initialized = 0, inter = 0, size = 0;
  CULPRIT_MPI(PMPI_Initialized)(&initialized);
  if (initialized == 0) return;
  CULPRIT_MPI(PMPI_Comm_test_inter)(comm, &inter);
  if (inter != 0) return;
  CULPRIT_MPI(PMPI_Comm_size)(comm, &size);
  partner.members = static_cast<std::uint32_t>(size);
  if (comm == world()) {  // libraries look for ranks one by one
    partner.rank = peer;
    partner.communicator = kWorld;
    return;
  }
  MPI_Group group;
  if (CULPRIT_MPI(PMPI_Comm_group)(comm, &group) != MPI_SUCCESS) return;
  const int first = translate(group, 0, world_group()), last = translate(group, size - 1, world_group());
  partner.rank = translate(group, peer, world_group());
  int world_size = 0;
  CULPRIT_MPI(PMPI_Group_size)(world_group(), &world_size);
  CULPRIT_MPI(PMPI_Group_free)(&group);
  const bool all = size == world_size && first == 0 && last == size - 1;
  partner.communicator = all ? kWorld : mixed(mixed(word(size), word(first)), word(last)) | 2;
}

}  // namespace

void count_new_partner(CulpritCallTable& table, const Message& message, std::uint64_t bytes) {
  const std::uint64_t comm = key_of(message.comm);
  const std::uint32_t generation = handle_generation.load(std::memory_order_relaxed);
  const std::size_t first = partner_place(comm, message.peer);
  for (std::size_t probe = 0; probe < CulpritCallTable::kProbes; ++probe) {
    CulpritPartnerCount& partner = table.partners[(first + probe) % CulpritCallTable::kPartners];
    const bool same = partner.comm == comm && partner.peer == message.peer;
    if (partner.generation == generation && !same) continue;
    if (partner.generation != generation) {  // free, or of a handle that may be another communicator's now
      if (partner.generation != 0) culprit_rt_hand_over_partner(&partner);
      partner.messages = partner.bytes = 0;  // where it could not be handed over: they are another's
      partner.comm = comm;
      partner.peer = message.peer;
      partner.generation = generation;
      identify(partner, message.comm, message.peer);
    }
    ++partner.messages;
    partner.bytes += bytes;
    // The first at once: where the program is killed, it is known that there was something.
    if (partner.messages >= kHandedOver || partner.messages == 1) culprit_rt_hand_over_partner(&partner);
    return;
  }
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
  }
  return communicator;
}

}  // namespace culprit::mpi
