#include "measurement/decoder.hpp"

#include "measurement/reading.hpp"

namespace culprit::measurement {

bool has_fast_pext() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && !__builtin_cpu_is("amdfam15h") &&
         !__builtin_cpu_is("amdfam17h");
#else
  return false;
#endif
}

std::uint64_t varint_by_bytes(const unsigned char*& at, const unsigned char* end, const std::string& path,
                              const char* section) {
  constexpr unsigned kLastShift = 63;
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift <= kLastShift; shift += 7) {
    if (at == end) fail_decoding(path, section, "ends early");
    const std::uint64_t next = *at++;
    if (shift == kLastShift && next > 1) break;
    value |= (next & 0x7f) << shift;
    if (next < 0x80) return value;
  }
  fail_decoding(path, section, "holds a number out of range");
}

void fail_decoding(const std::string& path, const char* section, const char* what) {
  throw damaged(path, std::string(section) + " " + what);
}

}  // namespace culprit::measurement
