#pragma once

#include "exchange/communicator.hpp"
#include "exchange/message_communicator.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <mpi.h>

namespace culprit::prof_mpi {

/// The MPI backend of exchange. Waiting is always by polling, which also looks for the notice of a rank that
/// failed, so that no operation hangs when a rank gives up (native collectives could not be interrupted), and
/// which yields the processor to ranks that compute. Between MPI_Init and MPI_Finalize; MPI_THREAD_FUNNELED
/// is enough.
class MpiCommunicator : public exchange::MessageCommunicator {
 public:
  /// Messages and writes are cut into pieces of this many bytes: an MPI count is an int.
  static constexpr std::size_t kPiece = std::size_t{1} << 30;

  /// Collective over `parent`, which is duplicated and not used otherwise.
  explicit MpiCommunicator(MPI_Comm parent, std::size_t piece = kPiece);
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  void send(int destination, int tag, std::span<const std::byte> data) override;
  [[nodiscard]] exchange::Bytes receive(int source, int tag) override;
  [[nodiscard]] std::unique_ptr<exchange::OutputFile> create_file(const std::filesystem::path& path) override;

  /// What all ranks came to know of a failure.
  struct Failure {
    std::string cause;      ///< that of the lowest rank which failed by itself; empty if none said why
    bool unanimous = true;  ///< every rank has taken part in the end; if not, only MPI_Abort ends the job
  };
  /// Ends the exchange after this rank gave up; `cause` is empty when another rank's failure was the reason.
  /// Returns when every rank has called this (or was interrupted) and no message is under way, or after a
  /// minute.
  Failure fail(const std::string& cause);

 protected:
  [[nodiscard]] exchange::Bytes send_receive(int destination, exchange::Bytes data, int source,
                                             int tag) override;

 private:
  /// A message under way, in pieces one after the other.
  struct Outgoing {
    std::span<const std::byte> left;
    int destination = 0;
    int tag = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    bool done = false;
  };

  void start_piece(Outgoing& outgoing);
  /// Moves `outgoing` on; true when all of it was sent.
  bool advance(Outgoing& outgoing);
  void finish(Outgoing& outgoing);
  /// Receives while moving `outgoing` (may be null) on.
  exchange::Bytes receive_while(int source, int tag, Outgoing* outgoing);

  [[nodiscard]] bool notice_arrived();
  [[noreturn]] void interrupted(Outgoing* outgoing);
  /// Notifies all, then takes in whatever is under way until everybody has done so.
  void drain(const std::string& cause, Outgoing* outgoing);
  bool take_any();

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::size_t piece_;
  bool failed_ = false;              ///< drained: no operation any more
  std::vector<std::string> causes_;  ///< by rank, from their notices
  std::vector<bool> notified_;       ///< by rank: its notice has arrived
  bool unanimous_ = true;
};

/// Collective: a file that every rank writes through MPI-IO, in pieces of at most `piece` bytes. Each rank
/// opens it for itself (MPI_COMM_SELF): writes are independent, and the end of a failed run needs nobody.
/// `comm` must outlive it.
std::unique_ptr<exchange::OutputFile> create_mpi_file(exchange::Communicator& comm,
                                                      const std::filesystem::path& path, std::size_t piece);

}  // namespace culprit::prof_mpi
