// Publishes the process's communicators, windows and files in a table that others may read at any moment. An
// entry is claimed by a compare-and-swap, filled, and gets its handle last. Ids are formed of the parent's
// id, how many were made of it before, and, of communicators, the first members, which all members know; of
// those that their members alone make, of sizes, tag and first members.
#include "mpi/published_contexts.hpp"

#include "mpi/handle_table.hpp"
#include "mpi/members.hpp"
#include "mpi/predefined.hpp"
#include "mpi/published_messages.hpp"
#include "mpi/real_call.hpp"
#include "runtime/api.hpp"

#include <algorithm>
#include <atomic>

namespace culprit::mpi {
namespace {

namespace calls = measurement::calls;
using calls::Context;
using calls::ContextKind;

constexpr std::uint64_t kWorldId = 1;
constexpr std::uint64_t kSelfId = 2;
constexpr std::uint64_t kClaimed = 1;  // no handle: the entry is being written

calls::Calls* block() {
  return culprit_rt_published_calls.load(std::memory_order_acquire);
}

void withdraw(std::uint64_t handle) {
  calls::Calls* const all = block();
  if (all == nullptr) return;
  if (Context* context = calls::find_context(*all, handle)) calls::store(context->handle, std::uint64_t{0});
  publishing::forget_communicator(handle);
}

/// Of what this process knows of a context that it made.
void publish(std::uint64_t handle, const Context& known) {
  calls::Calls* const all = block();
  if (all == nullptr || handle <= kClaimed) return;
  withdraw(handle);  // one that was freed unseen
  for (std::size_t i = 0; i < calls::kProbes; ++i) {
    Context& place = all->context[(calls::place_of(handle) + i) % calls::kContexts];
    std::uint64_t free = 0;
    if (!std::atomic_ref(place.handle).compare_exchange_strong(free, kClaimed, std::memory_order_acq_rel))
      continue;
    calls::store(place.id, known.id);
    calls::store(place.kind, known.kind);
    calls::store(place.rank, known.rank);
    calls::store(place.size, known.size);
    calls::store(place.remote_size, known.remote_size);
    calls::store(place.first, known.first);
    calls::store(place.made, std::uint32_t{0});
    calls::store(place.collectives, std::uint64_t{0});
    std::atomic_ref(place.handle).store(handle, std::memory_order_release);
    return;
  }
  std::atomic_ref(all->contexts_lost).fetch_add(1, std::memory_order_relaxed);
}

/// The world's rank of a group's first process; negative where it has none: a session has no MPI_COMM_WORLD
/// to name it by. Frees the group.
int first_of(MPI_Group group) {
  int size = 0, initialized = 0;
  CULPRIT_MPI(PMPI_Group_size)(group, &size);
  CULPRIT_MPI(PMPI_Initialized)(&initialized);
  const bool named = size != 0 && initialized != 0;
  const int first = named ? std::max(-1, translate(group, 0, world_group())) : -1;
  CULPRIT_MPI(PMPI_Group_free)(&group);
  return first;
}

struct Firsts {
  int own, other;  ///< of an intercommunicator two

  [[nodiscard]] std::uint64_t mixed_into(std::uint64_t hash) const {
    hash = mixed(hash, static_cast<std::uint64_t>(std::min(own, other)) + 1);
    return mixed(hash, static_cast<std::uint64_t>(std::max(own, other)) + 1);
  }
};

Firsts firsts_of(MPI_Comm comm, bool inter) {
  MPI_Group group;
  CULPRIT_MPI(PMPI_Comm_group)(comm, &group);
  Firsts firsts{};
  firsts.own = firsts.other = first_of(group);
  if (inter) {
    CULPRIT_MPI(PMPI_Comm_remote_group)(comm, &group);
    firsts.other = first_of(group);
  }
  return firsts;
}

/// All but its id.
Context measure(MPI_Comm comm, Firsts& firsts) {
  Context context{};
  context.kind = ContextKind::communicator;
  CULPRIT_MPI(PMPI_Comm_rank)(comm, &context.rank);
  CULPRIT_MPI(PMPI_Comm_size)(comm, &context.size);
  int inter = 0;
  CULPRIT_MPI(PMPI_Comm_test_inter)(comm, &inter);
  if (inter != 0) {
    context.kind = ContextKind::intercommunicator;
    CULPRIT_MPI(PMPI_Comm_remote_size)(comm, &context.remote_size);
  }
  firsts = firsts_of(comm, inter != 0);
  context.first = firsts.own;
  return context;
}

/// No number that the world or a process alone has.
std::uint64_t named(std::uint64_t hash) {
  return hash <= kSelfId ? hash + kSelfId + 1 : hash;
}

/// Of what is made of `parent` next; 0: not known. Copies the parent.
std::uint64_t next_made(MPI_Comm parent, Context& known) {
  calls::Calls* const all = block();
  Context* const context = all == nullptr ? nullptr : calls::find_context(*all, key_of(parent));
  if (context == nullptr) return 0;
  known = *context;
  const std::uint32_t number = std::atomic_ref(context->made).fetch_add(1, std::memory_order_relaxed) + 1;
  return known.id == 0 ? 0 : mixed(known.id, number);
}

/// Of a communicator's processes.
void publish_shared(MPI_Comm comm, std::uint64_t handle, ContextKind kind) {
  Context known{};
  const std::uint64_t number = next_made(comm, known);
  if (number == 0) return;
  known.id = named(number);
  known.kind = kind;
  publish(handle, known);
}

}  // namespace

void publish_world() {
  if (block() == nullptr) return;
  Firsts firsts{};
  Context all = measure(world(), firsts);
  all.id = kWorldId;
  publish(key_of(world()), all);
  Context alone = measure(self(), firsts);
  alone.id = named(mixed(kSelfId, static_cast<std::uint64_t>(all.rank)));
  publish(key_of(self()), alone);
}

void publish_communicator(MPI_Comm parent, MPI_Comm created) {
  Context known{};
  const std::uint64_t number = next_made(parent, known);
  if (block() == nullptr || created == no_communicator()) return;
  Firsts firsts{};
  Context context = measure(created, firsts);
  if (number != 0) context.id = named(firsts.mixed_into(number));
  publish(key_of(created), context);
}

void publish_duplicate(MPI_Comm parent, MPI_Comm created) {
  Context known{};
  const std::uint64_t number = next_made(parent, known);
  if (number == 0 || created == no_communicator()) return;
  const Firsts firsts = firsts_of(parent, known.kind == ContextKind::intercommunicator);
  known.id = named(firsts.mixed_into(number));
  publish(key_of(created), known);
}

void publish_communicator_of_members(MPI_Comm parent, int tag, MPI_Comm created) {
  calls::Calls* const all = block();
  if (all == nullptr || created == no_communicator()) return;
  Firsts firsts{};
  Context context = measure(created, firsts);
  const auto members =
      static_cast<std::uint64_t>(context.size) + static_cast<std::uint64_t>(context.remote_size);
  std::uint64_t hash = mixed(members, static_cast<std::uint32_t>(tag));
  // The two sides of an intercommunicator have different parents.
  const Context* const from = context.remote_size == 0 ? calls::find_context(*all, key_of(parent)) : nullptr;
  if (from != nullptr) hash = mixed(hash, from->id);
  context.id = named(firsts.mixed_into(hash));
  publish(key_of(created), context);
}

void publish_window(MPI_Comm comm, MPI_Win window) {
  publish_shared(comm, key_of(window), ContextKind::window);
}

void publish_file(MPI_Comm comm, MPI_File file) {
  publish_shared(comm, key_of(file), ContextKind::file);
}

void withdraw_communicator(MPI_Comm comm) {
  withdraw(key_of(comm));
}

void withdraw_handle(std::uint64_t handle) {
  withdraw(handle);
}

}  // namespace culprit::mpi
