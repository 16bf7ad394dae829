// Writes the events of an OTF2 archive, one location after the other: memory holds a chunk of one location,
// and definitions. Enters and leaves of regions, with the MPI events of a call between them: what it begins
// at its beginning, what it completes at its end.
#include "export/otf2.hpp"

#include "export/otf2_definitions.hpp"
#include "print/output.hpp"
#include "request/errors.hpp"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <limits>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

namespace culprit::viewer {
namespace {

using database::ContextId;
using measurement::trace::kAllTargets;
using measurement::trace::kNobody;
using measurement::trace::kRootHere;
using measurement::trace::Operation;
using measurement::trace::OperationKind;
using otf2::check;
using otf2::Definitions;

constexpr std::array<std::pair<std::string_view, OTF2_CollectiveOp>, 17> kCollectives = {{
    {"BARRIER", OTF2_COLLECTIVE_OP_BARRIER},
    {"BCAST", OTF2_COLLECTIVE_OP_BCAST},
    {"GATHER", OTF2_COLLECTIVE_OP_GATHER},
    {"GATHERV", OTF2_COLLECTIVE_OP_GATHERV},
    {"SCATTER", OTF2_COLLECTIVE_OP_SCATTER},
    {"SCATTERV", OTF2_COLLECTIVE_OP_SCATTERV},
    {"ALLGATHER", OTF2_COLLECTIVE_OP_ALLGATHER},
    {"ALLGATHERV", OTF2_COLLECTIVE_OP_ALLGATHERV},
    {"ALLTOALL", OTF2_COLLECTIVE_OP_ALLTOALL},
    {"ALLTOALLV", OTF2_COLLECTIVE_OP_ALLTOALLV},
    {"ALLTOALLW", OTF2_COLLECTIVE_OP_ALLTOALLW},
    {"ALLREDUCE", OTF2_COLLECTIVE_OP_ALLREDUCE},
    {"REDUCE", OTF2_COLLECTIVE_OP_REDUCE},
    {"REDUCE_SCATTER", OTF2_COLLECTIVE_OP_REDUCE_SCATTER},
    {"REDUCE_SCATTER_BLOCK", OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK},
    {"SCAN", OTF2_COLLECTIVE_OP_SCAN},
    {"EXSCAN", OTF2_COLLECTIVE_OP_EXSCAN},
}};

/// By the call's name; by its kind where that does not say (MPI_Start).
OTF2_CollectiveOp collective_of(std::string name, OperationKind kind) {
  switch (kind) {
    case OperationKind::create:
      return OTF2_COLLECTIVE_OP_CREATE_HANDLE;
    case OperationKind::free:
      return OTF2_COLLECTIVE_OP_DESTROY_HANDLE;
    default:
      break;
  }
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  if (name.starts_with("MPI_")) name.erase(0, 4);
  if (name.ends_with("_C")) name.erase(name.size() - 2);
  const auto find = [](std::string_view wanted) {
    return std::ranges::find(kCollectives, wanted, [](const auto& each) { return each.first; });
  };
  const auto* found = find(name);
  if (found == kCollectives.end() && name.starts_with('I')) found = find(std::string_view(name).substr(1));
  if (found != kCollectives.end()) return found->second;
  switch (kind) {
    case OperationKind::one_to_all:
      return OTF2_COLLECTIVE_OP_BCAST;
    case OperationKind::all_to_one:
      return OTF2_COLLECTIVE_OP_REDUCE;
    case OperationKind::all_to_all:
      return OTF2_COLLECTIVE_OP_ALLTOALL;
    case OperationKind::prefix:
      return OTF2_COLLECTIVE_OP_SCAN;
    default:
      return OTF2_COLLECTIVE_OP_BARRIER;
  }
}

bool is_collective(OperationKind kind) {
  switch (kind) {
    case OperationKind::barrier:
    case OperationKind::one_to_all:
    case OperationKind::all_to_one:
    case OperationKind::all_to_all:
    case OperationKind::prefix:
    case OperationKind::create:
    case OperationKind::free:
      return true;
    default:
      return false;
  }
}

/// A whole archive.
struct Totals {
  std::uint64_t begin_ns = std::numeric_limits<std::uint64_t>::max(), end_ns = 0;
  std::uint64_t left_out = 0;  ///< operations with communicators whose members are not known
};

/// One location.
class LocationWriter final : public merge::LineEvents {
 public:
  LocationWriter(OTF2_EvtWriter* writer, OTF2_AttributeList* attributes, const RunLines& lines,
                 std::size_t line, Definitions& definitions, Totals& totals)
      : writer_(writer),
        attributes_(attributes),
        lines_(lines),
        line_(line),
        definitions_(definitions),
        totals_(totals) {}

  void enter(std::uint64_t ns, ContextId frame) override {
    if (lines_.is_shown(frame))
      check(OTF2_EvtWriter_Enter(writer_, nullptr, at(ns), definitions_.scope(frame)));
  }

  void leave(std::uint64_t ns, ContextId frame) override {
    if (lines_.is_shown(frame))
      check(OTF2_EvtWriter_Leave(writer_, nullptr, at(ns), definitions_.scope(frame)));
  }

  void enter_call(std::uint64_t ns, const merge::LineCall& call,
                  std::span<const std::uint64_t> /*arrows*/) override {
    if (const auto site = definitions_.call_site(call.context))
      check(OTF2_AttributeList_AddSourceCodeLocationRef(attributes_, Definitions::kCallSite, *site));
    check(OTF2_EvtWriter_Enter(writer_, attributes_, at(ns), definitions_.call(call.context)));
  }

  void leave_call(std::uint64_t ns, const merge::LineCall& call) override {
    check(OTF2_EvtWriter_Leave(writer_, nullptr, at(ns), definitions_.call(call.context)));
  }

  void begin_wait(std::uint64_t ns, const merge::LineWait& wait) override {
    if (wait.cause != database::kNone)
      check(OTF2_AttributeList_AddLocationRef(attributes_, Definitions::kWaitsFor, wait.cause));
    if (wait.continued) check(OTF2_AttributeList_AddUint8(attributes_, Definitions::kContinued, 1));
    check(OTF2_EvtWriter_Enter(writer_, attributes_, at(ns), definitions_.wait(wait.pattern)));
  }

  void end_wait(std::uint64_t ns, const merge::LineWait& wait) override {
    check(OTF2_EvtWriter_Leave(writer_, nullptr, at(ns), definitions_.wait(wait.pattern)));
  }

  void begin_operations(std::uint64_t ns, const merge::LineCall& call,
                        std::span<const Operation> operations) override {
    for (const Operation& operation : operations) {
      definitions_.take_role(definitions_.call(call.context), operation.kind);
      if (operation.begins) begin(at(ns), call, operation);
    }
  }

  void complete_operations(std::uint64_t ns, const merge::LineCall& call,
                           std::span<const Operation> operations) override {
    for (const Operation& operation : operations) {
      if (operation.completes) complete(at(ns), call, operation);
    }
  }

 private:
  using Comm = Definitions::Comm;
  /// A one-sided operation whose end at the target no event has shown yet.
  struct Access {
    std::int32_t target = 0;
    std::uint64_t number = 0;
  };

  std::uint64_t at(std::uint64_t ns) {
    totals_.begin_ns = std::min(totals_.begin_ns, ns);
    totals_.end_ns = std::max(totals_.end_ns, ns);
    return ns;
  }

  /// What the operation is on; null, and it is counted, where that is not known.
  const Comm* comm_of(const Operation& operation) {
    const auto& replay = lines_.replay();
    const bool members_alone =
        operation.kind == OperationKind::create && operation.context == measurement::trace::kNoContext;
    const Comm* const comm =
        definitions_.comm(replay.group_of(line_, members_alone ? operation.made : operation.context));
    if (comm == nullptr) ++totals_.left_out;
    return comm;
  }

  /// A rank's place among the members.
  [[nodiscard]] std::uint32_t place_of(std::int32_t rank, const Comm& comm) const {
    return static_cast<std::uint32_t>(rank) + comm.peers_behind(lines_.replay().lines()[line_].rank);
  }

  /// The same for an operation with a peer, who must be a member.
  const Comm* comm_with_peer(const Operation& operation) {
    if (operation.peer < 0) return nullptr;  // nobody: nothing is sent
    const Comm* const comm = comm_of(operation);
    if (comm == nullptr || place_of(operation.peer, *comm) < comm->members) return comm;
    ++totals_.left_out;
    return nullptr;
  }

  [[nodiscard]] std::uint32_t root_of(const Operation& operation, const Comm& comm) const {
    if (operation.peer >= 0) return place_of(operation.peer, comm);
    return operation.peer == kRootHere ? OTF2_COLLECTIVE_ROOT_SELF : OTF2_COLLECTIVE_ROOT_NONE;
  }

  void begin(std::uint64_t ns, const merge::LineCall& call, const Operation& operation) {
    switch (operation.kind) {
      case OperationKind::send:
      case OperationKind::send_synchronous:
      case OperationKind::send_buffered:
        return send(ns, operation);
      case OperationKind::receive:
      case OperationKind::receive_matched:
        if (!operation.completes && operation.peer != kNobody)
          check(OTF2_EvtWriter_MpiIrecvRequest(writer_, nullptr, ns, operation.id));
        return;
      case OperationKind::put:
      case OperationKind::get:
      case OperationKind::accumulate:
        return access(ns, operation);
      case OperationKind::fence:
        check(OTF2_EvtWriter_RmaCollectiveBegin(writer_, nullptr, ns));
        return;
      case OperationKind::lock:
        return request_lock(ns, operation);
      default:
        if (is_collective(operation.kind)) begin_collective(ns, call, operation);
    }
  }

  void send(std::uint64_t ns, const Operation& operation) {
    const Comm* const comm = comm_with_peer(operation);
    if (comm == nullptr) return;
    const std::uint32_t to = place_of(operation.peer, *comm);
    const auto tag = static_cast<std::uint32_t>(operation.tag);
    if (operation.completes) {
      check(OTF2_EvtWriter_MpiSend(writer_, nullptr, ns, to, comm->ref, tag, operation.bytes));
    } else {
      check(OTF2_EvtWriter_MpiIsend(writer_, nullptr, ns, to, comm->ref, tag, operation.bytes, operation.id));
    }
  }

  OTF2_CollectiveOp collective(const merge::LineCall& call, OperationKind kind) {
    const auto known = collective_of_.find({call.context, kind});
    if (known != collective_of_.end()) return known->second;
    return collective_of_[{call.context, kind}] = collective_of(lines_.name_of(call.context), kind);
  }

  void begin_collective(std::uint64_t ns, const merge::LineCall& call, const Operation& operation) {
    if (comm_of(operation) == nullptr) return;
    if (operation.completes) {
      check(OTF2_EvtWriter_MpiCollectiveBegin(writer_, nullptr, ns));
    } else {
      collectives_[operation.id] = collective(call, operation.kind);
      check(OTF2_EvtWriter_NonBlockingCollectiveRequest(writer_, nullptr, ns, operation.id));
    }
  }

  void access(std::uint64_t ns, const Operation& operation) {
    const Comm* const comm = comm_with_peer(operation);
    if (comm == nullptr) return;
    const auto to = static_cast<std::uint32_t>(operation.peer);
    const std::uint64_t number = ++accesses_;
    if (operation.kind == OperationKind::put) {
      check(OTF2_EvtWriter_RmaPut(writer_, nullptr, ns, comm->window, to, operation.bytes, number));
    } else if (operation.kind == OperationKind::get) {
      check(OTF2_EvtWriter_RmaGet(writer_, nullptr, ns, comm->window, to, operation.bytes, number));
    } else {
      check(OTF2_EvtWriter_RmaAtomic(writer_, nullptr, ns, comm->window, to, OTF2_RMA_ATOMIC_TYPE_ACCUMULATE,
                                     operation.bytes, 0, number));
    }
    if (!operation.completes) requests_[operation.id] = number;
    under_way_[comm->window].push_back({operation.peer, number});
  }

  void request_lock(std::uint64_t ns, const Operation& operation) {
    const Comm* const comm = comm_of(operation);
    if (comm == nullptr) return;
    check(OTF2_EvtWriter_RmaRequestLock(writer_, nullptr, ns, comm->window, target_of(operation), 0,
                                        operation.exclusive ? OTF2_LOCK_EXCLUSIVE : OTF2_LOCK_SHARED));
  }

  /// All targets have the number that stands for none.
  static std::uint32_t target_of(const Operation& operation) {
    return operation.peer < 0 ? OTF2_UNDEFINED_UINT32 : static_cast<std::uint32_t>(operation.peer);
  }

  void complete(std::uint64_t ns, const merge::LineCall& call, const Operation& operation) {
    switch (operation.kind) {
      case OperationKind::send:
      case OperationKind::send_synchronous:
      case OperationKind::send_buffered:
        if (operation.begins || operation.peer == kNobody) return;
        return complete_request(ns, operation);
      case OperationKind::receive:
      case OperationKind::receive_matched:
        return receive(ns, operation);
      case OperationKind::put:
      case OperationKind::get:
      case OperationKind::accumulate:
        return complete_access(ns, operation);
      case OperationKind::fence:
      case OperationKind::start:
      case OperationKind::complete:
      case OperationKind::post:
      case OperationKind::wait:
      case OperationKind::unlock:
      case OperationKind::flush:
        return synchronize(ns, operation);
      default:
        if (is_collective(operation.kind)) complete_collective(ns, call, operation);
    }
  }

  void complete_request(std::uint64_t ns, const Operation& operation) {
    if (operation.cancelled) {
      check(OTF2_EvtWriter_MpiRequestCancelled(writer_, nullptr, ns, operation.id));
    } else {
      check(OTF2_EvtWriter_MpiIsendComplete(writer_, nullptr, ns, operation.id));
    }
  }

  void receive(std::uint64_t ns, const Operation& operation) {
    if (operation.cancelled) {
      check(OTF2_EvtWriter_MpiRequestCancelled(writer_, nullptr, ns, operation.id));
      return;
    }
    const Comm* const comm = comm_with_peer(operation);
    if (comm == nullptr) return;
    const std::uint32_t from = place_of(operation.peer, *comm);
    const auto tag = static_cast<std::uint32_t>(operation.tag);
    if (operation.begins) {
      check(OTF2_EvtWriter_MpiRecv(writer_, nullptr, ns, from, comm->ref, tag, operation.bytes));
    } else {
      check(
          OTF2_EvtWriter_MpiIrecv(writer_, nullptr, ns, from, comm->ref, tag, operation.bytes, operation.id));
    }
  }

  void complete_collective(std::uint64_t ns, const merge::LineCall& call, const Operation& operation) {
    const Comm* const comm = comm_of(operation);
    if (comm == nullptr) return;
    OTF2_CollectiveOp kind = collective(call, operation.kind);
    const std::uint32_t root = root_of(operation, *comm);
    if (operation.begins) {
      window_events(ns, operation);
      check(OTF2_EvtWriter_MpiCollectiveEnd(writer_, nullptr, ns, kind, comm->ref, root, operation.bytes,
                                            operation.bytes_received));
      return;
    }
    if (const auto begun = collectives_.find(operation.id); begun != collectives_.end()) {
      kind = begun->second;
      collectives_.erase(begun);
    }
    check(OTF2_EvtWriter_NonBlockingCollectiveComplete(writer_, nullptr, ns, kind, comm->ref, root,
                                                       operation.bytes, operation.bytes_received,
                                                       operation.id));
  }

  void window_events(std::uint64_t ns, const Operation& operation) {
    const auto& replay = lines_.replay();
    if (operation.kind == OperationKind::create) {
      const Comm* const made = definitions_.comm(replay.group_of(line_, operation.made));
      if (made != nullptr && made->window != OTF2_UNDEFINED_RMA_WIN)
        check(OTF2_EvtWriter_RmaWinCreate(writer_, nullptr, ns, made->window));
    } else if (operation.kind == OperationKind::free) {
      const Comm* const freed = definitions_.comm(replay.group_of(line_, operation.context));
      if (freed == nullptr || freed->window == OTF2_UNDEFINED_RMA_WIN) return;
      under_way_.erase(freed->window);
      check(OTF2_EvtWriter_RmaWinDestroy(writer_, nullptr, ns, freed->window));
    }
  }

  /// Of an operation with a request: here at the origin.
  void complete_access(std::uint64_t ns, const Operation& operation) {
    if (operation.begins) return;
    const auto begun = requests_.find(operation.id);
    const Comm* const comm = comm_with_peer(operation);
    if (begun == requests_.end() || comm == nullptr) return;
    check(OTF2_EvtWriter_RmaOpCompleteNonBlocking(writer_, nullptr, ns, comm->window, begun->second));
    requests_.erase(begun);
  }

  void synchronize(std::uint64_t ns, const Operation& operation) {
    const Comm* const comm = comm_of(operation);
    if (comm == nullptr) return;
    constexpr auto kBoth = OTF2_RMA_SYNC_LEVEL_MEMORY | OTF2_RMA_SYNC_LEVEL_PROCESS;
    switch (operation.kind) {
      case OperationKind::fence:
        complete_all(ns, comm->window, kAllTargets);
        check(OTF2_EvtWriter_RmaCollectiveEnd(writer_, nullptr, ns, OTF2_COLLECTIVE_OP_BARRIER, kBoth,
                                              comm->window, OTF2_COLLECTIVE_ROOT_NONE, 0, 0));
        return;
      case OperationKind::start:
      case OperationKind::post: {
        const auto& members = epochs_[{comm->window, operation.kind}] =
            lines_.replay().members_of(line_, operation.group);
        return group_sync(ns, OTF2_RMA_SYNC_LEVEL_PROCESS, comm->window, members);
      }
      case OperationKind::complete:
        complete_all(ns, comm->window, kAllTargets);
        return group_sync(ns, kBoth, comm->window, epochs_[{comm->window, OperationKind::start}]);
      case OperationKind::wait:
        return group_sync(ns, kBoth, comm->window, epochs_[{comm->window, OperationKind::post}]);
      case OperationKind::unlock:
        complete_all(ns, comm->window, operation.peer);
        check(OTF2_EvtWriter_RmaReleaseLock(writer_, nullptr, ns, comm->window, target_of(operation), 0));
        return;
      default:
        complete_all(ns, comm->window, operation.peer);
    }
  }

  void group_sync(std::uint64_t ns, OTF2_RmaSyncLevel level, OTF2_RmaWinRef window,
                  const std::vector<std::int32_t>& members) {
    if (members.empty() || std::ranges::any_of(members, [](std::int32_t rank) { return rank < 0; })) return;
    check(OTF2_EvtWriter_RmaGroupSync(writer_, nullptr, ns, level, window, definitions_.ranks(members)));
  }

  /// Operations that are complete at the target, or at all targets.
  void complete_all(std::uint64_t ns, OTF2_RmaWinRef window, std::int32_t target) {
    std::vector<Access>& under_way = under_way_[window];
    const auto done = [&](const Access& access) { return target < 0 || access.target == target; };
    for (const Access& access : under_way) {
      if (done(access))
        check(OTF2_EvtWriter_RmaOpCompleteRemote(writer_, nullptr, ns, window, access.number));
    }
    std::erase_if(under_way, done);
  }

  OTF2_EvtWriter* writer_;
  OTF2_AttributeList* attributes_;
  const RunLines& lines_;
  std::size_t line_;
  Definitions& definitions_;
  Totals& totals_;
  std::map<std::pair<ContextId, OperationKind>, OTF2_CollectiveOp> collective_of_;
  std::unordered_map<std::uint64_t, OTF2_CollectiveOp> collectives_;  // begun, by request
  std::unordered_map<std::uint64_t, std::uint64_t> requests_;         // one-sided operations, by request
  std::uint64_t accesses_ = 0;
  std::map<OTF2_RmaWinRef, std::vector<Access>> under_way_;
  std::map<std::pair<OTF2_RmaWinRef, OperationKind>, std::vector<std::int32_t>> epochs_;
};

OTF2_FlushType flush_always(void* /*user*/, OTF2_FileType /*type*/, OTF2_LocationRef /*location*/,
                            void* /*caller*/, bool /*final*/) {
  return OTF2_FLUSH;
}

/// The library would print by itself.
OTF2_ErrorCode say_nothing(void* /*user*/, const char* /*file*/, std::uint64_t /*line*/,
                           const char* /*function*/, OTF2_ErrorCode code, const char* /*format*/,
                           va_list /*arguments*/) {
  return code;
}

class Archive {
 public:
  explicit Archive(const std::filesystem::path& directory) {
    constexpr std::uint64_t kChunk = 1 << 20, kDefinitionChunk = 4 << 20;
    OTF2_Error_RegisterCallback(say_nothing, nullptr);
    archive_.reset(OTF2_Archive_Open(directory.c_str(), "traces", OTF2_FILEMODE_WRITE, kChunk,
                                     kDefinitionChunk, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE));
    attributes_.reset(OTF2_AttributeList_New());
    if (!archive_ || !attributes_) throw otf2::Failure("the archive cannot be opened");
    static const OTF2_FlushCallbacks flush = {.otf2_pre_flush = flush_always, .otf2_post_flush = nullptr};
    check(OTF2_Archive_SetFlushCallbacks(archive_.get(), &flush, nullptr));
    check(OTF2_Archive_SetSerialCollectiveCallbacks(archive_.get()));
    check(OTF2_Archive_SetCreator(archive_.get(), "Culprit " CULPRIT_VERSION));
    check(OTF2_Archive_OpenEvtFiles(archive_.get()));
    check(OTF2_Archive_OpenDefFiles(archive_.get()));
  }

  /// Returns how many events there are.
  std::uint64_t write_location(std::size_t number, const RunLines& lines, Definitions& definitions,
                               Totals& totals) {
    OTF2_EvtWriter* const writer = open_location(number);
    LocationWriter events(writer, attributes_.get(), lines, number, definitions, totals);
    lines.run(number, events);
    std::uint64_t count = 0;
    check(OTF2_EvtWriter_GetNumberOfEvents(writer, &count));
    close_location(writer, number);
    return count;
  }

  void write_empty_location(std::size_t number) { close_location(open_location(number), number); }

  void write_definitions(Definitions& definitions, const std::vector<std::uint64_t>& events,
                         const Totals& totals) {
    check(OTF2_Archive_CloseEvtFiles(archive_.get()));
    check(OTF2_Archive_CloseDefFiles(archive_.get()));
    OTF2_GlobalDefWriter* const writer = OTF2_Archive_GetGlobalDefWriter(archive_.get());
    if (writer == nullptr) check(OTF2_ERROR_INVALID);
    definitions.write(writer, events, std::min(totals.begin_ns, totals.end_ns), totals.end_ns);
    check(OTF2_Archive_CloseGlobalDefWriter(archive_.get(), writer));
  }

  void close() { check(OTF2_Archive_Close(archive_.release())); }

 private:
  OTF2_EvtWriter* open_location(std::size_t number) {
    OTF2_EvtWriter* const writer = OTF2_Archive_GetEvtWriter(archive_.get(), number);
    if (writer == nullptr) check(OTF2_ERROR_INVALID);
    return writer;
  }

  /// Its own definitions are none, but readers look for their file.
  void close_location(OTF2_EvtWriter* writer, std::size_t number) {
    check(OTF2_Archive_CloseEvtWriter(archive_.get(), writer));
    OTF2_DefWriter* const definitions = OTF2_Archive_GetDefWriter(archive_.get(), number);
    if (definitions == nullptr) check(OTF2_ERROR_INVALID);
    check(OTF2_Archive_CloseDefWriter(archive_.get(), definitions));
  }

  struct CloseArchive {
    void operator()(OTF2_Archive* archive) const { OTF2_Archive_Close(archive); }
  };
  struct DeleteAttributes {
    void operator()(OTF2_AttributeList* list) const { OTF2_AttributeList_Delete(list); }
  };
  std::unique_ptr<OTF2_Archive, CloseArchive> archive_;
  std::unique_ptr<OTF2_AttributeList, DeleteAttributes> attributes_;
};

}  // namespace

void require_otf2() {}

namespace {

Totals write_archive(const std::filesystem::path& directory, const RunLines& lines) {
  Archive archive(directory);
  Definitions definitions(lines);
  Totals totals;
  std::vector<std::uint64_t> events;
  const std::size_t count = lines.replay().lines().size();
  for (std::size_t line = 0; line < count; ++line)
    events.push_back(archive.write_location(line, lines, definitions, totals));
  for (std::size_t i = 0; i < definitions.absent_ranks().size(); ++i) archive.write_empty_location(count + i);
  archive.write_definitions(definitions, events, totals);
  archive.close();
  return totals;
}

}  // namespace

void write_otf2(const std::filesystem::path& directory, const RunLines& lines) {
  Totals totals;
  try {
    totals = write_archive(directory, lines);
  } catch (const otf2::Failure& failure) {
    throw CommandError("export: otf2: " + std::filesystem::absolute(directory).parent_path().string() +
                       ": the archive cannot be written there: " + failure.what() +
                       " (is there room? make some, or name another place with -o)");
  }
  if (totals.left_out > 0)
    print::complain("viewer-cli", "export: otf2: " + std::to_string(totals.left_out) +
                                      " operations are left out: the members of their communicators were not "
                                      "recorded");
}

}  // namespace culprit::viewer
