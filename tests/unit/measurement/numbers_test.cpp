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

/// Up to as many numbers as may be read at once, of all lengths.
std::vector<std::uint64_t> some_numbers() {
  std::vector<std::uint64_t> numbers(*rc::gen::inRange<std::size_t>(1, Decoder::kMostAtOnce + 1));
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
  const auto count = static_cast<unsigned>(numbers.size());
  auto reading = decoder_of<kJoining>(bytes);
  std::vector<std::uint64_t> read(Decoder::kMostAtOnce);
  reading.varints(count, read.data());
  read.resize(count);
  RC_ASSERT(read == numbers);
  RC_ASSERT(reading.remaining() == bytes.size() - size);
  auto skipping = decoder_of<kJoining>(bytes);
  skipping.skip_varints(count);
  RC_ASSERT(skipping.remaining() == bytes.size() - size);
}

template <Joining kJoining>
void expect_refused(const std::vector<std::byte>& bytes, unsigned count) {
  std::uint64_t numbers[Decoder::kMostAtOnce] = {};
  CHECK_THROWS_AS(decoder_of<kJoining>(bytes).varints(count, numbers), MeasurementError);
  CHECK_THROWS_AS(decoder_of<kJoining>(bytes).skip_varints(count), MeasurementError);
}

}  // namespace

TEST_CASE("numbers read at once are those read one by one, wherever the bytes end") {
  CHECK(rc::check([] {
    const std::vector<std::uint64_t> numbers = some_numbers();
    std::vector<std::byte> bytes = encoded(numbers);
    const std::size_t size = bytes.size();
    bytes.resize(size + *rc::gen::inRange<std::size_t>(0, 40), std::byte{0x81});
    expect_numbers<Joining::shifts>(bytes, numbers, size);
    if (has_fast_pext()) expect_numbers<Joining::pext>(bytes, numbers, size);
  }));
}

TEST_CASE("numbers that are passed over are refused as numbers that are read") {
  const std::vector<std::byte> too_long(kLongest, std::byte{0xff});
  for (const std::size_t before : {std::size_t{0}, std::size_t{1}, std::size_t{5}}) {
    std::vector<std::byte> bytes(before, std::byte{1});
    bytes.insert(bytes.end(), too_long.begin(), too_long.end());
    bytes.push_back(std::byte{1});
    bytes.resize(bytes.size() + 40);
    const auto count = static_cast<unsigned>(before + 1);
    expect_refused<Joining::shifts>(bytes, count);
    if (has_fast_pext()) expect_refused<Joining::pext>(bytes, count);
  }
  const std::vector<std::byte> cut = {std::byte{1}, std::byte{0x80}};
  expect_refused<Joining::shifts>(cut, 2);
}

}  // namespace numbers_test
