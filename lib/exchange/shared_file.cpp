#include "exchange/shared_file.hpp"

#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

namespace culprit::exchange {
namespace {

class SharedFile : public OutputFile {
 public:
  SharedFile(Communicator& comm, std::filesystem::path path) : comm_(comm), path_(std::move(path)) {
    open_together(comm_, path_, [this](bool create) {
      descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | (create ? O_CREAT | O_TRUNC : 0), 0666);
      return descriptor_ < 0 ? errno : 0;
    });
  }
  ~SharedFile() override {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  void write_at(std::uint64_t offset, std::span<const std::byte> data) override {
    while (!data.empty()) {
      const ssize_t written = ::pwrite(descriptor_, data.data(), data.size(), static_cast<off_t>(offset));
      if (written < 0) {
        if (errno == EINTR) continue;
        throw std::system_error(errno, std::generic_category(), path_.string());
      }
      data = data.subspan(static_cast<std::size_t>(written));
      offset += static_cast<std::uint64_t>(written);
    }
  }

  void close() override {
    // Network file systems report a failed write-back here at the latest.
    const int failed = descriptor_ >= 0 && ::close(descriptor_) != 0 ? errno : 0;
    descriptor_ = -1;
    const auto worst = static_cast<int>(comm_.all_max(static_cast<std::uint64_t>(failed)));
    if (worst != 0) throw std::system_error(worst, std::generic_category(), path_.string());
  }

 private:
  Communicator& comm_;
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace

void open_together(Communicator& comm, const std::filesystem::path& path,
                   const std::function<int(bool create)>& open) {
  const auto agree = [&](int failed) {
    const auto worst = static_cast<int>(comm.all_max(static_cast<std::uint64_t>(failed)));
    if (worst != 0) throw std::system_error(worst, std::generic_category(), path.string());
  };
  agree(comm.rank() == 0 ? open(true) : 0);
  agree(comm.rank() == 0 ? 0 : open(false));
}

std::unique_ptr<OutputFile> create_shared_file(Communicator& comm, const std::filesystem::path& path) {
  return std::make_unique<SharedFile>(comm, path);
}

}  // namespace culprit::exchange
