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

std::uint64_t varint_by_bytes(bytes::Reader<ThrowDamaged>& in) {
  return in.get_varint();
}

void fail_decoding(const std::string& path, const char* section, const char* what) {
  throw damaged(path, std::string(section) + " " + what);
}

}  // namespace culprit::measurement
