// Functions are known by their code objects, which may go and leave their addresses to others: what a frame's
// `identity` was made of, and what stands in the object, is compared each time. Every object's type is
// compared before it is believed, and all is read by copy_place().
#include "runtime/recording/python_functions.hpp"

#include "runtime/recording/region_names.hpp"
#include "runtime/state/own_memory.hpp"
#include "runtime/state/paths.hpp"
#include "runtime/system/text.hpp"

#include <atomic>
#include <cstring>

namespace culprit::runtime::python {
namespace {

/// What a code object says.
struct Code {
  Address type, file, name, qualified, lines;
  std::int32_t first_line;
};

bool read_code(Address object, Code& code) {
  // One read: its members lie near each other, from the type to co_linetable.
  char bytes[kCodeBytes];
  constexpr std::size_t kTexts = 4 * sizeof(Address);
  const std::size_t size = layout.code_file + kTexts - kObjectType;
  const auto take = [&](Address place, void* to, std::size_t length) {
    memcpy(to, bytes + (place - kObjectType), length);
  };
  if (copy_place(object + kObjectType, bytes, size) != size) return false;
  take(kObjectType, &code.type, sizeof code.type);
  take(layout.code_first_line, &code.first_line, sizeof code.first_line);
  take(layout.code_file, &code.file, kTexts);
  // What stands between a class and its __init__ from 3.12 on has one string for all.
  const bool of_program = code.file != code.name;
  return code.type == types.code && code.first_line >= 0 && of_program;
}

/// A Python function that was met.
struct Function {
  std::atomic<std::uint32_t> state;  ///< kFree, kBusy, kKnown
  Address code, file, name, lines;
  std::uint64_t identity;  ///< as PythonFrame's
  std::uint32_t first_line;
  std::atomic<std::uint32_t> module;  ///< its index + 1; 0: the measurement has none yet
  std::uint64_t hash;
  char text[512];  ///< its entry's name
};
enum : std::uint32_t { kFree, kBusy, kKnown };
/// The functions that were met last; code that comes and goes at ever new addresses fills it.
constexpr std::size_t kFunctions = 2048, kProbes = 16;
constinit Function functions[kFunctions] = {};
constinit Function further = {.state = kKnown,
                              .code = 0,
                              .file = 0,
                              .name = 0,
                              .lines = 0,
                              .identity = 0,
                              .first_line = 0,
                              .module = 0,
                              .hash = 1,
                              .text = "0\t<further Python functions>\t"};

/// A character as UTF-8; a byte of a file's name that was none is itself (PEP 383). Returns how many bytes it
/// takes.
std::size_t encode(std::uint32_t character, char (&to)[4]) {
  constexpr unsigned kBits = 6, kMask = (1U << kBits) - 1, kContinues = 0x80;
  constexpr std::uint32_t kBytes = 0xdc00;
  const bool byte = character >= kBytes + kContinues && character <= kBytes + 0xff;
  if (character < kContinues || byte) {
    to[0] = static_cast<char>(character & 0xff);
    return 1;
  }
  const std::size_t size = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
  for (std::size_t i = size - 1; i > 0; --i) {
    to[i] = static_cast<char>(kContinues | (character & kMask));
    character >>= kBits;
  }
  constexpr std::uint32_t kFirst[] = {0xc0, 0xe0, 0xf0};
  to[0] = static_cast<char>(kFirst[size - 2] | character);
  return size;
}

/// Adds a str object's text as UTF-8; false where it is none.
template <std::size_t Size>
bool add_string(Text<Size>& to, Address object) {
  struct {
    Address type;
    std::int64_t length;
  } head;
  std::uint32_t state = 0;
  if (object == 0 || !copy_value(object + kObjectType, head) || head.type != types.string ||
      !copy_value(object + kStringState, state))
    return false;
  constexpr std::uint32_t kCompact = 1U << 5, kAscii = 1U << 6;
  const std::uint32_t width = state >> 2 & 7;  // bytes of a character
  if ((state & kCompact) == 0 || head.length < 0 || (width != 1 && width != 2 && width != 4)) return false;
  constexpr std::size_t kMost = 300;
  unsigned char bytes[kMost];
  const auto length = static_cast<std::size_t>(head.length);
  const std::size_t size = length * width < kMost ? length * width : kMost / width * width;
  const Address text = object + ((state & kAscii) != 0 ? layout.ascii_text : layout.compact_text);
  // Of a long one its end: that of a file's name says more than its beginning.
  if (copy_place(text + length * width - size, bytes, size) != size) return false;
  if (size < length * width) to.add("...");
  for (std::size_t i = 0; i < size; i += width) {
    std::uint32_t character = 0;
    memcpy(&character, bytes + i, width);
    if (character < ' ') character = '?';  // it would end the name, or its part
    char utf8[4];
    to.add(utf8, encode(character, utf8));
  }
  return true;
}

/// Fills in a function that nobody can find yet.
bool describe(Function& function, const PythonFrame& frame, const Code& code) {
  Text<sizeof function.text> text;
  text.number(static_cast<std::uint64_t>(code.first_line)).add("\t");
  if (!add_string(text, code.qualified)) return false;
  text.add("\t");
  if (!add_string(text, code.file)) return false;
  function.code = frame.code;
  function.identity = frame.identity;
  function.file = code.file;
  function.name = code.qualified;
  function.lines = code.lines;
  function.first_line = static_cast<std::uint32_t>(code.first_line);
  memcpy(function.text, text.c_str(), text.size() + 1);
  function.hash = hash_of_name(function.text, text.size());
  return true;
}

bool is_of(const Function& function, const PythonFrame& frame, const Code& code) {
  return function.code == frame.code && function.identity == frame.identity && function.file == code.file &&
         function.name == code.qualified && function.lines == code.lines &&
         function.first_line == static_cast<std::uint32_t>(code.first_line);
}

/// Whether the function with this name, by its hash, is one of the first kNamed.
bool may_have_name(std::uint64_t hash) {
  constexpr std::uint32_t kNamed = 2048;
  static constinit std::atomic<std::uint64_t> names[2 * kNamed] = {};
  static constinit std::atomic<std::uint32_t> used{0};
  for (std::uint64_t at = hash % (2 * kNamed);; at = (at + 1) % (2 * kNamed)) {
    std::uint64_t there = names[at].load(std::memory_order_relaxed);
    if (there == hash) return true;
    if (there != 0) continue;
    if (used.fetch_add(1, std::memory_order_relaxed) >= kNamed) {
      used.fetch_sub(1, std::memory_order_relaxed);
      return false;
    }
    if (names[at].compare_exchange_strong(there, hash, std::memory_order_relaxed)) return true;
    used.fetch_sub(1, std::memory_order_relaxed);
    if (there == hash) return true;
  }
}

/// The function of a code object, described in `other` where the table has no room; null where that is none.
Function* function_of(const PythonFrame& frame, Function& other) {
  const Address address = frame.code;
  Code code;
  if (!read_code(address, code)) return nullptr;
  const std::size_t first = (address >> 4) * kSpread >> 53;
  for (std::size_t i = 0; i < kProbes; ++i) {
    Function& function = functions[(first + i) % kFunctions];
    std::uint32_t state = function.state.load(std::memory_order_acquire);
    if (state == kFree && function.state.compare_exchange_strong(state, kBusy, std::memory_order_acquire)) {
      const bool known = describe(function, frame, code) && may_have_name(function.hash);
      function.state.store(known ? kKnown : kFree, std::memory_order_release);
      if (known) return &function;
      break;
    }
    if (state == kKnown && is_of(function, frame, code)) return &function;
  }
  if (!describe(other, frame, code)) return nullptr;
  return may_have_name(other.hash) ? &other : &further;
}

/// The bytes of a bytes object, one by one; none where it is no such object.
class Bytes {
 public:
  explicit Bytes(Address object) : at_(object + kObjectType) {
    fill();
    std::int64_t size = 0;
    Address type = 0;
    constexpr Address kText = kBytesText - kObjectType;
    if (filled_ < kText) return;
    memcpy(&type, bytes_, sizeof type);
    memcpy(&size, bytes_ + kObjectSize - kObjectType, sizeof size);
    constexpr std::int64_t kMost = 1 << 16;
    if (type == types.bytes && size > 0) left_ = static_cast<std::size_t>(size < kMost ? size : kMost);
    used_ = kText;
  }
  [[nodiscard]] bool more() const { return left_ > 0; }
  /// 0 where there is none.
  unsigned next() {
    if (left_ == 0) return 0;
    if (used_ == filled_) fill();
    if (used_ == filled_) return static_cast<unsigned>(left_ = 0);
    --left_;
    return bytes_[used_++];
  }
  void skip(int count) {
    while (count-- > 0) static_cast<void>(next());
  }
  /// Six bits a byte, the lowest first.
  unsigned number() {
    unsigned value = 0;
    for (unsigned shift = 0; shift < 30; shift += 6) {
      const unsigned byte = next();
      value |= (byte & 63U) << shift;
      if ((byte & 64U) == 0) break;
    }
    return value;
  }
  int signed_number() {
    const unsigned value = number();
    const auto size = static_cast<int>(value >> 1);
    return (value & 1U) != 0 ? -size : size;
  }

 private:
  void fill() {
    used_ = 0;
    filled_ = copy_place(at_, bytes_, sizeof bytes_);
    at_ += filled_;
  }

  Address at_;
  std::size_t left_ = 0, used_ = 0, filled_ = 0;
  unsigned char bytes_[512];
};

/// The line of the code unit `unit`, by the table of CPython's Objects/locations.md.
std::uint32_t line_of(const Function& function, std::uint64_t unit) {
  Bytes bytes(function.lines);
  auto line = static_cast<std::int64_t>(function.first_line);
  std::uint64_t end = 0;
  while (bytes.more()) {
    const unsigned first = bytes.next();
    const unsigned form = first >> 3 & 15U;
    constexpr unsigned kOneLine = 10, kNoColumns = 13, kLong = 14, kNone = 15;
    if (form == kNone) {
      // This stretch has no line of its own: that of what comes before.
    } else if (form == kLong) {
      line += bytes.signed_number();
      for (int i = 0; i < 3; ++i) static_cast<void>(bytes.number());
    } else if (form == kNoColumns) {
      line += bytes.signed_number();
    } else if (form >= kOneLine) {
      line += form - kOneLine;
      bytes.skip(2);
    } else {
      bytes.skip(1);
    }
    end += (first & 7U) + 1;
    if (unit < end) break;
  }
  return line > 0 ? static_cast<std::uint32_t>(line) : function.first_line;
}

}  // namespace

bool describe(PythonFrame& frame) {
  Function other{};
  Function* function = function_of(frame, other);
  if (function == nullptr) return false;
  frame.module = module_of_name(function->module, function->hash, function->text);
  if (frame.module == cct::kNoModule) return false;
  constexpr Address kUnit = 2;
  const Address begin = frame.code + layout.code_instructions;
  frame.line = function == &further        ? 1
               : frame.instruction < begin ? function->first_line  // it has not begun
                                           : line_of(*function, (frame.instruction - begin) / kUnit);
  if (frame.line == 0) frame.line = 1;
  return true;
}

void forget_modules() {
  for (Function& function : functions) {
    if (function.module.load(std::memory_order_relaxed) != 0)
      function.module.store(0, std::memory_order_relaxed);
  }
  further.module.store(0, std::memory_order_relaxed);
}

}  // namespace culprit::runtime::python
