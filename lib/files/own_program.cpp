#include "files/own_program.hpp"

#include <system_error>

#include <sys/auxv.h>

namespace culprit::files {

std::filesystem::path own_program() {
  std::error_code error;
  std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) return self;
  const auto* const started = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  if (started == nullptr) return {};
  self = std::filesystem::canonical(started, error);
  return error ? std::filesystem::path() : self;
}

}  // namespace culprit::files
