#pragma once

#include "files/named_file.hpp"

#include <cstdint>
#include <filesystem>
#include <set>
#include <system_error>
#include <vector>

#include <sys/stat.h>
#include <sys/types.h>

namespace culprit::files {

/// Somebody for whom files are read: the user who measured. Where this process runs for somebody else (root,
/// or a colleague, merges), he gets only what permissions give him; what access control lists say counts for
/// nothing.
class Reader {
 public:
  /// A user, with the groups that he is in by now.
  explicit Reader(uid_t user);

  /// Whether this process runs for him, so that the system says what he may.
  [[nodiscard]] bool is_this_user() const;
  /// `wanted`: bits of one class of permissions (4 read, 1 search).
  [[nodiscard]] bool may(const struct stat& file, mode_t wanted) const;

 private:
  uid_t user_;
  std::set<gid_t> groups_;
};

/// Who may read all of some files, beside their owners.
class Readership {
 public:
  /// `wanted`: bits of one class of permissions that reading takes (4 read, 1 search).
  void restrict_to(const struct stat& file, mode_t wanted);
  /// A file, by its path: with the directories that lead to it, but those that lead to `shared` as well: who
  /// finds the result there comes through these.
  void restrict_to(const std::filesystem::path& file, const std::filesystem::path& shared);

  void restrict_to(const Readership& other);

  /// `mode` without what would let those read who may not read all the files. `descriptor`: of the file that
  /// gets the mode; its group counts.
  [[nodiscard]] mode_t mode(mode_t mode, int descriptor) const;

 private:
  bool others_ = true;   ///< everybody
  bool a_group_ = true;  ///< else, who is in all of groups_
  std::set<gid_t> groups_;
};

/// Opens a file that an input names for whom it is read. Goes through its directories one after the other and
/// follows no link once the path is resolved, so that what is judged is what is opened. As open_named(), and
/// permission_denied where one of `readers` may not read it. `readership` is restricted to the file's.
Descriptor open_for(const std::vector<Reader>& readers, const std::filesystem::path& path,
                    const std::filesystem::path& shared, std::uint64_t limit, Readership& readership,
                    std::error_code& error);

}  // namespace culprit::files
