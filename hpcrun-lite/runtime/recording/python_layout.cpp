// What is published has other members in each version; a build without the global lock has other objects.
#include "runtime/recording/python_layout.hpp"

#include <cstring>
#include <initializer_list>

namespace culprit::runtime::python {

constinit Layout layout = {};
constinit Types types = {};

namespace {

constexpr Layout k311 = {.cframes = true,
                         .state_inner = 56,
                         .frame_code = 32,
                         .frame_previous = 48,
                         .frame_instruction = 56,
                         .frame_end = 68,
                         .code_first_line = 72,
                         .code_file = 112,
                         .code_instructions = 184,
                         .ascii_text = 48,
                         .compact_text = 72};

/// Which of the numbers is which member's place.
struct Numbers {
  std::size_t state_inner;
  std::size_t frame;  ///< size, previous, executable, instr_ptr, localsplus, owner
  std::size_t code;   ///< size, filename, name, qualname, linetable, firstlineno
  std::size_t instructions, type;
  std::size_t bytes;   ///< size, ob_size, ob_sval
  std::size_t string;  ///< size, state, length, asciiobject_size
};
constexpr Numbers k313 = {
    .state_inner = 20, .frame = 25, .code = 31, .instructions = 40, .type = 42, .bytes = 61, .string = 64};
constexpr Numbers k314 = {
    .state_inner = 23, .frame = 28, .code = 36, .instructions = 45, .type = 48, .bytes = 71, .string = 74};

/// A final release of 3.`minor`.
bool is_release(unsigned long version, unsigned long minor) {
  constexpr unsigned long kLevel = 0xf0;
  return version >> 16 == (3UL << 8 | minor) && (version & kLevel) == kLevel;
}

bool read_published(const Published& from, const Numbers& at, Layout& found) {
  const auto& number = from.numbers;
  const std::uint64_t file = number[at.code + 1];
  for (std::size_t i = 1; i < 4; ++i) {
    if (number[at.code + 1 + i] != file + i * sizeof(Address)) return false;
  }
  if (number[at.type] != kObjectType || number[at.bytes + 1] != kObjectSize ||
      number[at.bytes + 2] != kBytesText || number[at.string + 1] != kStringState ||
      number[at.string + 2] != kObjectSize)
    return false;
  const std::uint64_t first_line = number[at.code + 5];
  if (file > kCodeBytes - 4 * sizeof(Address) || first_line < kObjectType || first_line > file) return false;
  constexpr std::uint64_t kMost = 4096;  // no object's fixed part has more bytes
  for (const std::uint64_t place :
       {number[at.state_inner], number[at.frame + 1], number[at.frame + 2], number[at.frame + 3],
        number[at.frame + 5], number[at.instructions], number[at.string + 3]}) {
    if (place > kMost) return false;
  }
  constexpr Address kUtf8 = 2 * sizeof(Address);  // what PyCompactUnicodeObject adds
  found = {.cframes = false,
           .state_inner = number[at.state_inner],
           .frame_code = number[at.frame + 2],
           .frame_previous = number[at.frame + 1],
           .frame_instruction = number[at.frame + 3],
           .frame_end = number[at.frame + 5],
           .code_first_line = first_line,
           .code_file = file,
           .code_instructions = number[at.instructions],
           .ascii_text = number[at.string + 3],
           .compact_text = number[at.string + 3] + kUtf8};
  return true;
}

}  // namespace

bool find_layout(unsigned long version, const Published* published, Layout& found) {
  if (is_release(version, 11)) {
    found = k311;
    return true;
  }
  const Numbers* numbers = is_release(version, 13) ? &k313 : is_release(version, 14) ? &k314 : nullptr;
  if (numbers == nullptr || published == nullptr) return false;
  const bool known = memcmp(published->cookie, "xdebugpy", sizeof published->cookie) == 0 &&
                     published->version == version && published->without_lock == 0;
  return known && read_published(*published, *numbers, found);
}

}  // namespace culprit::runtime::python
