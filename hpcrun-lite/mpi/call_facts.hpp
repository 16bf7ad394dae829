#pragma once

#include <cstdint>

#include <mpi.h>

// What an MPI call is and which of its arguments say so: one type per sort of call. Each entry of
// lib/mpi_calls/*.def makes one of these from the call's parameters. They hold copies of the arguments,
// pointers to what the call fills in or consumes, and are gone from the compiled code where nobody reads
// them. Handles are not compared with MPI's constants here: Open MPI's are addresses in a library that may
// not be loaded.
namespace culprit::mpi {

/// Whether the time inside a call is waiting.
enum class WaitRule : std::uint8_t {
  works,  ///< local, or input and output
  waits,  ///< may last until another process acts
  polls   ///< returns at once; who keeps asking waits (polling.hpp)
};

// Point to point:

struct Message {
  int peer;  ///< MPI_ANY_SOURCE and MPI_PROC_NULL included
  int tag;
  MPI_Count count;
  MPI_Datatype datatype;
  MPI_Comm comm;
};

/// Calls of which nothing else matters than that they wait.
struct Waits {
  static constexpr WaitRule kRule = WaitRule::waits;
};

enum class SendMode : std::uint8_t { standard, synchronous, buffered };

struct BlockingSend {
  static constexpr WaitRule kRule = WaitRule::waits;
  Message sent;
  SendMode mode = SendMode::standard;
};
struct BufferedSend {
  static constexpr WaitRule kRule = WaitRule::works;
  Message sent;
};
struct BlockingReceive {
  static constexpr WaitRule kRule = WaitRule::waits;
  Message received;
  MPI_Status* status;
};
/// The message handle is consumed by the call.
struct BlockingMatchedReceive {
  static constexpr WaitRule kRule = WaitRule::waits;
  MPI_Message* message;
  MPI_Count count;
  MPI_Datatype datatype;
  MPI_Status* status;
};
struct BlockingExchange {
  static constexpr WaitRule kRule = WaitRule::waits;
  Message sent;
  Message received;
  MPI_Status* status;
};
/// `message` is null where the probe does not match.
struct BlockingProbe {
  static constexpr WaitRule kRule = WaitRule::waits;
  int source;
  int tag;
  MPI_Comm comm;
  MPI_Message* message;
  MPI_Status* status;
};
struct ProbeAttempt {
  static constexpr WaitRule kRule = WaitRule::polls;
  int source;
  int tag;
  MPI_Comm comm;
  MPI_Message* message;
  int* done;
  MPI_Status* status;
};

struct SendStart {
  static constexpr WaitRule kRule = WaitRule::works;
  Message sent;
  MPI_Request* request;
  SendMode mode = SendMode::standard;
};
struct ReceiveStart {
  static constexpr WaitRule kRule = WaitRule::works;
  Message received;
  MPI_Request* request;
};
struct MatchedReceiveStart {
  static constexpr WaitRule kRule = WaitRule::works;
  MPI_Message* message;
  MPI_Count count;
  MPI_Datatype datatype;
  MPI_Request* request;
};
struct ExchangeStart {
  static constexpr WaitRule kRule = WaitRule::works;
  Message sent;
  Message received;
  MPI_Request* request;
};
struct PersistentSend {
  static constexpr WaitRule kRule = WaitRule::works;
  Message sent;
  MPI_Request* request;
  SendMode mode = SendMode::standard;
};
struct PersistentReceive {
  static constexpr WaitRule kRule = WaitRule::works;
  Message received;
  MPI_Request* request;
};

// Requests:

/// MPI_Start and MPI_Startall.
struct RequestStart {
  static constexpr WaitRule kRule = WaitRule::works;
  int count;
  MPI_Request* requests;
};

/// The requests that a completing call is given. After it, `completed` says which of them are complete: with
/// `completed_count`, that many indices (MPI_Waitsome); without, one index (MPI_Waitany); where it is null,
/// all (MPI_Wait, MPI_Waitall). The handles of completed requests are gone then.
struct Requests {
  int count;
  MPI_Request* requests;
  int* completed_count;
  int* completed;
  MPI_Status* statuses;  ///< one per completed request, or MPI_STATUS(ES)_IGNORE
};

struct BlockingCompletion {
  static constexpr WaitRule kRule = WaitRule::waits;
  Requests requests;
};
struct CompletionAttempt {
  static constexpr WaitRule kRule = WaitRule::polls;
  Requests requests;
  int* done;
};
/// MPI_Request_get_status: completes nothing.
struct StatusQuery {
  static constexpr WaitRule kRule = WaitRule::polls;
  MPI_Request request;
  int* done;
  MPI_Status* status;
};
struct Cancellation {
  static constexpr WaitRule kRule = WaitRule::works;
  MPI_Request* request;
};
struct RequestRelease {
  static constexpr WaitRule kRule = WaitRule::works;
  MPI_Request* request;
};

// Collectives:

/// Who waits for whom in a collective.
enum class Flow : std::uint8_t { barrier, one_to_all, all_to_one, all_to_all, prefix, neighbors };

inline constexpr int kNoRoot = -1;

// What a process sends or receives in a collective. The buffer shows MPI_IN_PLACE, where count and type mean
// nothing; so they do where the standard makes them significant only at the root and this is another process.
struct NoData {};
/// In all.
struct Data {
  const void* buffer;
  MPI_Count count;
  MPI_Datatype datatype;
};
/// For each process of the communicator, or for each neighbour.
struct SameForEach {
  const void* buffer;
  MPI_Count count;
  MPI_Datatype datatype;
};
/// An amount of its own for each process of the communicator, or for each neighbour.
template <typename Count>
struct DataPerRank {
  const void* buffer;
  const Count* counts;
  MPI_Datatype datatype;
};
template <typename Count>
struct TypedDataPerRank {
  const void* buffer;
  const Count* counts;
  const MPI_Datatype* datatypes;
};
/// This process's share of amounts that all know.
template <typename Count>
struct OwnShare {
  const void* buffer;
  const Count* counts;
  MPI_Datatype datatype;
};
template <typename Count>
DataPerRank(const void*, const Count*, MPI_Datatype) -> DataPerRank<Count>;
template <typename Count>
TypedDataPerRank(const void*, const Count*, const MPI_Datatype*) -> TypedDataPerRank<Count>;
template <typename Count>
OwnShare(const void*, const Count*, MPI_Datatype) -> OwnShare<Count>;

template <typename Sent, typename Received>
struct BlockingCollective {
  static constexpr WaitRule kRule = WaitRule::waits;
  Flow flow;
  int root;
  MPI_Comm comm;
  Sent sent;
  Received received;
};
template <typename Sent, typename Received>
struct CollectiveStart {
  static constexpr WaitRule kRule = WaitRule::works;
  Flow flow;
  int root;
  MPI_Comm comm;
  Sent sent;
  Received received;
  MPI_Request* request;
};
/// Started by MPI_Start. The initialization is collective, but every process may return from it alone.
template <typename Sent, typename Received>
struct PersistentCollective {
  static constexpr WaitRule kRule = WaitRule::works;
  Flow flow;
  int root;
  MPI_Comm comm;
  Sent sent;
  Received received;
  MPI_Request* request;
};
template <typename Sent, typename Received>
BlockingCollective(Flow, int, MPI_Comm, Sent, Received) -> BlockingCollective<Sent, Received>;
template <typename Sent, typename Received>
CollectiveStart(Flow, int, MPI_Comm, Sent, Received, MPI_Request*) -> CollectiveStart<Sent, Received>;
template <typename Sent, typename Received>
PersistentCollective(Flow, int, MPI_Comm, Sent, Received, MPI_Request*)
    -> PersistentCollective<Sent, Received>;

// One-sided:

enum class WindowFlavor : std::uint8_t { created, allocated, shared, dynamic };

/// Collective; `*window` is known after the call. `bytes`: of this process.
struct WindowCreation {
  static constexpr WaitRule kRule = WaitRule::waits;
  MPI_Comm comm;
  MPI_Win* window;
  WindowFlavor flavor;
  MPI_Aint bytes;
};
struct WindowRelease {
  static constexpr WaitRule kRule = WaitRule::waits;
  MPI_Win* window;
};

struct Target {
  int rank;
  MPI_Count count;
  MPI_Datatype datatype;
  MPI_Win window;
};
enum class AccessKind : std::uint8_t { put, get, accumulate };
struct Access {
  static constexpr WaitRule kRule = WaitRule::works;
  Target target;
  AccessKind kind;
};
struct RequestedAccess {
  static constexpr WaitRule kRule = WaitRule::works;
  Target target;
  MPI_Request* request;
  AccessKind kind;
};

struct Fence {
  static constexpr WaitRule kRule = WaitRule::waits;
  int assertion;
  MPI_Win window;
};
struct EpochStart {
  static constexpr WaitRule kRule = WaitRule::waits;
  MPI_Group group;
  int assertion;
  MPI_Win window;
};
struct EpochCompletion {
  static constexpr WaitRule kRule = WaitRule::waits;
  MPI_Win window;
};
struct ExposurePost {
  static constexpr WaitRule kRule = WaitRule::works;
  MPI_Group group;
  int assertion;
  MPI_Win window;
};
struct ExposureWait {
  static constexpr WaitRule kRule = WaitRule::waits;
  MPI_Win window;
};
struct ExposureAttempt {
  static constexpr WaitRule kRule = WaitRule::polls;
  MPI_Win window;
  int* done;
};
struct Lock {
  static constexpr WaitRule kRule = WaitRule::waits;
  int target;
  int assertion;
  MPI_Win window;
  bool exclusive;
};
struct LockAll {
  static constexpr WaitRule kRule = WaitRule::waits;
  int assertion;
  MPI_Win window;
};
struct Unlock {
  static constexpr WaitRule kRule = WaitRule::waits;
  int target;
  MPI_Win window;
};
struct UnlockAll {
  static constexpr WaitRule kRule = WaitRule::waits;
  MPI_Win window;
};
struct Flush {
  static constexpr WaitRule kRule = WaitRule::waits;
  int target;
  MPI_Win window;
};
struct FlushAll {
  static constexpr WaitRule kRule = WaitRule::waits;
  MPI_Win window;
};
struct LocalFlush {
  static constexpr WaitRule kRule = WaitRule::waits;
  int target;
  MPI_Win window;
};
struct LocalFlushAll {
  static constexpr WaitRule kRule = WaitRule::waits;
  MPI_Win window;
};

// Communicators and groups:

/// Collective over `parent`; `*created` is known after the call, and MPI_COMM_NULL for some.
struct CommunicatorCreation {
  static constexpr WaitRule kRule = WaitRule::waits;
  MPI_Comm parent;
  MPI_Comm* created;
};
/// Collective over the members of the new communicator alone, which `tag` distinguishes from others that the
/// same processes make at the same time. Also where two sides meet (MPI_Comm_accept, MPI_Comm_connect).
struct MembersCommunicatorCreation {
  static constexpr WaitRule kRule = WaitRule::waits;
  MPI_Comm parent;
  int tag;
  MPI_Comm* created;
};
/// `*created` is usable once the request is complete.
struct CommunicatorCreationStart {
  static constexpr WaitRule kRule = WaitRule::works;
  MPI_Comm parent;
  MPI_Comm* created;
  MPI_Request* request;
};
/// MPI_Comm_join: no communicator is its parent.
struct CommunicatorJoin {
  static constexpr WaitRule kRule = WaitRule::waits;
  MPI_Comm* created;
};
struct CommunicatorRelease {
  static constexpr WaitRule kRule = WaitRule::waits;
  MPI_Comm* comm;
};
struct GroupCreation {
  static constexpr WaitRule kRule = WaitRule::works;
  MPI_Group* created;
};
struct GroupRelease {
  static constexpr WaitRule kRule = WaitRule::works;
  MPI_Group* group;
};

// Files:

/// `*file` is known after the call.
struct FileOpening {
  static constexpr WaitRule kRule = WaitRule::waits;
  MPI_Comm comm;
  MPI_File* file;
};
struct FileClosing {
  static constexpr WaitRule kRule = WaitRule::waits;
  MPI_File* file;
};
struct CollectiveFileCall {
  static constexpr WaitRule kRule = WaitRule::waits;
  MPI_File file;
};

struct FileData {
  MPI_File file;
  MPI_Count count;
  MPI_Datatype datatype;
};
struct FileTransfer {
  static constexpr WaitRule kRule = WaitRule::works;
  FileData data;
  MPI_Status* status;
};
struct FileTransferStart {
  static constexpr WaitRule kRule = WaitRule::works;
  FileData data;
  MPI_Request* request;
};
struct CollectiveFileTransfer {
  static constexpr WaitRule kRule = WaitRule::waits;
  FileData data;
  MPI_Status* status;
};
struct CollectiveFileTransferStart {
  static constexpr WaitRule kRule = WaitRule::works;
  FileData data;
  MPI_Request* request;
};
/// A collective transfer in two calls; libraries wait in either.
struct SplitFileTransfer {
  static constexpr WaitRule kRule = WaitRule::waits;
  FileData data;
};
struct SplitFileTransferEnd {
  static constexpr WaitRule kRule = WaitRule::waits;
  MPI_File file;
  MPI_Status* status;
};

}  // namespace culprit::mpi
