#include "runtime/state/own_memory.hpp"

#include "measurement/raw_memory.hpp"
#include "runtime/system/system_calls.hpp"

#include <sys/mman.h>

namespace culprit::runtime {

volatile std::uint8_t* memory_mark = nullptr;

namespace {

constexpr std::uint64_t kPage = 4096;  // or what the kernel rounds it up to

volatile std::uint8_t* map_mark() {
  using namespace measurement;
  void* page = raw_map(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  if (page == MAP_FAILED) return nullptr;
  if (raw_advise(page, kPage, MADV_WIPEONFORK) == 0) return static_cast<std::uint8_t*>(page);
  raw_unmap(page, kPage);
  return nullptr;
}

}  // namespace

std::size_t copy_places(std::span<const iovec> from, void* to) {
  iovec here{.iov_base = to, .iov_len = 0};
  for (const iovec& place : from) here.iov_len += place.iov_len;
  const long got = system_call(SYS_process_vm_readv, process.pid, word(&here), 1, word(from.data()),
                               static_cast<long>(from.size()), 0);
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

void mark_memory() {
  if (memory_mark == nullptr) memory_mark = map_mark();
  if (memory_mark != nullptr) *memory_mark = 1;
}

}  // namespace culprit::runtime
