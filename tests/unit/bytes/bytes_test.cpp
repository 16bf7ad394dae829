#include "bytes/reader.hpp"
#include "bytes/writer.hpp"

#include <limits>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

using namespace culprit::bytes;

namespace {

constexpr std::size_t kLongest = 10;  // bytes of a number of 64 bits

struct Count {
  int* failures;
  void operator()(Failure /*why*/) const { ++*failures; }
};

struct Throw {
  [[noreturn]] void operator()(Failure why) const { throw why; }
};

std::vector<std::byte> bytes_of(std::initializer_list<unsigned> values) {
  std::vector<std::byte> bytes;
  for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

std::int64_t signed_number(std::initializer_list<unsigned> values) {
  const std::vector<std::byte> bytes = bytes_of(values);
  Reader in(bytes);
  const std::int64_t number = in.get_signed_varint();
  CHECK(in.good());
  CHECK(in.at_end());
  return number;
}

}  // namespace

TEST_CASE("what was written is read again, and no more") {
  CHECK(rc::check([](const std::vector<std::uint64_t>& numbers, const std::string& text) {
    Writer out;
    for (const std::uint64_t number : numbers) {
      const std::uint64_t any_length = number >> (number & 63);
      const std::size_t before = out.size();
      out.put_varint(any_length);
      RC_ASSERT(out.size() - before == varint_size(any_length));
      out.put_varint(zigzag(static_cast<std::int64_t>(number)));
      out.put(number);
    }
    out.put_string(text);
    Reader in(out.bytes());
    for (const std::uint64_t number : numbers) {
      RC_ASSERT(in.get_varint() == number >> (number & 63));
      RC_ASSERT(in.get_zigzag() == static_cast<std::int64_t>(number));
      RC_ASSERT(in.get<std::uint64_t>() == number);
    }
    RC_ASSERT(in.get_string() == text);
    RC_ASSERT(in.good() && in.at_end());
  }));
}

TEST_CASE("numbers next to zero are short, whatever their sign") {
  CHECK(zigzag(0) == 0);
  CHECK(zigzag(-1) == 1);
  CHECK(zigzag(1) == 2);
  CHECK(unzigzag(zigzag(std::numeric_limits<std::int64_t>::min())) ==
        std::numeric_limits<std::int64_t>::min());
  CHECK(varint_size(0) == 1);
  CHECK(varint_size(127) == 1);
  CHECK(varint_size(128) == 2);
  CHECK(varint_size(std::numeric_limits<std::uint64_t>::max()) == kLongest);
}

TEST_CASE("a reader fails once, and gives nothing from then on") {
  const std::vector<std::byte> bytes = bytes_of({1, 2, 0x80});
  int failures = 0;
  Reader<Count> in(bytes, {&failures});
  CHECK(in.get<std::uint16_t>() == 0x201);
  CHECK(in.get_varint() == 0);
  CHECK(failures == 1);
  CHECK_FALSE(in.good());
  CHECK(in.get<std::uint8_t>() == 0);
  CHECK(in.take(1).empty());
  CHECK(in.get_string().empty());
  CHECK(failures == 1);
}

TEST_CASE("a length beyond the end is refused, however large") {
  for (const std::uint64_t length : {std::uint64_t{2}, std::numeric_limits<std::uint64_t>::max()}) {
    Writer out;
    out.put_varint(length);
    out.put(std::uint8_t{7});
    CHECK_THROWS_AS(Reader<Throw>(out.bytes()).get_bytes(), Failure);
  }
}

TEST_CASE("a number of more than 64 bits is refused, one that is cut ends early") {
  std::vector<std::byte> bytes(kLongest, std::byte{0xff});
  for (const unsigned last : {0x02U, 0x7fU, 0x80U}) {
    bytes.back() = static_cast<std::byte>(last);
    CHECK_THROWS_MATCHES(Reader<Throw>(bytes).get_varint(), Failure,
                         Catch::Predicate<Failure>([](Failure why) { return why == Failure::out_of_range; }));
  }
  bytes.back() = std::byte{1};
  CHECK(Reader<Throw>(bytes).get_varint() == std::numeric_limits<std::uint64_t>::max());
  bytes.pop_back();
  CHECK_THROWS_MATCHES(Reader<Throw>(bytes).get_varint(), Failure,
                       Catch::Predicate<Failure>([](Failure why) { return why == Failure::ends_early; }));
}

TEST_CASE("signed numbers of DWARF have their sign in the last group") {  // examples of DWARF 5, figure 23
  CHECK(signed_number({2}) == 2);
  CHECK(signed_number({0x7e}) == -2);
  CHECK(signed_number({0xff, 0}) == 127);
  CHECK(signed_number({0x81, 0x7f}) == -127);
  CHECK(signed_number({0x80, 1}) == 128);
  CHECK(signed_number({0x80, 0x7f}) == -128);
  CHECK(signed_number({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f}) ==
        std::numeric_limits<std::int64_t>::min());
  const std::vector<std::byte> endless(kLongest + 1, std::byte{0x80});
  CHECK_THROWS_AS(Reader<Throw>(endless).get_signed_varint(), Failure);
}
