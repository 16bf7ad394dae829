// The ranks of the analysis by MPI: messages in pieces that an int can count, of which a full one announces
// another, so that no length is sent. A rank that gives up notifies all others, and everybody takes in what
// is under way: as the notice is the last message that a rank sends, nothing is left once all notices are
// there and all own sends are done. Waiting is polling: at once, then yielding the processor, then sleeping,
// an eighth longer each time.
#include "mpi_communicator.hpp"

#include "exchange/shared_file.hpp"
#include "files/new_file.hpp"
#include "files/write_failure.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include <mpi.h>
#include <sched.h>
#include <unistd.h>

namespace culprit::prof_mpi {

namespace {

using exchange::Bytes;

constexpr int kNoticeTag = exchange::Communicator::kMaxTag + 2;  // the tag above is that of the collectives
constexpr std::size_t kLongestCause = 4096;
constexpr std::chrono::seconds kPatienceWithPeers{60};

/// What MPI says about one of its error codes.
std::string describe(int code) {
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) return "MPI error " + std::to_string(code);
  return {text, static_cast<std::size_t>(length)};
}

/// Throws ExchangeError unless `code` is success.
void check(int code, const char* operation) {
  if (code != MPI_SUCCESS) throw exchange::ExchangeError(std::string(operation) + ": " + describe(code));
}

/// What to do between two looks for a message: at first look again at once, then let others run, then sleep,
/// the longer the longer nothing has come. MPI's own waiting would keep a processor busy that another rank
/// could compute on.
class Patience {
 public:
  void wait() {
    ++looks_;
    if (looks_ < kSpins) return;
    if (looks_ < kYields) {
      ::sched_yield();
    } else {
      std::this_thread::sleep_for(sleep_);
      sleep_ = std::min(sleep_ + sleep_ / 8, kLongestSleep);
    }
  }

 private:
  /// A message takes some microseconds, as a look does: what has not come after some hundred is being worked
  /// for. More looks took a third as much CPU time as two ranks' work, with large tiles.
  static constexpr int kSpins = 100, kYields = 200;
  /// So that a rank sleeps at most an eighth longer than it had to; and where a message moves by a piece with
  /// each look (over TCP), the pieces do not wait for each other for long.
  static constexpr std::chrono::microseconds kShortestSleep{50}, kLongestSleep{200};
  int looks_ = 0;
  std::chrono::microseconds sleep_ = kShortestSleep;
};

}  // namespace

MpiCommunicator::MpiCommunicator(MPI_Comm parent, std::size_t piece) : piece_(piece) {
  check(MPI_Comm_dup(parent, &comm_), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  causes_.resize(static_cast<std::size_t>(size_));
  notified_.resize(static_cast<std::size_t>(size_));
}

MpiCommunicator::~MpiCommunicator() {
  if (unanimous_) MPI_Comm_free(&comm_);
}

void MpiCommunicator::start_piece(Outgoing& outgoing) {
  const std::span<const std::byte> piece = outgoing.left.first(std::min(outgoing.left.size(), piece_));
  check(MPI_Isend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, outgoing.destination, outgoing.tag,
                  comm_, &outgoing.request),
        "MPI_Isend");
}

bool MpiCommunicator::advance(Outgoing& outgoing) {
  while (!outgoing.done) {
    if (outgoing.request == MPI_REQUEST_NULL) start_piece(outgoing);
    int sent = 0;
    check(MPI_Test(&outgoing.request, &sent, MPI_STATUS_IGNORE), "MPI_Test");
    if (sent == 0) return false;
    // A full piece announces another, so that the receiver need not know the length; the last may be
    // empty.
    outgoing.done = outgoing.left.size() < piece_;
    if (!outgoing.done) outgoing.left = outgoing.left.subspan(piece_);
  }
  return true;
}

void MpiCommunicator::finish(Outgoing& outgoing) {
  for (Patience patience; !advance(outgoing); patience.wait()) {
    if (notice_arrived()) interrupted(&outgoing);
  }
}

Bytes MpiCommunicator::receive_while(int source, int tag, Outgoing* outgoing) {
  Bytes data;
  Patience patience;
  for (;;) {
    int arrived = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    check(MPI_Improbe(source, tag, comm_, &arrived, &message, &status), "MPI_Improbe");
    if (arrived == 0) {
      if (outgoing != nullptr) advance(*outgoing);
      if (notice_arrived()) interrupted(outgoing);
      patience.wait();
      continue;
    }
    int count = 0;
    check(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
    const std::size_t before = data.size();
    data.resize(before + static_cast<std::size_t>(count));
    check(MPI_Mrecv(data.data() + before, count, MPI_BYTE, &message, MPI_STATUS_IGNORE), "MPI_Mrecv");
    if (static_cast<std::size_t>(count) < piece_) return data;
    patience = {};
  }
}

void MpiCommunicator::send(int destination, int tag, std::span<const std::byte> data) {
  require_rank(destination, "send");
  if (failed_) interrupted(nullptr);
  Outgoing outgoing{data, destination, tag};
  finish(outgoing);
}

Bytes MpiCommunicator::receive(int source, int tag) {
  require_rank(source, "receive");
  if (failed_) interrupted(nullptr);
  return receive_while(source, tag, nullptr);
}

Bytes MpiCommunicator::send_receive(int destination, Bytes data, int source, int tag) {
  if (failed_) interrupted(nullptr);
  Outgoing outgoing{data, destination, tag};
  advance(outgoing);
  Bytes received = receive_while(source, tag, &outgoing);
  finish(outgoing);
  return received;
}

std::unique_ptr<exchange::OutputFile> MpiCommunicator::create_file(const std::filesystem::path& path) {
  return create_mpi_file(*this, path, piece_);
}

bool MpiCommunicator::notice_arrived() {
  int arrived = 0;
  check(MPI_Iprobe(MPI_ANY_SOURCE, kNoticeTag, comm_, &arrived, MPI_STATUS_IGNORE), "MPI_Iprobe");
  return arrived != 0;
}

void MpiCommunicator::interrupted(Outgoing* outgoing) {
  if (!failed_) drain({}, outgoing);
  throw exchange::PeerFailed("exchange: another rank failed");
}

MpiCommunicator::Failure MpiCommunicator::fail(const std::string& cause) {
  if (!failed_) {
    try {
      drain(cause, nullptr);
    } catch (const exchange::ExchangeError&) {
      unanimous_ = false;  // MPI itself is what fails
    }
  }
  const auto said =
      std::find_if(causes_.begin(), causes_.end(), [](const std::string& text) { return !text.empty(); });
  return {said == causes_.end() ? cause : *said, unanimous_};
}

void MpiCommunicator::drain(const std::string& cause, Outgoing* outgoing) {
  failed_ = true;
  const std::string notice = cause.substr(0, kLongestCause);
  causes_[static_cast<std::size_t>(rank_)] = notice;
  notified_[static_cast<std::size_t>(rank_)] = true;
  std::vector<MPI_Request> requests;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    requests.emplace_back();
    check(MPI_Isend(notice.data(), static_cast<int>(notice.size()), MPI_CHAR, peer, kNoticeTag, comm_,
                    &requests.back()),
          "MPI_Isend");
  }
  if (outgoing != nullptr && outgoing->request != MPI_REQUEST_NULL) requests.push_back(outgoing->request);

  // A rank's notice is the last that it sends: once all notices are here, nothing is under way to this rank,
  // and once the requests are complete, nothing from it.
  const auto deadline = std::chrono::steady_clock::now() + kPatienceWithPeers;
  Patience patience;
  for (;;) {
    while (take_any()) patience = {};
    int sent = 0;
    check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &sent, MPI_STATUSES_IGNORE),
          "MPI_Testall");
    if (sent != 0 && std::find(notified_.begin(), notified_.end(), false) == notified_.end()) return;
    if (std::chrono::steady_clock::now() > deadline) break;
    patience.wait();
  }
  unanimous_ = false;
}

bool MpiCommunicator::take_any() {
  int arrived = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  check(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &arrived, &message, &status), "MPI_Improbe");
  if (arrived == 0) return false;
  int count = 0;
  check(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
  std::string text(static_cast<std::size_t>(count), '\0');
  check(MPI_Mrecv(text.data(), count, MPI_BYTE, &message, MPI_STATUS_IGNORE), "MPI_Mrecv");
  if (status.MPI_TAG == kNoticeTag) {
    causes_[static_cast<std::size_t>(status.MPI_SOURCE)] = std::move(text);
    notified_[static_cast<std::size_t>(status.MPI_SOURCE)] = true;
  }
  return true;
}

namespace {

/// The errno that comes closest to what MPI-IO reports; 0 for success.
int errno_of(int code) {
  if (code == MPI_SUCCESS) return 0;
  int error_class = MPI_ERR_OTHER;
  MPI_Error_class(code, &error_class);
  const std::pair<int, int> known[] = {
      {MPI_ERR_NO_SUCH_FILE, ENOENT}, {MPI_ERR_FILE_EXISTS, EEXIST}, {MPI_ERR_ACCESS, EACCES},
      {MPI_ERR_NO_SPACE, ENOSPC},     {MPI_ERR_QUOTA, EDQUOT},       {MPI_ERR_READ_ONLY, EROFS},
      {MPI_ERR_BAD_FILE, EINVAL},     {MPI_ERR_NO_MEM, ENOMEM},
  };
  for (const auto& [mpi, system] : known) {
    if (error_class == mpi) return system;
  }
  return EIO;
}

class MpiFile : public exchange::OutputFile {
 public:
  MpiFile(exchange::Communicator& comm, std::filesystem::path path, std::size_t piece)
      : comm_(comm), path_(std::move(path)), piece_(piece) {
    exchange::open_together(comm_, path_, [this](bool create) { return open(create); });
  }
  ~MpiFile() override {
    if (file_ != MPI_FILE_NULL) MPI_File_close(&file_);
  }
  MpiFile(const MpiFile&) = delete;
  MpiFile& operator=(const MpiFile&) = delete;

  void write_at(std::uint64_t offset, std::span<const std::byte> data) override {
    while (!data.empty()) {
      const std::span<const std::byte> piece = data.first(std::min(data.size(), piece_));
      MPI_Status status;
      const int failed = errno_of(MPI_File_write_at(file_, static_cast<MPI_Offset>(offset), piece.data(),
                                                    static_cast<int>(piece.size()), MPI_BYTE, &status));
      int written = 0;
      if (failed == 0) MPI_Get_count(&status, MPI_BYTE, &written);
      if (written <= 0) written = write_plainly(offset, piece);
      data = data.subspan(static_cast<std::size_t>(written));
      offset += static_cast<std::uint64_t>(written);
    }
  }

  void close() override {
    const int failed = errno_of(MPI_File_close(&file_));
    throw_if(static_cast<int>(comm_.all_max(static_cast<std::uint64_t>(failed))));
  }

 private:
  int open(bool create) {
    // The system says why a file cannot be created; MPI-IO would not. Nor can it be kept from following
    // links: so it opens what is open already.
    plain_ = create ? files::create_exclusively(path_) : files::open_created(path_);
    if (!plain_.good()) return errno;
    const std::string opened = "/proc/self/fd/" + std::to_string(plain_.get());
    const bool reachable = ::access(opened.c_str(), W_OK) == 0;
    const int failed = errno_of(MPI_File_open(MPI_COMM_SELF, reachable ? opened.c_str() : path_.c_str(),
                                              MPI_MODE_WRONLY, MPI_INFO_NULL, &file_));
    if (failed != 0) file_ = MPI_FILE_NULL;
    return failed;
  }

  /// Where MPI-IO could not write it says little more than "I/O error": the system, asked for the same, gives
  /// the reason. Returns the bytes written, should it succeed.
  int write_plainly(std::uint64_t offset, std::span<const std::byte> piece) const {
    const ssize_t written = ::pwrite(plain_.get(), piece.data(), piece.size(), static_cast<off_t>(offset));
    throw_if(written > 0 ? 0 : written < 0 ? errno : ENOSPC);
    return static_cast<int>(written);
  }

  void throw_if(int error) const {
    if (error != 0) throw files::WriteFailure(path_, error);
  }

  exchange::Communicator& comm_;
  std::filesystem::path path_;
  std::size_t piece_;
  files::Descriptor plain_;
  MPI_File file_ = MPI_FILE_NULL;
};

}  // namespace

std::unique_ptr<exchange::OutputFile> create_mpi_file(exchange::Communicator& comm,
                                                      const std::filesystem::path& path, std::size_t piece) {
  return std::make_unique<MpiFile>(comm, path, piece);
}

}  // namespace culprit::prof_mpi
