#include "measurement/decoder.hpp"

#include "measurement/reading.hpp"

namespace culprit::measurement {

std::uint64_t Decoder::slow_varint() {
  constexpr unsigned kLastShift = 63;
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift <= kLastShift; shift += 7) {
    if (at_ == end_) fail("ends early");
    const std::uint64_t next = *at_++;
    if (shift == kLastShift && next > 1) break;
    value |= (next & 0x7f) << shift;
    if (next < 0x80) return value;
  }
  fail("holds a number out of range");
}

void Decoder::fail(const char* what) const {
  throw damaged(*path_, std::string(section_) + " " + what);
}

}  // namespace culprit::measurement
