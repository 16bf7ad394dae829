#include "parts.hpp"

#include <algorithm>
#include <utility>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace fuzz {
namespace {

constexpr unsigned kWholeOneIn = 16;  ///< mutations of the whole: what is wrong outside of parts
constexpr unsigned kCopyOneIn = 12;   ///< of a part: it takes the place of another one

Bytes mutate_plain(Bytes bytes, std::size_t most) {
  const std::size_t size = bytes.size();
  bytes.resize(std::max(most, size + 1));
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), size, bytes.size()));
  return bytes;
}

Bytes mutate_bytes(const Format* format, const Bytes& bytes, std::size_t most, std::mt19937& random) {
  Parts parts = format == nullptr ? Parts{} : format->split(bytes);
  if (parts.empty() || random() % kWholeOneIn == 0) return mutate_plain(bytes, most);
  const std::size_t part = random() % parts.size();
  if (random() % kCopyOneIn == 0) {
    parts[part] = parts[random() % parts.size()];
  } else {
    const std::size_t room = most > bytes.size() ? most - bytes.size() : 0;
    const Format* const inner = format->of_part == nullptr ? nullptr : format->of_part(part);
    parts[part] = mutate_bytes(inner, parts[part], parts[part].size() + room, random);
  }
  return format->join(std::move(parts));
}

Bytes cross_bytes(const Format* format, const Bytes& one, const Bytes& other, std::mt19937& random) {
  Parts parts = format == nullptr ? Parts{} : format->split(one);
  const Parts others = format == nullptr ? Parts{} : format->split(other);
  if (parts.empty() || others.empty()) return random() % 2 == 0 ? one : other;
  const std::size_t part = random() % parts.size();
  const Bytes& taken = others[part < others.size() ? part : random() % others.size()];
  const Format* const inner = format->of_part == nullptr ? nullptr : format->of_part(part);
  parts[part] = inner == nullptr ? taken : cross_bytes(inner, parts[part], taken, random);
  return format->join(std::move(parts));
}

std::size_t put(const Bytes& bytes, std::uint8_t* out, std::size_t most) {
  const std::size_t size = std::min(bytes.size(), most);
  std::copy_n(reinterpret_cast<const std::uint8_t*>(bytes.data()), size, out);
  return size;
}

}  // namespace

std::size_t mutate(const Format& format, std::uint8_t* data, std::size_t size, std::size_t most,
                   unsigned seed) {
  std::mt19937 random(seed);
  const Bytes mutated = mutate_bytes(&format, bytes_of(data, size), most, random);
  return mutated.size() > most ? LLVMFuzzerMutate(data, size, most) : put(mutated, data, most);
}

std::size_t cross(const Format& format, const Bytes& one, const Bytes& other, std::uint8_t* out,
                  std::size_t most, unsigned seed) {
  std::mt19937 random(seed);
  return put(cross_bytes(&format, one, other, random), out, most);
}

}  // namespace fuzz
