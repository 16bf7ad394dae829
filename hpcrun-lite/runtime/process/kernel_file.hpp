#pragma once

#include "runtime/system/system_calls.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fcntl.h>

// Short texts of the kernel: files below /proc and /sys. Nothing allocates, nor asks for the locale, which
// the flusher thread has none of; not for a handler.
namespace culprit::runtime {

/// The beginning of a file, as a string; empty where it cannot be read.
inline const char* beginning_of(const char* path, char* text, std::size_t size) {
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
template <std::size_t Size>
const char* beginning_of(const char* path, char (&text)[Size]) {
  return beginning_of(path, text, Size);
}

/// The decimal number at `at`, behind blanks; 0 where there is none. `at` is then behind it.
inline std::uint64_t next_number(const char*& at) {
  while (*at == ' ' || *at == '\t') ++at;
  std::uint64_t number = 0;
  for (; *at >= '0' && *at <= '9'; ++at) number = number * 10 + static_cast<std::uint64_t>(*at - '0');
  return number;
}

/// The number behind the first `label` in `text`; 0 where there is none.
inline std::uint64_t number_behind(const char* text, const char* label) {
  const char* at = strstr(text, label);
  if (at == nullptr) return 0;
  at += strlen(label);
  return next_number(at);
}

}  // namespace culprit::runtime
