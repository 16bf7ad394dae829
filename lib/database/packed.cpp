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

/// The width at which packed bits and exceptions together are shortest.
unsigned best_width(std::span<const std::uint64_t> values, std::uint64_t base) {
  std::array<std::uint32_t, kWidest + 1> of_width{};
  for (const std::uint64_t value : values) ++of_width[bits_of(value - base)];
  unsigned widest = kWidest;
  while (widest > 0 && of_width[widest] == 0) --widest;
  std::size_t best = packed_size(values.size(), widest);
  unsigned width = widest;
  // An exception costs its place and a varint of what does not fit.
  for (unsigned w = 0; w < widest; ++w) {
    std::size_t size = packed_size(values.size(), w);
    for (unsigned over = w + 1; over <= widest && size < best; ++over) {
      size += of_width[over] * (1 + (over - w + 6) / 7);
    }
    if (size < best) {
      best = size;
      width = w;
    }
  }
  return width;
}

constexpr std::uint64_t low_bits(unsigned width) {
  return width >= kWidest ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

void put_bits(std::span<const std::uint64_t> values, std::uint64_t base, unsigned width, Encoder& into) {
  std::array<std::byte, kRun * 8 + 2 * kOverread> buffer{};
  std::uint64_t word = 0;
  unsigned filled = 0;
  std::size_t at = 0;
  const std::uint64_t mask = low_bits(width);
  for (const std::uint64_t value : values) {
    const std::uint64_t bits = (value - base) & mask;
    word |= bits << filled;
    filled += width;
    if (filled >= kWidest) {
      std::memcpy(&buffer[at], &word, sizeof word);
      at += sizeof word;
      filled -= kWidest;
      // Of `bits`, the highest `filled` ones did not fit.
      word = filled == 0 ? 0 : bits >> (width - filled);
    }
  }
  std::memcpy(&buffer[at], &word, sizeof word);
  into.append(ByteSpan(buffer).first(packed_size(values.size(), width)));
}

void put_run(std::span<const std::uint64_t> values, Encoder& into) {
  if (values.size() < kShort) {
    for (const std::uint64_t value : values) into.put_varint(value);
    return;
  }
  const std::uint64_t base = *std::ranges::min_element(values);
  const unsigned width = best_width(values, base);
  const auto exceeds = [&](std::uint64_t value) { return bits_of(value - base) > width; };
  into.put_varint(base);
  into.put(static_cast<std::uint8_t>(width));
  into.put(static_cast<std::uint8_t>(std::ranges::count_if(values, exceeds)));
  if (width > 0) put_bits(values, base, width, into);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!exceeds(values[i])) continue;
    into.put(static_cast<std::uint8_t>(i));
    into.put_varint((values[i] - base) >> width);
  }
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
