// Decides who may read a result: those who may read all files that went into it, and search their
// directories, by the bits of permission. A file that not everybody may read takes others' rights away; the
// group keeps its rights only if all such files are of the result's group and let it read. Files that an
// input names are opened directory by directory, without following links once the path is resolved, so that
// the file that was judged is the one that is read.
#include "files/readership.hpp"

#include "files/named_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace culprit::files {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kRead = 4, kSearch = 1;
constexpr unsigned kOwner = 6, kGroup = 3, kOthers = 0;  // where the bits of each class begin

bool allows(const struct stat& file, unsigned who, mode_t wanted) {
  return (file.st_mode >> who & wanted) == wanted;
}

std::set<gid_t> groups_of(uid_t user) {
  std::array<char, 4096> text{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(user, &entry, text.data(), text.size(), &found) != 0 || found == nullptr) return {};
  constexpr int kMost = 1024;
  std::vector<gid_t> groups(kMost);
  int count = kMost;
  if (::getgrouplist(entry.pw_name, entry.pw_gid, groups.data(), &count) < 0) return {};
  groups.resize(static_cast<std::size_t>(count));
  return {groups.begin(), groups.end()};
}

bool has_access_list(const fs::path& path) {
  return ::getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

/// Whether all who reach `below` come through `directory`.
bool leads_to(const fs::path& directory, const fs::path& below) {
  const auto end = std::ranges::mismatch(directory, below).in1;
  return end == directory.end();
}

/// Of `path`, all but the file itself, from the root on.
std::vector<fs::path> directories_of(const fs::path& path) {
  std::vector<fs::path> all;
  for (fs::path at = path.parent_path(); at != at.parent_path(); at = at.parent_path()) all.push_back(at);
  all.push_back(path.root_path());
  std::ranges::reverse(all);
  return all;
}

std::error_code last_error() {
  return {errno, std::generic_category()};
}

}  // namespace

Reader::Reader(uid_t user) : user_(user) {
  if (!is_this_user()) groups_ = groups_of(user);
}

bool Reader::is_this_user() const {
  return user_ == ::geteuid();
}

bool Reader::may(const struct stat& file, mode_t wanted) const {
  if (is_this_user() || user_ == 0) return true;
  const unsigned who = file.st_uid == user_ ? kOwner : groups_.contains(file.st_gid) ? kGroup : kOthers;
  return allows(file, who, wanted);
}

void Readership::restrict_to(const struct stat& file, mode_t wanted) {
  const bool group = allows(file, kGroup, wanted);
  if (group && allows(file, kOthers, wanted)) return;
  others_ = false;
  a_group_ = a_group_ && group;
  groups_.insert(file.st_gid);
}

void Readership::restrict_to(const fs::path& file, const fs::path& shared) {
  std::error_code error;
  const fs::path path = fs::canonical(file, error);
  struct stat status {};
  if (error || ::stat(path.c_str(), &status) != 0) return;
  restrict_to(status, kRead);
  for (const fs::path& directory : directories_of(path)) {
    if (!leads_to(directory, shared) && ::stat(directory.c_str(), &status) == 0) restrict_to(status, kSearch);
  }
}

void Readership::restrict_to(const Readership& other) {
  others_ = others_ && other.others_;
  a_group_ = a_group_ && other.a_group_;
  groups_.insert(other.groups_.begin(), other.groups_.end());
}

mode_t Readership::mode(mode_t mode, int descriptor) const {
  if (others_) return mode;
  struct stat status {};
  const bool group = a_group_ && ::fstat(descriptor, &status) == 0 && groups_ == std::set{status.st_gid};
  return mode & (group ? S_IRWXU | S_IRWXG : S_IRWXU);
}

Descriptor open_for(const std::vector<Reader>& readers, const fs::path& path, const fs::path& shared,
                    std::uint64_t limit, Readership& readership, std::error_code& error) {
  const fs::path resolved = fs::canonical(path, error);
  if (error) return Descriptor();
  const auto refused = [&](const struct stat& file, const fs::path& name, mode_t wanted) {
    return !std::ranges::all_of(readers, [&](const Reader& reader) {
      return reader.is_this_user() || (reader.may(file, wanted) && !has_access_list(name));
    });
  };
  Readership own;
  Descriptor at;
  struct stat status {};
  for (const fs::path& directory : directories_of(resolved)) {
    const fs::path name = at.good() ? directory.filename() : directory;
    at = Descriptor(::openat(at.good() ? at.get() : AT_FDCWD, name.c_str(),
                             O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!at.good() || ::fstat(at.get(), &status) != 0) return error = last_error(), Descriptor();
    if (refused(status, directory, kSearch))
      return error = std::make_error_code(std::errc::permission_denied), Descriptor();
    if (!leads_to(directory, shared)) own.restrict_to(status, kSearch);
  }
  const fs::path name = resolved.filename();
  if (::fstatat(at.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return error = last_error(), Descriptor();
  if ((error = judge_named(status, limit))) return Descriptor();
  Descriptor file(
      ::openat(at.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.good() || ::fstat(file.get(), &status) != 0) return error = last_error(), Descriptor();
  if ((error = judge_named(status, limit))) return Descriptor();
  if (refused(status, resolved, kRead))
    return error = std::make_error_code(std::errc::permission_denied), Descriptor();
  own.restrict_to(status, kRead);
  readership.restrict_to(own);
  return file;
}

}  // namespace culprit::files
