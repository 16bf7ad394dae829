#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

// Inputs that consist of parts: a file of sections or blocks, a run of files. Mutating bytes of the whole
// would mostly break what says where parts lie; so a part is mutated by itself, and what says where parts
// lie, how large they are and what their checksums are is made right again.
namespace fuzz {

using Bytes = std::vector<char>;
using Parts = std::vector<Bytes>;

/// How an input falls into parts.
struct Format {
  /// Empty where the bytes are not of this format. Must accept any bytes.
  Parts (*split)(const Bytes& bytes);
  /// Puts parts together; must accept any as many as split() gave, of any sizes.
  Bytes (*join)(Parts parts);
  /// The format of a part, null for plain bytes.
  const Format* (*of_part)(std::size_t part) = nullptr;
};

/// What LLVMFuzzerCustomMutator has to do: mutates mostly one part, now and then the whole.
std::size_t mutate(const Format& format, std::uint8_t* data, std::size_t size, std::size_t most,
                   unsigned seed);

/// What LLVMFuzzerCustomCrossOver has to do: parts of two inputs.
std::size_t cross(const Format& format, const Bytes& one, const Bytes& other, std::uint8_t* out,
                  std::size_t most, unsigned seed);

/// The bytes as libFuzzer hands them over.
inline Bytes bytes_of(const std::uint8_t* data, std::size_t size) {
  const auto* first = reinterpret_cast<const char*>(data);
  return {first, first + size};
}

}  // namespace fuzz

/// Defines libFuzzer's mutators of a target by a fuzz::Format.
#define FUZZ_MUTATE_BY(format)                                                                              \
  extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,    \
                                                 unsigned seed) {                                           \
    return fuzz::mutate(format, data, size, most, seed);                                                    \
  }                                                                                                         \
  extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* one, std::size_t one_size,           \
                                                   const std::uint8_t* other, std::size_t other_size,       \
                                                   std::uint8_t* out, std::size_t most, unsigned seed) {    \
    return fuzz::cross(format, fuzz::bytes_of(one, one_size), fuzz::bytes_of(other, other_size), out, most, \
                       seed);                                                                               \
  }
