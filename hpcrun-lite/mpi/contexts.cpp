// Names communicators, windows, groups and files in the time line, without communication (contexts.hpp says
// how). One whose making was not seen is defined at its first use, by a hash of its members. The communicator
// and the window that a thread used last are remembered until any is freed. Members are recorded by the first
// of them alone where all ranks are recorded. Cost: a comparison per call, a look-up in a table of handles
// where the communicator changes.
#include "mpi/contexts.hpp"

#include "mpi/handle_table.hpp"
#include "mpi/members.hpp"
#include "mpi/predefined.hpp"
#include "mpi/real_call.hpp"
#include "mpi/room.hpp"
#include "mpi/topology.hpp"
#include "mpi/world.hpp"
#include "runtime/api.hpp"

#include <algorithm>
#include <atomic>
#include <optional>

namespace culprit::mpi {
namespace {

using measurement::trace::DefinitionKind;

constexpr std::uint64_t kWorldId = 1;
constexpr std::uint64_t kSelfId = 2;
constexpr std::size_t kFewMembers = 256;  ///< on the stack

struct Window {
  Context context;
  std::uint64_t global_id;
  int rank;
};

// As many as live at one time; what finds no room has no name in the trace. MPI libraries themselves have
// room for some ten thousand communicators; of the others, programs make few.
HandleTable<Communicator, 16, 1024> communicators;
HandleTable<Window, 1, 1024> windows;
HandleTable<Context, 1, 1024> groups;
HandleTable<File, 1, 1024> files;
/// What is known by its members, by their hash: a group that is made again and again is defined once.
HandleTable<Context, 1, 4096> member_lists;
/// How often the same members made a communicator by themselves.
HandleTable<std::uint32_t, 1, 4096> made_by_members;

/// Counts communicators and windows that were forgotten: what threads remember is then no longer valid.
std::atomic<std::uint64_t> generation{1};

/// The communicator that a thread used last.
struct LastUsed {
  std::uint64_t generation;  ///< 0: none
  MPI_Comm handle;
  Communicator communicator;
};
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): thread-local and zero
__thread LastUsed last_used __attribute__((tls_model("initial-exec")));

/// The same for windows.
struct LastWindow {
  std::uint64_t generation;
  MPI_Win handle;
  Context context;
};
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): thread-local and zero
__thread LastWindow last_window __attribute__((tls_model("initial-exec")));

/// The group of a communicator or window, while it is asked about.
class BorrowedGroup {
 public:
  explicit BorrowedGroup(MPI_Group group) : group_(group) { CULPRIT_MPI(PMPI_Group_size)(group_, &size_); }
  ~BorrowedGroup() { CULPRIT_MPI(PMPI_Group_free)(&group_); }
  BorrowedGroup(const BorrowedGroup&) = delete;
  BorrowedGroup& operator=(const BorrowedGroup&) = delete;

  [[nodiscard]] MPI_Group get() const { return group_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int first() const {
    return size_ == 0 ? -1 : std::max(-1, translate(group_, 0, world_group()));
  }

 private:
  MPI_Group group_;
  int size_ = 0;
};

MPI_Group own_group(MPI_Comm comm) {
  MPI_Group group;
  CULPRIT_MPI(PMPI_Comm_group)(comm, &group);
  return group;
}
MPI_Group other_group(MPI_Comm comm) {
  MPI_Group group;
  CULPRIT_MPI(PMPI_Comm_remote_group)(comm, &group);
  return group;
}

/// Its members' ranks in MPI_COMM_WORLD.
class Members {
 public:
  explicit Members(MPI_Group group, int size) : ranks_(static_cast<std::size_t>(size)) {
    if (ranks_.size() != 0) world_ranks(group, size, ranks_.data());
  }
  explicit Members(const BorrowedGroup& group) : Members(group.get(), group.size()) {}
  const int* data() { return ranks_.data(); }
  [[nodiscard]] std::size_t size() const { return ranks_.size(); }
  [[nodiscard]] std::uint64_t hash() { return hash_of(ranks_.data(), static_cast<int>(ranks_.size())); }

 private:
  Room<int, kFewMembers> ranks_;
};

bool is_intercommunicator(MPI_Comm comm) {
  int inter = 0;
  CULPRIT_MPI(PMPI_Comm_test_inter)(comm, &inter);
  return inter != 0;
}

Communicator measure(MPI_Comm comm) {
  Communicator communicator = kUnknownCommunicator;
  CULPRIT_MPI(PMPI_Comm_rank)(comm, &communicator.rank);
  CULPRIT_MPI(PMPI_Comm_size)(comm, &communicator.size);
  if (is_intercommunicator(comm)) CULPRIT_MPI(PMPI_Comm_remote_size)(comm, &communicator.remote_size);
  return communicator;
}

std::uint64_t name(std::uint64_t hash) {
  return hash <= kSelfId ? hash + kSelfId + 1 : hash;
}

/// Defines what is known by its members alone, if it is not defined yet.
Context define_once(const CulpritDefinition& definition, std::uint64_t hash) {
  Context context = kNoContext;
  hash = mixed(hash, static_cast<std::uint64_t>(definition.kind));
  if (member_lists.find(hash, context)) return context;
  context = culprit_rt_trace_define(&definition);
  member_lists.add(hash, context);
  return context;
}

/// Defines a communicator in the trace, and keeps it. `members`: are to be recorded. One whose making was
/// not seen is named by its members, which all of them know.
Context define(MPI_Comm comm, Communicator communicator, Context parent, bool members) {
  const bool inter = communicator.remote_size != 0;
  const bool unseen = communicator.global_id == 0;
  CulpritDefinition definition{};
  definition.kind = inter ? DefinitionKind::intercommunicator : DefinitionKind::communicator;
  definition.size = static_cast<std::uint32_t>(communicator.size);
  definition.rank = communicator.rank;
  definition.parent = parent;
  Neighbors neighbors(comm);
  communicator.sources = static_cast<int>(neighbors.source_count());
  communicator.destinations = static_cast<int>(neighbors.destination_count());
  communicator.nobody = neighbors.nobody();
  definition.sources = neighbors.sources();
  definition.source_count = neighbors.source_count();
  definition.destinations = neighbors.destinations();
  definition.destination_count = neighbors.destination_count();
  std::optional<Members> own;
  std::optional<Members> other;
  std::uint64_t hash = 0;
  if (members || unseen) {
    own.emplace(BorrowedGroup(own_group(comm)));
    definition.members = own->data();
    definition.member_count = own->size();
    if (unseen) hash = own->hash();
  }
  if ((members || unseen) && inter) {
    other.emplace(BorrowedGroup(other_group(comm)));
    definition.remote = other->data();
    definition.remote_count = other->size();
    if (unseen) hash += other->hash();
  }
  if (unseen) communicator.global_id = name(hash);
  definition.global_id = communicator.global_id;
  communicator.context = unseen ? define_once(definition, hash) : culprit_rt_trace_define(&definition);
  communicators.add(key_of(comm), communicator);
  return communicator.context;
}

/// Whether this process records the members: the first one does, or everyone where that may not be recorded.
/// Those of a communicator with the members of its parent are known.
bool records_members(MPI_Comm parent, MPI_Comm created, const Communicator& communicator) {
  if (!everyone_recorded()) return true;
  if (communicator.rank != 0) return false;
  int comparison = MPI_UNEQUAL;
  if (is_intercommunicator(parent) == (communicator.remote_size != 0))
    CULPRIT_MPI(PMPI_Comm_compare)(parent, created, &comparison);
  return comparison != MPI_CONGRUENT;
}

/// The first members' ranks, of both sides in an order that both sides know.
std::uint64_t mixed_with_first(std::uint64_t hash, MPI_Comm comm, bool inter) {
  const std::int64_t first = BorrowedGroup(own_group(comm)).first();
  const std::int64_t other = inter ? BorrowedGroup(other_group(comm)).first() : first;
  hash = mixed(hash, static_cast<std::uint64_t>(std::min(first, other)));
  return mixed(hash, static_cast<std::uint64_t>(std::max(first, other)));
}

Communicator measure_named(MPI_Comm comm, std::uint64_t number) {
  Communicator communicator = measure(comm);
  if (number == 0) return communicator;
  communicator.global_id = name(mixed_with_first(number, comm, communicator.remote_size != 0));
  return communicator;
}

}  // namespace

void define_world() {
  Communicator all = measure(world());
  all.global_id = kWorldId;
  define(world(), all, kNoContext, records_members(self(), world(), all));
  Communicator alone = measure(self());
  alone.global_id = name(mixed(kSelfId, static_cast<std::uint64_t>(all.rank)));
  define(self(), alone, kNoContext, true);
}

Communicator communicator_of(MPI_Comm comm) {
  LastUsed& last = last_used;
  const std::uint64_t now = generation.load(std::memory_order_acquire);
  if (last.generation == now && last.handle == comm) return last.communicator;
  Communicator communicator = kUnknownCommunicator;
  if (!communicators.find(key_of(comm), communicator)) {
    if (comm == no_communicator()) return communicator;
    define(comm, measure(comm), kNoContext, true);  // unseen
    if (!communicators.find(key_of(comm), communicator)) return communicator;
  }
  last = {.generation = now, .handle = comm, .communicator = communicator};
  return communicator;
}

std::uint64_t next_made(MPI_Comm parent) {
  const Communicator known = communicator_of(parent);
  std::uint32_t number = 0;
  communicators.visit(
      key_of(parent), [](const Communicator&) { return true; },
      [&](Communicator& communicator) {
        number = ++communicator.made;
        return true;
      });
  return number == 0 ? 0 : mixed(known.global_id, number);
}

Context define_communicator(MPI_Comm parent, std::uint64_t number, MPI_Comm created) {
  if (created == no_communicator()) return kNoContext;
  const Communicator communicator = measure_named(created, number);
  return define(created, communicator, communicator_of(parent).context,
                records_members(parent, created, communicator));
}

Context define_duplicate(Context parent, std::uint64_t number, MPI_Comm created) {
  return define(created, measure_named(created, number), parent, !everyone_recorded());
}

Context define_communicator_of_members(MPI_Comm parent, int tag, MPI_Comm created) {
  if (created == no_communicator()) return kNoContext;
  Communicator communicator = measure(created);
  const BorrowedGroup own(own_group(created));
  std::uint64_t hash = Members(own).hash();
  if (communicator.remote_size != 0) {
    const BorrowedGroup other(other_group(created));
    hash += Members(other).hash();
  } else {
    hash = mixed(hash, communicator_of(parent).global_id);
  }
  hash = mixed(hash, static_cast<std::uint32_t>(tag));
  std::uint32_t number = 0;
  const bool again = made_by_members.visit(
      hash, [](const std::uint32_t&) { return true; },
      [&](std::uint32_t& made) {
        number = ++made;
        return true;
      });
  const bool counted = again || made_by_members.add(hash, 0);
  if (counted) communicator.global_id = name(mixed(hash, number));
  return define(created, communicator, communicator_of(parent).context,
                !everyone_recorded() || communicator.rank == 0);
}

void forget_communicator(MPI_Comm comm) {
  Communicator communicator;
  communicators.take(key_of(comm), communicator);
  generation.fetch_add(1, std::memory_order_acq_rel);
}

Context define_window(MPI_Comm comm, MPI_Win window, std::uint64_t global_id) {
  const std::uint64_t number = next_made(comm);
  const Communicator communicator = communicator_of(comm);
  CulpritDefinition definition{};
  definition.kind = DefinitionKind::window;
  definition.global_id = global_id != 0 ? global_id : name(number);
  definition.size = static_cast<std::uint32_t>(communicator.size);
  definition.rank = communicator.rank;
  definition.parent = communicator.context;
  const Context context = culprit_rt_trace_define(&definition);
  windows.add(key_of(window), {context, definition.global_id, definition.rank});
  return context;
}

namespace {

Context define_unseen_window(MPI_Win window) {
  MPI_Group group;
  if (CULPRIT_MPI(PMPI_Win_get_group)(window, &group) != MPI_SUCCESS) return kNoContext;
  const BorrowedGroup own(group);
  Members members(own);
  CulpritDefinition definition{};
  definition.kind = DefinitionKind::window;
  definition.size = static_cast<std::uint32_t>(own.size());
  CULPRIT_MPI(PMPI_Group_rank)(own.get(), &definition.rank);
  definition.parent = kNoContext;
  definition.members = members.data();
  definition.member_count = members.size();
  definition.global_id = name(mixed(members.hash(), static_cast<std::uint64_t>(definition.kind)));
  const Context context = define_once(definition, members.hash());
  windows.add(key_of(window), {context, definition.global_id, definition.rank});
  return context;
}

}  // namespace

Context window_of(MPI_Win window) {
  LastWindow& last = last_window;
  const std::uint64_t now = generation.load(std::memory_order_acquire);
  if (last.generation == now && last.handle == window) return last.context;
  Window known{};
  if (!windows.find(key_of(window), known)) return define_unseen_window(window);
  last = {.generation = now, .handle = window, .context = known.context};
  return known.context;
}

std::uint64_t number_of_first_in(MPI_Win window) {
  window_of(window);
  Window known{};
  return windows.find(key_of(window), known) && known.rank == 0 ? known.global_id : 0;
}

void forget_window(MPI_Win window) {
  Window known;
  windows.take(key_of(window), known);
  generation.fetch_add(1, std::memory_order_acq_rel);
}

Context group_of(MPI_Group group) {
  Context context = kNoContext;
  if (groups.find(key_of(group), context)) return context;
  int size = 0;
  CULPRIT_MPI(PMPI_Group_size)(group, &size);
  Members members(group, size);
  CulpritDefinition definition{};
  definition.kind = DefinitionKind::group;
  definition.size = static_cast<std::uint32_t>(size);
  CULPRIT_MPI(PMPI_Group_rank)(group, &definition.rank);
  definition.rank = std::max(definition.rank, measurement::trace::kNobody);
  definition.parent = kNoContext;
  definition.members = members.data();
  definition.member_count = members.size();
  context = define_once(definition, members.hash());
  groups.add(key_of(group), context);
  return context;
}

void forget_group(MPI_Group group) {
  Context context;
  groups.take(key_of(group), context);
}

void add_file(MPI_Comm comm, MPI_File file) {
  files.add(key_of(file), {.communicator = communicator_of(comm).context, .split = 0});
}

File file_of(MPI_File file) {
  File known{.communicator = kNoContext, .split = 0};
  files.find(key_of(file), known);
  return known;
}

std::uint64_t exchange_split(MPI_File file, std::uint64_t operation) {
  std::uint64_t before = 0;
  files.visit(
      key_of(file), [](const File&) { return true; },
      [&](File& known) {
        before = known.split;
        known.split = operation;
        return true;
      });
  return before;
}

void forget_file(MPI_File file) {
  File known;
  files.take(key_of(file), known);
}

}  // namespace culprit::mpi
