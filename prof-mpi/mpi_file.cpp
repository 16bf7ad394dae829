#include "mpi_file.hpp"

#include "exchange/shared_file.hpp"
#include "files/new_file.hpp"
#include "files/write_failure.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include <mpi.h>
#include <unistd.h>

namespace culprit::prof_mpi {
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
