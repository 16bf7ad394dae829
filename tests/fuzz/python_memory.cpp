#include "runtime/recording/python_frames.hpp"
#include "runtime/recording/python_layout.hpp"
#include "runtime/recording/region_names.hpp"
#include "runtime/state/own_memory.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include <sys/mman.h>

// Any bytes where an interpreter's thread state, its frames and its objects are said to lie: the sampler
// finds which Python functions run, or none. They lie at kMemory, which two bytes can hold; there is nothing
// elsewhere. The first byte says which interpreter it is, the second how much is gone at the last look.
namespace {

namespace runtime = culprit::runtime;
namespace python = culprit::runtime::python;

constexpr python::Address kMemory = 0x1000;
std::span<const std::uint8_t> memory;

constexpr unsigned long k311 = 0x030B02F0, k313 = 0x030D05F0;
/// What CPython 3.13.5 of Debian 13 publishes.
constexpr python::Layout kLayout313 = {.cframes = false,
                                       .state_inner = 72,
                                       .frame_code = 0,
                                       .frame_previous = 8,
                                       .frame_instruction = 56,
                                       .frame_end = 70,
                                       .code_first_line = 68,
                                       .code_file = 112,
                                       .code_instructions = 200,
                                       .ascii_text = 40,
                                       .compact_text = 56};

/// That of 3.11, of 3.13, or what the bytes publish.
bool choose_layout(std::uint8_t which) {
  if (which % 3 == 0) return python::find_layout(k311, nullptr, python::layout);
  if (which % 3 == 1) {
    python::layout = kLayout313;
    return true;
  }
  python::Published published{};
  std::memcpy(&published, memory.data(), std::min(memory.size(), sizeof published));
  std::memcpy(published.cookie, "xdebugpy", sizeof published.cookie);
  published.version = k313;
  published.without_lock = 0;
  return python::find_layout(k313, &published, python::layout);
}

void look(runtime::Thread* thread) {
  runtime::PythonChain chain;
  runtime::read_python_chain(thread, chain);
  runtime::keep_python_chain(thread, chain);
  if (thread->python.depth > runtime::PythonFrames::kMax) std::abort();
}

}  // namespace

// What find_python() looks for.
extern "C" {
extern const unsigned long Py_Version = k311;
char PyCode_Type, PyUnicode_Type, PyBytes_Type;
void* PyGILState_GetThisThreadState() {
  return reinterpret_cast<void*>(kMemory);
}
}

namespace culprit::runtime {

std::size_t copy_places(std::span<const iovec> from, void* to) {
  auto* next = static_cast<std::uint8_t*>(to);
  std::size_t copied = 0;
  for (const iovec& place : from) {
    const auto at = reinterpret_cast<python::Address>(place.iov_base);
    if (at < kMemory || at - kMemory > memory.size()) break;
    const std::size_t size = std::min(place.iov_len, memory.size() - (at - kMemory));
    std::copy_n(memory.data() + (at - kMemory), size, next + copied);
    copied += size;
    if (size < place.iov_len) break;
  }
  return copied;
}

std::uint64_t hash_of_name(const char* text, std::size_t size) {
  if (std::strlen(text) != size) std::abort();
  std::uint64_t hash = size + 1;
  for (std::size_t i = 0; i < size; ++i) hash = hash * 31 + static_cast<unsigned char>(text[i]);
  return hash | 1;
}

std::uint32_t module_of_name(std::atomic<std::uint32_t>& /*known*/, std::uint64_t hash,
                             const char* /*text*/) {
  return static_cast<std::uint32_t>(hash % 1000);
}

}  // namespace culprit::runtime

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kHead = 2;
  static auto* const thread = [] {
    runtime::find_python();
    python::types = {.code = 0x11, .string = 0x22, .bytes = 0x33};
    void* const place =
        mmap(nullptr, sizeof(runtime::Thread), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    auto* const made = static_cast<runtime::Thread*>(place);
    if (!runtime::python_runs(made)) std::abort();
    return made;
  }();
  if (size < kHead) return 0;
  memory = {data + kHead, size - kHead};
  if (!choose_layout(data[0])) return 0;
  std::memset(static_cast<void*>(&thread->python), 0, sizeof thread->python);
  look(thread);
  look(thread);  // nothing has changed
  memory = memory.first(memory.size() * data[1] / 256);
  look(thread);
  return 0;
}
