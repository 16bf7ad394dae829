#include "measurement/decoder.hpp"

#include "measurement/reading.hpp"

namespace culprit::measurement {

std::uint64_t Decoder::slow_varint(const unsigned char*& at, const unsigned char* end,
                                   const std::filesystem::path* path, const char* section) {
  constexpr unsigned kLastShift = 63;
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift <= kLastShift; shift += 7) {
    if (at == end) fail(path, section, "ends early");
    const std::uint64_t next = *at++;
    if (shift == kLastShift && next > 1) break;
    value |= (next & 0x7f) << shift;
    if (next < 0x80) return value;
  }
  fail(path, section, "holds a number out of range");
}

void Decoder::fail(const std::filesystem::path* path, const char* section, const char* what) {
  throw damaged(*path, std::string(section) + " " + what);
}

}  // namespace culprit::measurement
