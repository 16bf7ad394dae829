#include "measurement/decoder.hpp"

#include <algorithm>
#include <vector>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace numbers_test {

using namespace culprit::measurement;

namespace {

constexpr auto kLongest = 10U;  // bytes of a number of 64 bits

std::vector<std::byte> encoded(const std::vector<std::uint64_t>& numbers) {
  std::vector<std::byte> bytes;
  for (std::uint64_t number : numbers) {
    for (; number >= 0x80; number >>= 7) bytes.push_back(static_cast<std::byte>(number | 0x80));
    bytes.push_back(static_cast<std::byte>(number));
  }
  return bytes;
}

/// Numbers of all lengths.
std::vector<std::uint64_t> some_numbers() {
  std::vector<std::uint64_t> numbers(*rc::gen::inRange<std::size_t>(1, 7));
  for (std::uint64_t& number : numbers)
    number = *rc::gen::arbitrary<std::uint64_t>() >> *rc::gen::inRange(0, 64);
  return numbers;
}

template <Joining kJoining>
BasicDecoder<kJoining> decoder_of(const std::vector<std::byte>& bytes) {
  static const std::string path = "numbers";
  return {path, "a section", bytes};
}

/// Numbers at the beginning of bytes are those that were encoded, and end where these ended.
template <Joining kJoining>
void expect_numbers(const std::vector<std::byte>& bytes, const std::vector<std::uint64_t>& numbers,
                    std::size_t size) {
  auto reading = decoder_of<kJoining>(bytes);
  for (const std::uint64_t number : numbers) RC_ASSERT(reading.varint() == number);
  RC_ASSERT(reading.remaining() == bytes.size() - size);
}

/// The number behind `before` of one byte.
template <Joining kJoining>
void expect_refused(const std::vector<std::byte>& bytes, std::size_t before) {
  auto reading = decoder_of<kJoining>(bytes);
  for (std::size_t i = 0; i < before; ++i) CHECK(reading.varint() == 1);
  CHECK_THROWS_AS(reading.varint(), MeasurementError);
}

}  // namespace

TEST_CASE("numbers are those that were encoded, wherever the bytes end") {
  CHECK(rc::check([] {
    const std::vector<std::uint64_t> numbers = some_numbers();
    std::vector<std::byte> bytes = encoded(numbers);
    const std::size_t size = bytes.size();
    bytes.resize(size + *rc::gen::inRange<std::size_t>(0, 40), std::byte{0x81});
    expect_numbers<Joining::shifts>(bytes, numbers, size);
    if (culprit::machine::takes_bits()) expect_numbers<Joining::pext>(bytes, numbers, size);
  }));
}

TEST_CASE("numbers that are too long or cut are refused") {
  const std::vector<std::byte> too_long(kLongest, std::byte{0xff});
  for (const std::size_t before : {std::size_t{0}, std::size_t{1}, std::size_t{5}}) {
    std::vector<std::byte> bytes(before, std::byte{1});
    bytes.insert(bytes.end(), too_long.begin(), too_long.end());
    bytes.push_back(std::byte{1});
    bytes.resize(bytes.size() + 40);
    expect_refused<Joining::shifts>(bytes, before);
    if (culprit::machine::takes_bits()) expect_refused<Joining::pext>(bytes, before);
  }
  expect_refused<Joining::shifts>({std::byte{1}, std::byte{0x80}}, 1);
}

}  // namespace numbers_test
