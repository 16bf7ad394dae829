#pragma once

#include "files/at_death.hpp"
#include "files/readership.hpp"

#include <filesystem>

namespace culprit::files {

/// A directory of files that takes its name when it is complete, which nothing may have by then. Until then
/// it has a name of its own beside that, is its owner's alone, and is removed with this object, or when the
/// process dies. Errors are WriteFailure, of the target.
class NewDirectory {
 public:
  explicit NewDirectory(std::filesystem::path target);
  ~NewDirectory();
  NewDirectory(const NewDirectory&) = delete;
  NewDirectory& operator=(const NewDirectory&) = delete;

  /// Where its files are to be made.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// For those to read who may read what went into it, as far as the process's mask of modes allows.
  void finish(const Readership& readers = {});

 private:
  [[noreturn]] void fail(int error) const;
  void allow_all(const Readership& readers) const;

  std::filesystem::path target_, path_;
  Unfinished unfinished_;
  bool finished_ = false;
};

}  // namespace culprit::files
