#include "files/write_failure.hpp"

#include <cerrno>

#include <fmt/format.h>
#include <sys/resource.h>

namespace culprit::files {
namespace {

std::string what_to_do(int error) {
  switch (error) {
    case EFBIG: {
      rlimit limit{};
      if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return "the file system takes no file so large: name another place with -o";
      return fmt::format("the limit on file sizes is {} bytes: raise it with ulimit -f", limit.rlim_cur);
    }
    case ENOSPC:
    case EDQUOT:
      return "make room there, or name another place with -o";
    case EMFILE:
      return "raise the limit on open files with ulimit -n";
    case EEXIST:
      return "somebody else writes there at the same time: try again, or name another place with -o";
    default:
      return "name another place with -o";
  }
}

}  // namespace

WriteFailure::WriteFailure(const std::filesystem::path& file, int error)
    : std::system_error(error, std::generic_category()),
      why_(fmt::format("{} ({})", std::generic_category().message(error), what_to_do(error))),
      line_(fmt::format("write: {}: {}", file.string(), why_)) {}

}  // namespace culprit::files
