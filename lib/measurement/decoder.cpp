#include "measurement/decoder.hpp"

#include "measurement/reading.hpp"

namespace culprit::measurement {

std::uint64_t varint_by_bytes(bytes::Reader<ThrowDamaged>& in) {
  return in.get_varint();
}

void fail_decoding(const std::string& path, const char* section, const char* what) {
  throw damaged(path, std::string(section) + " " + what);
}

}  // namespace culprit::measurement
