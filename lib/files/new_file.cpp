#include "files/new_file.hpp"

#include "files/write_failure.hpp"

#include <cerrno>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

namespace culprit::files {

mode_t mask_of_modes() noexcept {
  // Asking means setting it: to what is more private, for an instant.
  static const mode_t mask = [] {
    const mode_t was = ::umask(S_IRWXG | S_IRWXO);
    ::umask(was);
    return was;
  }();
  return mask;
}

std::filesystem::path unforeseen_name_beside(const std::filesystem::path& target) {
  constexpr std::size_t kLongest = 200;  // of a name: file systems allow 255 bytes, with all that is added
  std::random_device random;
  const std::string name = target.filename().string().substr(0, kLongest);
  return target.parent_path() / fmt::format(".{}.{:08x}{:08x}.tmp", name, random(), random());
}

Descriptor create_exclusively(const std::filesystem::path& path) noexcept {
  return Descriptor(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
}

Descriptor open_created(const std::filesystem::path& path) noexcept {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.good()) return file;
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return Descriptor();
  if (S_ISREG(status.st_mode) && status.st_nlink == 1 && status.st_uid == ::geteuid()) return file;
  errno = EEXIST;
  return Descriptor();
}

int allow(int descriptor, mode_t mode) noexcept {
  return ::fchmod(descriptor, mode & ~mask_of_modes()) == 0 ? 0 : errno;
}

NewFile::NewFile(std::filesystem::path target)
    : target_(std::move(target)),
      path_(unforeseen_name_beside(target_)),
      file_(create_exclusively(path_)),
      unfinished_(path_) {
  if (!file_.good()) {
    const int error = errno;
    unfinished_.done();
    fail(error);
  }
}

NewFile::~NewFile() {
  if (!finished_) ::unlink(path_.c_str());
}

void NewFile::fail(int error) const {
  throw WriteFailure(target_, error);
}

void NewFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void NewFile::finish(const Readership& readers) {
  constexpr mode_t kAll = 0666;
  (void)allow(file_.get(),
              readers.mode(kAll, file_.get()));  // where there are no permissions, it stays as it is
  // Network file systems report a failed write-back here at the latest.
  if (::close(file_.release()) != 0) fail(errno);
  if (::rename(path_.c_str(), target_.c_str()) != 0) fail(errno);
  finished_ = true;
  unfinished_.done();
}

}  // namespace culprit::files
