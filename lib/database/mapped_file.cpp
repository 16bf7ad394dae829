#include "database/mapped_file.hpp"

#include "database/database_error.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace culprit::database {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
  throw DatabaseError(path, std::generic_category().message(error));
}

ByteSpan map(const std::filesystem::path& path, int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) fail(path, errno);
  if (!S_ISREG(status.st_mode))
    throw DatabaseError(path, "not a regular file (name a database that prof-mpi wrote)");
  if (status.st_size == 0) return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) fail(path, errno);
  return {static_cast<const std::byte*>(address), size};
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) fail(path, errno);
  try {
    bytes_ = map(path, descriptor);
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  ::close(descriptor);
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::release() const {
  if (bytes_.empty()) return;
  // Private and never written to: pages that are given back come from the file again. If it fails they stay.
  (void)::madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_DONTNEED);
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace culprit::database
