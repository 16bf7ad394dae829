// Packs numbers in runs of 128 (docs/formats.md, "Packed numbers"): differences to the run's smallest number
// in a fixed number of bits, and, as exceptions, the rest of those that need more. The scheme is known as
// patched frame of reference (Zukowski, Héman, Nes, Boncz: Super-Scalar RAM-CPU Cache Compression, ICDE
// 2006). Of all widths the one is taken that makes the run shortest, found in one pass over counts per width.
// Cost: linear.
#include "database/packed.hpp"

#include <algorithm>
#include <array>

namespace culprit::database {
namespace {

constexpr std::size_t kRun = 128;  // an exception's place fits into a byte
constexpr std::size_t kShort = 4;  // below: a run's head would cost more than it saves
constexpr unsigned kWidest = 64;
constexpr std::size_t kOverread = 8;  // what unpacking may look at behind the last bit

std::size_t packed_size(std::size_t count, unsigned width) {
  return (count * width + 7) / 8;
}

constexpr std::uint64_t low_bits(unsigned width) {
  return width >= kWidest ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

/// A run as it will be written: differences to the smallest number, and how many bits they need.
struct Differences {
  std::array<std::uint64_t, kRun> of;  // NOLINT(cppcoreguidelines-pro-type-member-init): up to `count`
  std::array<std::uint8_t, kWidest + 1> of_width{};  ///< how many need this many bits
  std::uint64_t base = 0;
  unsigned widest = 0;
  std::size_t count = 0;

  explicit Differences(std::span<const std::uint64_t> values) : count(values.size()) {
    const std::size_t n = count;  // what is written here cannot be it
    std::uint64_t even = values[0];
    std::uint64_t odd = values[0];
    for (std::size_t i = 0; i + 1 < n; i += 2) {
      even = std::min(even, values[i]);
      odd = std::min(odd, values[i + 1]);
    }
    const std::uint64_t least = std::min({even, odd, values[n - 1]});
    std::uint64_t any = 0;
    for (std::size_t i = 0; i < n; ++i) {
      of[i] = values[i] - least;
      any |= of[i];
    }
    base = least;
    widest = bits_of(any);
    if (widest != 0) count_widths();
  }

 private:
  /// In four parts: many need equally many bits, and would wait for each other's count.
  void count_widths() {
    constexpr std::size_t kParts = 4;
    std::array<std::array<std::uint8_t, kWidest + 1>, kParts> parts{};
    const std::size_t n = count;
    std::size_t i = 0;
    for (; i + kParts <= n; i += kParts) {
      for (std::size_t part = 0; part < kParts; ++part) ++parts[part][bits_of(of[i + part])];
    }
    for (; i < n; ++i) ++parts[0][bits_of(of[i])];
    for (unsigned w = 0; w <= kWidest; ++w)
      of_width[w] = static_cast<std::uint8_t>(parts[0][w] + parts[1][w] + parts[2][w] + parts[3][w]);
  }
};

/// The width at which packed bits and exceptions together are shortest; the number of exceptions.
unsigned best_width(const Differences& run, unsigned& exceptions) {
  const std::size_t all = packed_size(run.count, run.widest);
  std::size_t best = all;
  unsigned width = run.widest;
  exceptions = 0;
  constexpr unsigned kGroup = 7;  // bits of a varint's byte
  // Per width, how many need more bits, and the bytes of varints of what does not fit: one for every seven
  // bits.
  std::uint32_t over = 0;
  std::array<std::uint32_t, kWidest + kGroup + 1> rest;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::fill_n(&rest[run.widest], kGroup, 0U);
  for (unsigned w = run.widest; w-- > 0;) {
    over += run.of_width[w + 1];
    rest[w] = over + rest[w + kGroup];
    // An exception costs its place and at least a byte: narrower widths can only have more of them.
    if (2 * std::size_t{over} > best) break;
    const std::size_t size = packed_size(run.count, w) + over + rest[w];
    if (size < all && size <= best) {
      best = size;
      width = w;
      exceptions = over;
    }
  }
  return width;
}

/// Joins neighbours to numbers of twice as many bits, as long as these fit well into a word; the last one may
/// get zeros for a neighbour.
void join(std::array<std::uint64_t, kRun>& numbers, std::size_t& count, unsigned& width) {
  constexpr unsigned kWide = 28;
  for (; width <= kWide && count > 1; width *= 2) {
    if (count % 2 != 0) numbers[count++] = 0;
    count /= 2;
    for (std::size_t i = 0; i < count; ++i) numbers[i] = numbers[2 * i] | numbers[2 * i + 1] << width;
  }
}

/// What a run takes at most, and what writing it may touch behind it.
constexpr std::size_t kMostOfVarint = 10;
constexpr std::size_t kMostOfRun = kMostOfVarint + 2 + kRun * (8 + 1 + kMostOfVarint) + 2 * kOverread;

std::byte* put_varint(std::uint64_t value, std::byte* to) {
  bytes::write_varint(value, [&to](unsigned char byte) { *to++ = static_cast<std::byte>(byte); });
  return to;
}

std::byte* put_bits(const Differences& run, unsigned width, std::byte* to) {
  std::byte* const end = to + packed_size(run.count, width);
  std::array<std::uint64_t, kRun> numbers;  // NOLINT(cppcoreguidelines-pro-type-member-init): up to `count`
  std::size_t count = run.count;
  const std::uint64_t mask = low_bits(width);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = run.of[i] & mask;
  join(numbers, count, width);
  std::uint64_t word = 0;
  unsigned filled = 0;
  for (std::size_t i = 0; i < count; ++i) {
    word |= numbers[i] << filled;
    filled += width;
    if (filled >= kWidest) {
      std::memcpy(to, &word, sizeof word);
      to += sizeof word;
      filled -= kWidest;
      // The highest `filled` bits did not fit. (In two steps: all of them may have.)
      word = numbers[i] >> 1 >> (width - filled - 1);
    }
  }
  std::memcpy(to, &word, sizeof word);
  return end;
}

std::byte* put_exceptions(const Differences& run, unsigned width, std::byte* to) {
  // Which they are nobody could predict: they are listed without a branch.
  std::array<std::uint8_t, kRun + 1> places;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::size_t count = 0;
  const std::uint64_t most = low_bits(width);
  for (std::size_t i = 0; i < run.count; ++i) {
    places[count] = static_cast<std::uint8_t>(i);
    count += run.of[i] > most ? 1 : 0;
  }
  for (std::size_t e = 0; e < count; ++e) {
    *to++ = static_cast<std::byte>(places[e]);
    to = put_varint(run.of[places[e]] >> width, to);
  }
  return to;
}

void put_run(std::span<const std::uint64_t> values, Encoder& into) {
  if (values.size() < kShort) {
    for (const std::uint64_t value : values) into.put_varint(value);
    return;
  }
  const Differences run(values);
  unsigned exceptions = 0;
  const unsigned width = best_width(run, exceptions);
  std::array<std::byte, kMostOfRun> bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init): up to `to`
  std::byte* to = put_varint(run.base, bytes.data());
  *to++ = static_cast<std::byte>(width);
  *to++ = static_cast<std::byte>(exceptions);
  if (width > 0) to = put_bits(run, width, to);
  if (exceptions > 0) to = put_exceptions(run, width, to);
  into.append({bytes.data(), to});
}

void get_bits(Decoder& from, std::size_t count, std::uint64_t base, unsigned width, std::uint64_t* values) {
  std::array<std::byte, kRun * 8 + 2 * kOverread> buffer;
  const ByteSpan packed = from.take(packed_size(count, width));
  std::memcpy(buffer.data(), packed.data(), packed.size());
  std::memset(buffer.data() + packed.size(), 0, 2 * kOverread);
  const std::uint64_t mask = low_bits(width);
  std::size_t bit = 0;
  for (std::size_t i = 0; i < count; ++i, bit += width) {
    std::uint64_t word = 0;
    std::memcpy(&word, &buffer[bit / 8], sizeof word);
    const auto shift = static_cast<unsigned>(bit % 8);
    word >>= shift;
    if (shift + width > kWidest) {
      word |= static_cast<std::uint64_t>(buffer[bit / 8 + sizeof word]) << (kWidest - shift);
    }
    values[i] = base + (word & mask);
  }
}

/// Head of a run.
struct Run {
  std::uint64_t base = 0;
  unsigned width = 0, exceptions = 0;
};

Run get_head(Decoder& from, std::size_t count) {
  Run run;
  run.base = from.get_varint();
  run.width = from.get<std::uint8_t>();
  run.exceptions = from.get<std::uint8_t>();
  if (run.width > kWidest || run.exceptions > count) from.fail("holds a run of numbers that is none");
  return run;
}

void get_run(Decoder& from, std::size_t count, std::uint64_t* values) {
  if (count < kShort) {
    for (std::size_t i = 0; i < count; ++i) values[i] = from.get_varint();
    return;
  }
  const Run run = get_head(from, count);
  if (run.width > 0) {
    get_bits(from, count, run.base, run.width, values);
  } else {
    std::fill_n(values, count, run.base);
  }
  for (unsigned e = 0; e < run.exceptions; ++e) {
    const auto at = from.get<std::uint8_t>();
    const std::uint64_t rest = from.get_varint();
    if (at >= count || run.width >= kWidest) from.fail("holds a run of numbers that is none");
    values[at] += rest << run.width;
  }
}

}  // namespace

void put_packed(std::span<const std::uint64_t> values, Encoder& into) {
  for (; !values.empty(); values = values.subspan(std::min(kRun, values.size()))) {
    put_run(values.first(std::min(kRun, values.size())), into);
  }
}

void get_packed(Decoder& from, std::size_t count, std::vector<std::uint64_t>& values) {
  values.resize(count);
  for (std::size_t at = 0; at < count; at += kRun) {
    get_run(from, std::min(kRun, count - at), values.data() + at);
  }
}

void skip_packed(Decoder& from, std::size_t count) {
  for (std::size_t at = 0; at < count; at += kRun) {
    const std::size_t in_run = std::min(kRun, count - at);
    if (in_run < kShort) {
      for (std::size_t i = 0; i < in_run; ++i) (void)from.get_varint();
      continue;
    }
    const Run run = get_head(from, in_run);
    (void)from.take(packed_size(in_run, run.width));
    for (unsigned e = 0; e < run.exceptions; ++e) {
      (void)from.get<std::uint8_t>();
      (void)from.get_varint();
    }
  }
}

}  // namespace culprit::database
