#include "exchange/shared_file.hpp"

#include "files/new_file.hpp"
#include "files/write_failure.hpp"

#include <cerrno>
#include <utility>

#include <sys/types.h>
#include <unistd.h>

namespace culprit::exchange {
namespace {

class SharedFile : public OutputFile {
 public:
  SharedFile(Communicator& comm, std::filesystem::path path) : comm_(comm), path_(std::move(path)) {
    open_together(comm_, path_, [this](bool create) {
      descriptor_ = create ? files::create_exclusively(path_) : files::open_created(path_);
      return descriptor_.good() ? 0 : errno;
    });
  }

  void write_at(std::uint64_t offset, std::span<const std::byte> data) override {
    while (!data.empty()) {
      const ssize_t written =
          ::pwrite(descriptor_.get(), data.data(), data.size(), static_cast<off_t>(offset));
      if (written < 0) {
        if (errno == EINTR) continue;
        throw files::WriteFailure(path_, errno);
      }
      data = data.subspan(static_cast<std::size_t>(written));
      offset += static_cast<std::uint64_t>(written);
    }
  }

  void close() override {
    // Network file systems report a failed write-back here at the latest.
    const int failed = descriptor_.good() && ::close(descriptor_.release()) != 0 ? errno : 0;
    const auto worst = static_cast<int>(comm_.all_max(static_cast<std::uint64_t>(failed)));
    if (worst != 0) throw files::WriteFailure(path_, worst);
  }

 private:
  Communicator& comm_;
  std::filesystem::path path_;
  files::Descriptor descriptor_;
};

}  // namespace

void open_together(Communicator& comm, const std::filesystem::path& path,
                   const std::function<int(bool create)>& open) {
  const auto agree = [&](int failed) {
    const auto worst = static_cast<int>(comm.all_max(static_cast<std::uint64_t>(failed)));
    if (worst != 0) throw files::WriteFailure(path, worst);
  };
  agree(comm.rank() == 0 ? open(true) : 0);
  agree(comm.rank() == 0 ? 0 : open(false));
}

std::unique_ptr<OutputFile> create_shared_file(Communicator& comm, const std::filesystem::path& path) {
  return std::make_unique<SharedFile>(comm, path);
}

}  // namespace culprit::exchange
