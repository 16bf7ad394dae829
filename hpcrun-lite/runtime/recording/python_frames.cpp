// Which Python functions a C function of CPython's runs, and where in the C stack they belong:
// - 3.11 keeps for each of its C functions that interpret code a _PyCFrame on the C stack, and in it the
//   innermost Python frame; from there frames lead outwards to the one that this C function was entered with.
// - Later ones have one chain of all frames of a thread, in which a frame on the C stack, without a function,
//   stands where a C function of theirs was entered.
// All is read by copy_place(), never directly, not even where the thread itself called us: a longjmp out of
// Python leaves its frames behind, and states outlive their threads. Cost: one system call where nothing has
// gone on since the last time, as between MPI calls of a C library; else six or so, and two for each function
// that has gone on.
#include "runtime/recording/python_frames.hpp"

#include "runtime/recording/python_functions.hpp"
#include "runtime/state/own_memory.hpp"
#include "runtime/state/paths.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include <dlfcn.h>

namespace culprit::runtime {
namespace {

using namespace python;

using ThreadState = void* (*)();
constinit ThreadState thread_state = nullptr;

/// Notes what is read, so that it can be compared (PythonReadings).
class Notes {
 public:
  explicit Notes(PythonReadings& to) : to_(to) { to_.count = 0; }

  void add(Address from, const void* bytes, std::size_t size) {
    whole_ = whole_ && count_ < PythonReadings::kPlaces && size_ + size <= PythonReadings::kBytes;
    if (!whole_) return;
    memcpy(to_.bytes + size_, bytes, size);
    to_.places[count_++] = {.iov_base = reinterpret_cast<void*>(from), .iov_len = size};
    size_ += size;
  }
  /// As add(), a frame of the interpreter.
  void add_frame(Address from, const void* bytes, std::size_t size) {
    whole_ = whole_ && interpreted_ < std::size(to_.interpreted);
    if (!whole_) return;
    to_.interpreted[interpreted_++] = {static_cast<std::uint32_t>(size_), static_cast<std::uint32_t>(size),
                                       PythonReadings::kFrames};
    add(from, bytes, size);
  }
  /// The one that was added last is this one of the chain's.
  void name_frame(std::uint32_t number) {
    if (whole_ && interpreted_ > 0) to_.interpreted[interpreted_ - 1].frame = number;
  }
  /// Something was not there, or is not noted.
  void give_up() { whole_ = false; }

  /// `chain` was read from all that was noted.
  void finish(const void* state, const PythonChain& chain) {
    if (!whole_ || chain.count > PythonReadings::kFrames) return;
    to_.thread_state = state;
    to_.frame_count = chain.count;
    std::copy_n(chain.frames, chain.count, to_.frames);
    to_.size = size_;
    to_.interpreted_count = interpreted_;
    to_.count = count_;
  }

 private:
  PythonReadings& to_;
  std::size_t count_ = 0, size_ = 0, interpreted_ = 0;
  bool whole_ = true;
};

template <typename Value>
bool read_value(Address from, Value& to, Notes& notes) {
  if (!copy_value(from, to)) {
    notes.give_up();
    return false;
  }
  notes.add(from, &to, sizeof to);
  return true;
}

/// What a _PyInterpreterFrame says.
struct InterpreterFrame {
  Address code, previous, instruction;
  unsigned char end;  ///< Layout::frame_end
};

/// Where the members of a frame that are looked at begin and end.
Address first_member() {
  return std::min({layout.frame_code, layout.frame_previous, layout.frame_instruction, layout.frame_end});
}
Address last_member_end() {
  const Address last = std::max({layout.frame_code, layout.frame_previous, layout.frame_instruction});
  return std::max(last + sizeof(Address), layout.frame_end + 1);
}

/// What the bytes of a frame from its first member on say.
InterpreterFrame members(const char* bytes) {
  InterpreterFrame frame;
  const auto copy = [bytes](Address member, auto& to) {
    memcpy(&to, bytes + (member - first_member()), sizeof to);
  };
  copy(layout.frame_code, frame.code);
  copy(layout.frame_previous, frame.previous);
  copy(layout.frame_instruction, frame.instruction);
  copy(layout.frame_end, frame.end);
  return frame;
}

/// Whether all that the last chain was read from is as it was, but for the instructions; then that is the
/// chain.
bool is_unchanged(PythonReadings& last, const void* state, PythonChain& chain) {
  if (last.count == 0 || last.thread_state != state) return false;
  char now[PythonReadings::kBytes];
  if (copy_places({last.places, last.count}, now) != last.size) return false;
  for (const PythonReadings::Interpreted& each : std::span(last.interpreted, last.interpreted_count)) {
    const InterpreterFrame before = members(last.bytes + each.offset), after = members(now + each.offset);
    if (before.code != after.code || before.previous != after.previous || before.end != after.end)
      return false;
    if (each.frame < last.frame_count) last.frames[each.frame].instruction = after.instruction;
    memcpy(last.bytes + each.offset, now + each.offset, each.size);
  }
  if (memcmp(now, last.bytes, last.size) != 0) return false;
  chain.count = last.frame_count;
  std::copy_n(last.frames, last.frame_count, chain.frames);
  return true;
}

/// Frames of a thread mostly lie next to each other: the page that was read last.
class Window {
 public:
  explicit Window(Notes& notes) : notes_(notes) {}

  bool frame(Address at, InterpreterFrame& to) {
    constexpr Address kHighest = Address{1} << 63;  // beyond it lies no program's memory, and sums go round
    if (at >= kHighest) {
      notes_.give_up();
      return false;
    }
    const bool whole =
        value(at + layout.frame_code, to.code) && value(at + layout.frame_previous, to.previous) &&
        value(at + layout.frame_instruction, to.instruction) && value(at + layout.frame_end, to.end);
    note(at);
    return whole;
  }

 private:
  void note(Address frame) {
    const Address from = frame + first_member(), end = frame + last_member_end();
    if (from < begin_ || end > begin_ + kept_) return notes_.give_up();
    notes_.add_frame(from, bytes_ + (from - begin_), end - from);
  }

  template <typename Value>
  bool value(Address from, Value& to) {
    if (from < begin_ || from + sizeof to > begin_ + kept_) {
      begin_ = from / kPage * kPage;
      kept_ = copy_place(begin_, bytes_, kPage);
      if (from + sizeof to > begin_ + kept_) return copy_value(from, to);  // it reaches into the next one
    }
    memcpy(&to, bytes_ + (from - begin_), sizeof to);
    return true;
  }

  static constexpr std::size_t kPage = 4096;

  Notes& notes_;
  Address begin_ = 0, kept_ = 0;
  char bytes_[kPage];
};

void add_frame(PythonChain& chain, Address at, const InterpreterFrame& frame, Notes& notes) {
  constexpr Address kTag = 1;  // 3.14: whose reference it is
  notes.name_frame(chain.count);
  chain.frames[chain.count++] = {.at = at,
                                 .code = frame.code & ~kTag,
                                 .instruction = frame.instruction,
                                 .identity = 0,
                                 .module = 0,
                                 .line = 0};
}

/// Adds the frames that the C function with `cframe` at `at` runs.
void add_frames(Address at, const CFrame& cframe, Window& window, PythonChain& chain, Notes& notes) {
  constexpr int kMost = 4096;  // a chain that was being changed may not end
  Address frame = cframe.current;
  for (int i = 0; i < kMost && frame != 0 && chain.count < PythonFrames::kMax; ++i) {
    InterpreterFrame read;
    if (!window.frame(frame, read) || read.code == 0) return;
    add_frame(chain, at, read, notes);
    if (read.end != 0) return;
    frame = read.previous;
  }
}

void follow_cframes(Address at, PythonChain& chain, Notes& notes) {
  Window window(notes);
  constexpr int kMost = 1024;
  for (int i = 0; i < kMost && at != 0 && chain.count < PythonFrames::kMax; ++i) {
    CFrame cframe;
    if (!read_value(at + kCFrameCurrent, cframe, notes)) return;
    add_frames(at, cframe, window, chain, notes);
    if (cframe.previous <= at)
      return;  // outwards lie higher ones, and at last one without frames on the heap
    at = cframe.previous;
  }
}

/// Where frames belong is known when the one on the C stack around them was met; those that have none are
/// left out.
void follow_frames(Address frame, PythonChain& chain, Notes& notes) {
  constexpr unsigned char kOnCStack = 3;  // _frameowner: this, and later ones, have no function
  Window window(notes);
  Address entry = 0;
  std::uint32_t placed = 0;
  constexpr int kMost = 8192;  // of a deep recursion, and of a chain that was being changed
  for (int i = 0; i < kMost && frame != 0; ++i) {
    InterpreterFrame read;
    if (!window.frame(frame, read)) break;
    if (read.end >= kOnCStack) {
      if (frame <= entry) break;  // outwards lie higher ones
      entry = frame;
      while (placed < chain.count) chain.frames[placed++].at = entry;
      if (chain.count == PythonFrames::kMax) break;
    } else if (chain.count < PythonFrames::kMax) {
      add_frame(chain, 0, read, notes);
    }
    frame = read.previous;
  }
  chain.count = placed;
}

/// Reads one place for each of some frames, `size_of(i)` bytes at `place_of(i)`, into `to`, one behind the
/// other. Returns how many were there.
template <typename PlaceOf, typename SizeOf>
std::uint32_t read_each(std::uint32_t count, void* to, Notes& notes, PlaceOf place_of, SizeOf size_of) {
  iovec there[PythonFrames::kMax];
  for (std::uint32_t i = 0; i < count; ++i)
    there[i] = {.iov_base = reinterpret_cast<void*>(place_of(i)), .iov_len = size_of(i)};
  std::size_t left = copy_places({there, count}, to);
  const char* bytes = static_cast<const char*>(to);
  std::uint32_t whole = 0;
  for (; whole < count && left >= there[whole].iov_len; ++whole) {
    notes.add(place_of(whole), bytes, there[whole].iov_len);
    bytes += there[whole].iov_len;
    left -= there[whole].iov_len;
  }
  if (whole < count) notes.give_up();
  return whole;
}

/// Reads of all code objects what distinguishes one from another that was at its address before. Where code
/// is executed once and thrown away, the next has its objects at the same addresses: then the end of the
/// file's name does.
void identify(PythonChain& chain, Notes& notes) {
  struct Identity {
    Address file, name, qualified, lines;
  };
  constexpr std::size_t kEnd = 64;
  Identity of[PythonFrames::kMax];
  std::uint64_t lengths[PythonFrames::kMax];
  char ends[PythonFrames::kMax * kEnd];
  const auto size_of_end = [&](std::uint32_t i) { return lengths[i] < kEnd ? lengths[i] : kEnd; };
  std::uint32_t known = read_each(
      chain.count, of, notes, [&](std::uint32_t i) { return chain.frames[i].code + layout.code_file; },
      [](std::uint32_t) { return sizeof(Identity); });
  known = read_each(
      known, lengths, notes, [&](std::uint32_t i) { return of[i].file + kObjectSize; },
      [](std::uint32_t) { return sizeof(std::uint64_t); });
  known = read_each(
      known, ends, notes,
      [&](std::uint32_t i) { return of[i].file + layout.ascii_text + lengths[i] - size_of_end(i); },
      size_of_end);
  const char* end = ends;
  for (std::uint32_t i = 0; i < known; ++i) {
    std::uint64_t hash =
        ((of[i].file * kSpread ^ of[i].name) * kSpread ^ of[i].qualified) * kSpread ^ of[i].lines;
    for (std::size_t k = size_of_end(i); k > 0; --k)
      hash = (hash ^ static_cast<unsigned char>(*end++)) * kSpread;
    chain.frames[i].identity = hash | 1;
  }
}

bool is_same(const PythonFrame& a, const PythonFrame& b) {
  return a.at == b.at && a.code == b.code && a.instruction == b.instruction && a.identity == b.identity &&
         a.identity != 0;
}

/// The layout of the interpreter that the program was linked with; false where there is none that is known.
bool find_layout_here() {
  const auto* version = static_cast<const unsigned long*>(dlsym(RTLD_DEFAULT, "Py_Version"));
  if (version == nullptr) return false;
  const auto* published = static_cast<const Published*>(dlsym(RTLD_DEFAULT, "_PyRuntime"));
  Published read;
  const bool whole = published != nullptr && copy_value(reinterpret_cast<Address>(published), read);
  return find_layout(*version, whole ? &read : nullptr, layout);
}

}  // namespace

void find_python() {
  const auto address = [](const char* name) { return reinterpret_cast<Address>(dlsym(RTLD_DEFAULT, name)); };
  if (find_layout_here()) {
    types = {.code = address("PyCode_Type"),
             .string = address("PyUnicode_Type"),
             .bytes = address("PyBytes_Type")};
    void* state = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    if (types.code != 0 && types.string != 0 && types.bytes != 0)
      thread_state = reinterpret_cast<ThreadState>(state);
  }
  dlerror();  // what was not found is no error of the program's
}

bool python_runs(const Thread* thread) {
  return thread_state != nullptr && (thread_state() != nullptr || thread->python.depth != 0);
}

void read_python_chain(Thread* thread, PythonChain& chain) {
  chain.count = 0;
  const void* state = thread_state();
  if (state == nullptr || is_unchanged(thread->python.readings, state, chain)) return;
  Notes notes(thread->python.readings);
  Address inner = 0;
  if (!read_value(reinterpret_cast<Address>(state) + layout.state_inner, inner, notes)) return;
  if (layout.cframes) {
    follow_cframes(inner, chain, notes);
  } else {
    follow_frames(inner, chain, notes);
  }
  if (chain.count != 0) identify(chain, notes);
  notes.finish(state, chain);
}

std::uint64_t hash_of(const PythonChain& chain) {
  std::uint64_t hash = chain.count;
  for (std::uint32_t i = 0; i < chain.count; ++i) {
    hash = (hash ^ chain.frames[i].at) * kSpread;
    hash = (hash ^ chain.frames[i].code) * kSpread;
    hash = (hash ^ chain.frames[i].identity) * kSpread;
    hash = (hash ^ chain.frames[i].instruction) * kSpread;
  }
  return hash;
}

void keep_python_chain(Thread* thread, PythonChain& chain) {
  PythonFrames& known = thread->python;
  bool changed = false;
  std::uint32_t depth = 0;
  for (std::uint32_t i = chain.count; i-- > 0;) {
    PythonFrame& frame = chain.frames[i];
    PythonFrame& before = known.frames[depth];
    const bool same = depth < known.depth && is_same(frame, before);
    if (!same && !describe(frame)) continue;
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

void forget_python_modules() {
  if (thread_state != nullptr) forget_modules();  // what was never touched stays so
}

}  // namespace culprit::runtime
