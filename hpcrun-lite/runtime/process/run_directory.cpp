#include "runtime/process/run_directory.hpp"

#include "measurement/write_signals.hpp"
#include "runtime/system/system_calls.hpp"
#include "runtime/system/text.hpp"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace culprit::runtime {
namespace {

int write_whole(const char* path, const char* run_id) {
  const measurement::WriteSignals signals;
  const int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) return errno;
  Text<256> text;
  text.add(R"({"format": "culprit-run", "version": 1, "run_id": ")").add(run_id).add("\"}\n");
  const long written = system_call(SYS_write, descriptor, word(text.c_str()), static_cast<long>(text.size()));
  const long failed = system_call(SYS_close, descriptor);
  if (written == static_cast<long>(text.size()) && failed == 0) return 0;
  return written < 0 ? static_cast<int>(-written) : failed < 0 ? static_cast<int>(-failed) : ENOSPC;
}

}  // namespace

int write_marker(const char* path, const char* run_id) {
  // Written under a name of its own and linked into place: whoever sees the marker sees all of it.
  Text<4400> own;
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  own.add(path).add(".").add(host).add("-").number(static_cast<std::uint64_t>(thread_id()));
  unlink(own.c_str());
  int error = write_whole(own.c_str(), run_id);
  if (error != 0) {
    unlink(own.c_str());
    return error;
  }
  if (link(own.c_str(), path) != 0) error = errno;
  unlink(own.c_str());
  if (error == EPERM || error == EOPNOTSUPP || error == ENOSYS)
    return write_whole(path, run_id);  // no hard links here
  return error;
}

}  // namespace culprit::runtime
