#include "files/new_directory.hpp"

#include "files/new_file.hpp"
#include "files/write_failure.hpp"

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

namespace culprit::files {

NewDirectory::NewDirectory(std::filesystem::path target)
    : target_(std::move(target)), path_(unforeseen_name_beside(target_)), unfinished_(path_) {
  struct stat status {};
  if (::lstat(target_.c_str(), &status) == 0) fail(EEXIST);
  if (::mkdir(path_.c_str(), S_IRWXU) == 0) return;
  const int error = errno;
  unfinished_.done();
  fail(error);
}

NewDirectory::~NewDirectory() {
  std::error_code ignored;
  if (!finished_) std::filesystem::remove_all(path_, ignored);
}

void NewDirectory::fail(int error) const {
  throw WriteFailure(target_, error);
}

/// The directory itself last: until then nobody else reaches what is in it.
void NewDirectory::allow_all(const Readership& readers) const {
  constexpr mode_t kFile = 0666, kDirectory = 0777;
  const auto allow_one = [&](const std::filesystem::path& path, mode_t most) {
    const Descriptor opened(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    // Who may read may search.
    if (!opened.good()) return;
    mode_t mode = readers.mode(most, opened.get());
    if (most == kDirectory && (mode & S_IRGRP) == 0) mode &= ~mode_t{S_IRWXG};
    if (most == kDirectory && (mode & S_IROTH) == 0) mode &= ~mode_t{S_IRWXO};
    (void)allow(opened.get(), mode);
  };
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path_))
    allow_one(entry.path(), entry.is_directory() ? kDirectory : kFile);
  allow_one(path_, kDirectory);
}

void NewDirectory::finish(const Readership& readers) {
  allow_all(readers);
  int error =
      ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) == 0 ? 0 : errno;
  // Some file systems do not know that: there a directory takes the place of an empty one alone.
  if (error == EINVAL || error == ENOSYS) error = ::rename(path_.c_str(), target_.c_str()) == 0 ? 0 : errno;
  if (error != 0) fail(error);
  finished_ = true;
  unfinished_.done();
}

}  // namespace culprit::files
