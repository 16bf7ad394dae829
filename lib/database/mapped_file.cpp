#include "database/mapped_file.hpp"

#include "database/database_error.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace culprit::database {

MappedFile::MappedFile(const std::filesystem::path& path, bool growing) {
  files::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!file.good() || ::fstat(file.get(), &status) != 0)
    throw DatabaseError(path, std::generic_category().message(errno));
  if (!S_ISREG(status.st_mode))
    throw DatabaseError(path, "not a regular file (name a database that prof-mpi wrote)");
  if (status.st_size == 0) return;
  try {
    mapping_ = std::make_unique<files::WatchedMapping>(path, std::move(file), growing);
  } catch (const std::system_error& error) {
    throw DatabaseError(path, error.code().message());
  }
}

void MappedFile::release() const {
  const ByteSpan all = bytes();
  if (all.empty()) return;
  // Private and never written to: pages that are given back come from the file again. If it fails they stay.
  (void)::madvise(const_cast<std::byte*>(all.data()), all.size(), MADV_DONTNEED);
}

}  // namespace culprit::database
