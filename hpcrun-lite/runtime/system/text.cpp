#include "runtime/system/text.hpp"

#include "measurement/write_signals.hpp"
#include "runtime/system/system_calls.hpp"

#include <unistd.h>

namespace culprit::runtime {
namespace {

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

void say(const char* line, std::size_t length) {
  // Standard error may be a pipe without a reader, or a file at its size limit.
  const measurement::WriteSignals signals;
  Spelled spelled;
  print::spell(line, length, [&spelled](char c) { spelled.put(c); });
  spelled.put('\n');
  spelled.write();
}

}  // namespace culprit::runtime
