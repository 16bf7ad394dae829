// CPython 3.11 keeps for each of its C functions that interpret code a _PyCFrame on the C stack, and in it
// the innermost Python frame; from there frames lead outwards to the one that this C function was entered
// with. So the address of the _PyCFrame says where in the C stack its Python functions belong. All is read by
// process_vm_readv: what a pointer leads to may be gone, and each object's type is compared before it is
// believed. The layout is that of CPython's headers (cpython/pystate.h, internal/pycore_frame.h,
// cpython/code.h); other versions differ, and are left alone. Cost: three system calls per sample, and two
// for each function that has gone on since the last one.
#include "runtime/recording/python_frames.hpp"

#include "runtime/state/process.hpp"
#include "runtime/system/system_calls.hpp"
#include "runtime/system/text.hpp"

#include <atomic>
#include <cstring>

#include <dlfcn.h>
#include <sys/uio.h>

namespace culprit::runtime {
namespace {

using Address = std::uintptr_t;

constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15U;  // odd, with its bits well mixed

constexpr unsigned long kOldest = 0x030B00F0, kNext = 0x030C0000;  // 3.11.0, and the versions after 3.11
constexpr Address kStateCFrame = 56;                               // PyThreadState: cframe

/// _PyCFrame from current_frame on.
struct CFrame {
  Address current, previous;
};
constexpr Address kCFrameCurrent = 8;

/// _PyInterpreterFrame from f_code to is_entry.
struct InterpreterFrame {
  Address code, object, previous, instruction;
  int stack_top;
  unsigned char is_entry;
};
constexpr Address kFrameCode = 32;
static_assert(offsetof(InterpreterFrame, is_entry) == 68 - kFrameCode);

/// PyCodeObject, of which some members matter; and PyASCIIObject, PyBytesObject.
constexpr Address kObjectType = 8, kObjectSize = 16;
constexpr Address kCodeFirstLine = 72, kCodeFile = 112, kCodeInstructions = 184;
constexpr Address kStringState = 32, kAsciiText = 48, kCompactText = 72, kBytesText = 32;

struct Interpreter {
  void* (*thread_state)();
  Address code_type, string_type, bytes_type;
};
constinit Interpreter python = {};

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

/// Reads memory of this process by a system call, which fails where there is none. Never directly, not even
/// where the thread itself called us: a longjmp out of Python leaves its frames behind, and states outlive
/// their threads.
class Memory {
 public:
  /// As much as there is, in the page of `from` at least. Returns how much that is.
  std::size_t some(Address from, void* to, std::size_t size) const {
    const iovec here{.iov_base = to, .iov_len = size};
    const iovec there{.iov_base = reinterpret_cast<void*>(from), .iov_len = size};
    constexpr long kOne = 1;
    const long got = system_call(SYS_process_vm_readv, process.pid, word(&here), kOne, word(&there), kOne, 0);
    return got > 0 ? static_cast<std::size_t>(got) : 0;
  }

  bool all(Address from, void* to, std::size_t size) const { return some(from, to, size) == size; }

  template <typename Value>
  bool value(Address from, Value& to) const {
    return all(from, &to, sizeof to);
  }

  static constexpr std::size_t kPage = 4096;
};

/// Frames of a thread mostly lie next to each other: the page that was read last.
class Window {
 public:
  explicit Window(const Memory& memory) : memory_(memory) {}

  bool frame(Address at, InterpreterFrame& to) {
    const Address from = at + kFrameCode;
    if (from < begin_ || from + sizeof to > begin_ + kept_) {
      begin_ = from / sizeof bytes_ * sizeof bytes_;
      kept_ = memory_.some(begin_, bytes_, sizeof bytes_);
      if (from + sizeof to > begin_ + kept_) return memory_.value(from, to);  // it reaches into the next one
    }
    memcpy(&to, bytes_ + (from - begin_), sizeof to);
    return true;
  }

 private:
  const Memory& memory_;
  Address begin_ = 0, kept_ = 0;
  char bytes_[Memory::kPage];
};

/// What a frame says, innermost first.
struct Found {
  std::uint32_t count = 0;
  PythonFrame frames[PythonFrames::kMax];
};

/// Adds the frames that the C function with `cframe` at `at` runs.
void add_frames(Address at, const CFrame& cframe, Window& window, Found& found) {
  constexpr int kMost = 4096;  // a chain that was being changed may not end
  Address frame = cframe.current;
  for (int i = 0; i < kMost && frame != 0 && found.count < PythonFrames::kMax; ++i) {
    InterpreterFrame read;
    if (!window.frame(frame, read) || read.code == 0) return;
    found.frames[found.count++] = {
        .at = at, .code = read.code, .instruction = read.instruction, .identity = 0, .module = 0, .line = 0};
    if (read.is_entry != 0) return;
    frame = read.previous;
  }
}

void find_frames(const Memory& memory, Address state, Found& found) {
  Window window(memory);
  Address at = 0;
  if (!memory.value(state + kStateCFrame, at)) return;
  constexpr int kMost = 1024;
  for (int i = 0; i < kMost && at != 0 && found.count < PythonFrames::kMax; ++i) {
    CFrame cframe;
    if (!memory.value(at + kCFrameCurrent, cframe)) return;
    add_frames(at, cframe, window, found);
    if (cframe.previous <= at)
      return;  // outwards lie higher ones, and at last one without frames on the heap
    at = cframe.previous;
  }
}

/// Reads one place for each of some frames, `size_of(i)` bytes at `place_of(i)`, into `to`, one behind the
/// other. Returns how many were there.
template <typename PlaceOf, typename SizeOf>
std::uint32_t read_each(std::uint32_t count, void* to, PlaceOf place_of, SizeOf size_of) {
  iovec there[PythonFrames::kMax];
  std::size_t size = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    there[i] = {.iov_base = reinterpret_cast<void*>(place_of(i)), .iov_len = size_of(i)};
    size += there[i].iov_len;
  }
  const iovec here{.iov_base = to, .iov_len = size};
  const long got = system_call(SYS_process_vm_readv, process.pid, word(&here), 1, word(&there[0]), count, 0);
  std::size_t left = got > 0 ? static_cast<std::size_t>(got) : 0;
  std::uint32_t whole = 0;
  while (whole < count && left >= there[whole].iov_len) left -= there[whole++].iov_len;
  return whole;
}

/// Reads of all code objects what distinguishes one from another that was at its address before. Where code
/// is executed once and thrown away, the next has its objects at the same addresses: then the end of the
/// file's name does.
void identify(Found& found) {
  struct Identity {
    Address file, name, qualified, lines;
  };
  constexpr std::size_t kEnd = 64;
  Identity of[PythonFrames::kMax];
  std::uint64_t lengths[PythonFrames::kMax];
  char ends[PythonFrames::kMax * kEnd];
  const auto size_of_end = [&](std::uint32_t i) { return lengths[i] < kEnd ? lengths[i] : kEnd; };
  std::uint32_t known = read_each(
      found.count, of, [&](std::uint32_t i) { return found.frames[i].code + kCodeFile; },
      [](std::uint32_t) { return sizeof(Identity); });
  known = read_each(
      known, lengths, [&](std::uint32_t i) { return of[i].file + kObjectSize; },
      [](std::uint32_t) { return sizeof(std::uint64_t); });
  known = read_each(
      known, ends, [&](std::uint32_t i) { return of[i].file + kAsciiText + lengths[i] - size_of_end(i); },
      size_of_end);
  const char* end = ends;
  for (std::uint32_t i = 0; i < known; ++i) {
    std::uint64_t hash =
        ((of[i].file * kSpread ^ of[i].name) * kSpread ^ of[i].qualified) * kSpread ^ of[i].lines;
    for (std::size_t k = size_of_end(i); k > 0; --k)
      hash = (hash ^ static_cast<unsigned char>(*end++)) * kSpread;
    found.frames[i].identity = hash | 1;
  }
}

/// The calling thread's.
void find_own_frames(const Memory& memory, Found& found) {
  void* state = python.thread_state();
  if (state == nullptr) return;
  find_frames(memory, reinterpret_cast<Address>(state), found);
  if (found.count != 0) identify(found);
}

/// A character as UTF-8. Returns how many bytes it takes.
std::size_t encode(std::uint32_t character, char (&to)[4]) {
  constexpr unsigned kBits = 6, kMask = (1U << kBits) - 1, kContinues = 0x80;
  if (character < 0x80) {
    to[0] = static_cast<char>(character);
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
bool add_string(const Memory& memory, Text<Size>& to, Address object) {
  struct {
    Address type;
    std::int64_t length;
  } head;
  std::uint32_t state = 0;
  if (object == 0 || !memory.value(object + kObjectType, head) || head.type != python.string_type ||
      !memory.value(object + kStringState, state))
    return false;
  constexpr std::uint32_t kCompact = 1U << 5, kAscii = 1U << 6;
  const std::uint32_t width = state >> 2 & 7;  // bytes of a character
  if ((state & kCompact) == 0 || head.length < 0 || (width != 1 && width != 2 && width != 4)) return false;
  constexpr std::size_t kMost = 300;
  unsigned char bytes[kMost];
  const auto length = static_cast<std::size_t>(head.length);
  const std::size_t size = length * width < kMost ? length * width : kMost / width * width;
  const Address text = object + ((state & kAscii) != 0 ? kAsciiText : kCompactText);
  // Of a long one its end: that of a file's name says more than its beginning.
  if (!memory.all(text + length * width - size, bytes, size)) return false;
  if (size < length * width) to.add("...");
  for (std::size_t i = 0; i < size; i += width) {
    std::uint32_t character = 0;
    memcpy(&character, bytes + i, width);
    char utf8[4];
    to.add(utf8, encode(character, utf8));
  }
  return true;
}

std::uint64_t hash_of(const char* text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (; *text != '\0'; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3U;
  return hash;
}

/// A code object from its type to co_linetable.
struct Code {
  Address type;
  char others[kCodeFirstLine - kObjectType - sizeof(Address)];
  std::int32_t first_line;
  std::int32_t numbers[5];
  Address places, kinds, file, name, qualified, lines;
};
static_assert(offsetof(Code, file) == kCodeFile - kObjectType);

/// Fills in a function that nobody can find yet.
bool describe(const Memory& memory, Function& function, const PythonFrame& frame, const Code& code) {
  Text<sizeof function.text> text;
  text.number(static_cast<std::uint64_t>(code.first_line)).add("\t");
  if (!add_string(memory, text, code.qualified)) return false;
  text.add("\t");
  if (!add_string(memory, text, code.file)) return false;
  function.code = frame.code;
  function.identity = frame.identity;
  function.file = code.file;
  function.name = code.qualified;
  function.lines = code.lines;
  function.first_line = static_cast<std::uint32_t>(code.first_line);
  memcpy(function.text, text.c_str(), text.size() + 1);
  function.hash = hash_of(function.text);
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
Function* function_of(const Memory& memory, const PythonFrame& frame, Function& other) {
  const Address address = frame.code;
  Code code;
  if (!memory.value(address + kObjectType, code) || code.type != python.code_type || code.first_line < 0)
    return nullptr;
  const std::size_t first = (address >> 4) * kSpread >> 53;
  for (std::size_t i = 0; i < kProbes; ++i) {
    Function& function = functions[(first + i) % kFunctions];
    std::uint32_t state = function.state.load(std::memory_order_acquire);
    if (state == kFree && function.state.compare_exchange_strong(state, kBusy, std::memory_order_acquire)) {
      const bool known = describe(memory, function, frame, code) && may_have_name(function.hash);
      function.state.store(known ? kKnown : kFree, std::memory_order_release);
      if (known) return &function;
      break;
    }
    if (state == kKnown && is_of(function, frame, code)) return &function;
  }
  if (!describe(memory, other, frame, code)) return nullptr;
  return may_have_name(other.hash) ? &other : &further;
}

std::uint32_t module_of(Function& function) {
  const std::uint32_t known = function.module.load(std::memory_order_relaxed);
  if (known != 0) return known - 1;
  const std::uint32_t module =
      file.module(function.hash, function.text, nullptr, 0, measurement::LiveFile::kModuleRegion);
  if (module != cct::kNoModule) function.module.store(module + 1, std::memory_order_relaxed);
  return module;
}

/// The bytes of a bytes object, one by one; none where it is no such object.
class Bytes {
 public:
  Bytes(const Memory& memory, Address object) : memory_(memory), at_(object + kObjectType) {
    fill();
    std::int64_t size = 0;
    Address type = 0;
    constexpr Address kText = kBytesText - kObjectType;
    if (filled_ < kText) return;
    memcpy(&type, bytes_, sizeof type);
    memcpy(&size, bytes_ + kObjectSize - kObjectType, sizeof size);
    constexpr std::int64_t kMost = 1 << 16;
    if (type == python.bytes_type && size > 0) left_ = static_cast<std::size_t>(size < kMost ? size : kMost);
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
    filled_ = memory_.some(at_, bytes_, sizeof bytes_);
    at_ += filled_;
  }

  const Memory& memory_;
  Address at_;
  std::size_t left_ = 0, used_ = 0, filled_ = 0;
  unsigned char bytes_[512];
};

/// The line of the code unit `unit`, by the table of CPython's Objects/locations.md.
std::uint32_t line_of(const Memory& memory, const Function& function, std::uint64_t unit) {
  Bytes bytes(memory, function.lines);
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

/// False where the frame is none.
bool describe(const Memory& memory, PythonFrame& frame) {
  Function other{};
  Function* function = function_of(memory, frame, other);
  if (function == nullptr) return false;
  frame.module = module_of(*function);
  if (frame.module == cct::kNoModule) return false;
  constexpr Address kUnit = 2;
  const Address begin = frame.code + kCodeInstructions;
  frame.line = function == &further        ? 1
               : frame.instruction < begin ? function->first_line  // it has not begun
                                           : line_of(memory, *function, (frame.instruction - begin) / kUnit);
  if (frame.line == 0) frame.line = 1;
  return true;
}

bool is_same(const PythonFrame& a, const PythonFrame& b) {
  return a.at == b.at && a.code == b.code && a.instruction == b.instruction && a.identity == b.identity &&
         a.identity != 0;
}

}  // namespace

void find_python() {
  const auto address = [](const char* name) { return reinterpret_cast<Address>(dlsym(RTLD_DEFAULT, name)); };
  const auto* version = static_cast<const unsigned long*>(dlsym(RTLD_DEFAULT, "Py_Version"));
  if (version != nullptr && *version >= kOldest && *version < kNext) {
    python.code_type = address("PyCode_Type");
    python.string_type = address("PyUnicode_Type");
    python.bytes_type = address("PyBytes_Type");
    void* state = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    if (python.code_type != 0 && python.string_type != 0 && python.bytes_type != 0)
      python.thread_state = reinterpret_cast<void* (*)()>(state);
  }
  dlerror();  // what was not found is no error of the program's
}

bool python_runs() {
  return python.thread_state != nullptr;
}

void read_python_frames(Thread* thread) {
  PythonFrames& known = thread->python;
  Found found;
  const Memory memory;
  find_own_frames(memory, found);
  bool changed = false;
  std::uint32_t depth = 0;
  for (std::uint32_t i = found.count; i-- > 0;) {
    PythonFrame& frame = found.frames[i];
    PythonFrame& before = known.frames[depth];
    const bool same = depth < known.depth && is_same(frame, before);
    if (!same && !describe(memory, frame)) continue;
    if (!same) {
      changed = changed || depth >= known.depth || before.at != frame.at || before.module != frame.module ||
                before.line != frame.line;
      before = frame;
    }
    ++depth;
  }
  if (changed || depth != known.depth) ++known.changes;
  known.depth = depth;
}

std::uint64_t called_python_frames() {
  Found found;
  const Memory memory;
  find_own_frames(memory, found);
  std::uint64_t hash = found.count;
  for (std::uint32_t i = 0; i < found.count; ++i) {
    hash = (hash ^ found.frames[i].at) * kSpread;
    hash = (hash ^ found.frames[i].code) * kSpread;
    hash = (hash ^ found.frames[i].identity) * kSpread;
    hash = (hash ^ found.frames[i].instruction) * kSpread;
  }
  return hash;
}

void forget_python_modules() {
  if (!python_runs()) return;  // what was never touched stays so
  for (Function& function : functions) {
    if (function.module.load(std::memory_order_relaxed) != 0)
      function.module.store(0, std::memory_order_relaxed);
  }
  further.module.store(0, std::memory_order_relaxed);
}

}  // namespace culprit::runtime
