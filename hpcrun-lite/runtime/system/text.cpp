#include "runtime/system/text.hpp"

#include "measurement/write_signals.hpp"
#include "runtime/system/system_calls.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace culprit::runtime {
namespace {

/// The file that was standard error when the program began. A program may close it, and open its data under
/// its number.
constinit struct {
  bool open;
  dev_t device;
  ino_t inode;
} standard_error{};

bool look_at_standard_error(struct stat& status) {
  return system_call(SYS_fstat, STDERR_FILENO, word(&status)) == 0;
}

bool is_still_standard_error() {
  struct stat status {};
  return standard_error.open && look_at_standard_error(status) && status.st_dev == standard_error.device &&
         status.st_ino == standard_error.inode;
}

/// What is on its way to standard error.
class Spelled {
 public:
  void put(char c) {
    if (size_ == sizeof characters_) write();
    characters_[size_++] = c;
  }
  void write() {
    for (std::size_t done = 0; done < size_;) {
      const long written =
          system_call(SYS_write, STDERR_FILENO, word(characters_ + done), static_cast<long>(size_ - done));
      if (written <= 0) break;
      done += static_cast<std::size_t>(written);
    }
    size_ = 0;
  }

 private:
  char characters_[4096];  // what a pipe takes in one piece
  std::size_t size_ = 0;
};

}  // namespace

void remember_standard_error() {
  struct stat status {};
  standard_error = {.open = look_at_standard_error(status), .device = status.st_dev, .inode = status.st_ino};
}

namespace {

/// Whether standard error takes a line within a second: nobody may read the pipe that it is, and the program
/// is not to hang for a line of ours.
bool takes_a_line() {
  pollfd error{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  const timespec second{.tv_sec = 1, .tv_nsec = 0};
  return system_call(SYS_ppoll, word(&error), 1, word(&second), 0, sizeof(KernelMask)) != 0;
}

}  // namespace

void say(const char* line, std::size_t length) {
  if (!is_still_standard_error() || !takes_a_line()) return;
  // Standard error may be a pipe without a reader, or a file at its size limit.
  const measurement::WriteSignals signals;
  Spelled spelled;
  print::spell(line, length, [&spelled](char c) { spelled.put(c); });
  spelled.put('\n');
  spelled.write();
}

const char* beginning_of(const char* path, char* text, std::size_t size) {
  text[0] = '\0';
  const long file = system_call(SYS_openat, AT_FDCWD, word(path), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  std::size_t got = 0;
  for (long more = 1; more > 0 && got + 1 < size; got += more > 0 ? static_cast<std::size_t>(more) : 0)
    more = system_call(SYS_read, file, word(text + got), static_cast<long>(size - 1 - got));
  text[got] = '\0';
  system_call(SYS_close, file);
  return text;
}

std::uint64_t next_number(const char*& at) {
  while (*at == ' ' || *at == '\t') ++at;
  std::uint64_t number = 0;
  for (; *at >= '0' && *at <= '9'; ++at) number = number * 10 + static_cast<std::uint64_t>(*at - '0');
  return number;
}

std::uint64_t number_behind(const char* text, const char* label) {
  const char* at = strstr(text, label);
  if (at == nullptr) return 0;
  at += strlen(label);
  return next_number(at);
}

}  // namespace culprit::runtime
