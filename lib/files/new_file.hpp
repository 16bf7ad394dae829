#pragma once

#include "files/at_death.hpp"
#include "files/named_file.hpp"
#include "files/readership.hpp"

#include <filesystem>
#include <string_view>

#include <sys/types.h>

namespace culprit::files {

/// A name beside `target` for what becomes it when it is complete; nobody can foresee it.
std::filesystem::path unforeseen_name_beside(const std::filesystem::path& target);

/// Creates a file that did not exist, follows no link, and is its owner's alone until allow() says more: so
/// nobody holds it open from before. Returns none and sets errno where that fails.
Descriptor create_exclusively(const std::filesystem::path& path) noexcept;

/// Opens for writing what create_exclusively() made, elsewhere: refuses (errno EEXIST) what somebody put in
/// its place.
Descriptor open_created(const std::filesystem::path& path) noexcept;

/// The process's mask of modes, as it was when somebody first asked.
mode_t mask_of_modes() noexcept;

/// Gives a file the permissions `mode`, as far as the process's mask of modes allows. Returns 0 or an errno.
int allow(int descriptor, mode_t mode) noexcept;

/// A file that takes its name, and the place of an older one, when it is complete. Until then it has a name
/// of its own beside that, and is removed with this object, or when the process dies. Errors are
/// WriteFailure, of the target.
class NewFile {
 public:
  explicit NewFile(std::filesystem::path target);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view bytes);
  [[nodiscard]] int descriptor() const { return file_.get(); }
  /// For those to read who may read what went into it, as far as the process's mask of modes allows.
  void finish(const Readership& readers = {});

 private:
  [[noreturn]] void fail(int error) const;

  std::filesystem::path target_, path_;
  Descriptor file_;
  Unfinished unfinished_;
  bool finished_ = false;
};

}  // namespace culprit::files
