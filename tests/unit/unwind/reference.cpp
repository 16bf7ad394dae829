#include "reference.hpp"

#include "modules.hpp"
#include "unwind/byte_cursor.hpp"
#include "unwind/stack_bounds.hpp"

#include <libunwind.h>

// Exported by libunwind for users with address spaces of their own, but declared only in its private headers.
extern "C" int _Ux86_64_dwarf_search_unwind_table(unw_addr_space_t, unw_word_t, unw_dyn_info_t*,
                                                  unw_proc_info_t*, int, void*);

namespace culprit::unwind::testing {

namespace {

constexpr unsigned kKnownPages = 8;

struct Question {
  std::uint64_t registers[17];  // DWARF numbers, which are libunwind's too; 16 is the pc
  std::uint64_t stack_low, stack_high;
  std::uint64_t pages[kKnownPages];  // found readable
  unsigned page_count;
};

unw_addr_space_t space;

bool readable(Question& question, std::uint64_t address) {
  if (address >= question.stack_low && address <= question.stack_high - 8) return true;
  const std::uint64_t page = address & ~(StackBounds::kPage - 1);
  const unsigned known = question.page_count < kKnownPages ? question.page_count : kKnownPages;
  for (unsigned i = 0; i < known; ++i) {
    if (question.pages[i] == page) return true;
  }
  if (!page_is_readable(address) || !page_is_readable(address + 7)) return false;
  question.pages[question.page_count++ % kKnownPages] = page;
  return true;
}

int find_proc_info(unw_addr_space_t in, unw_word_t pc, unw_proc_info_t* info, int need, void* argument) {
  CodeModule module;
  if (!find_loaded_module(nullptr, pc, module) || module.eh_frame_hdr == 0) return -UNW_ENOINFO;
  const std::uint64_t header = module.eh_frame_hdr;
  if (load_as<std::uint32_t>(header) != 0x3b031b01) return -UNW_ENOINFO;  // the encodings that linkers write
  unw_dyn_info_t table{};
  table.start_ip = module.begin;
  table.end_ip = module.end;
  table.format = UNW_INFO_FORMAT_REMOTE_TABLE;
  table.u.rti.segbase = header;
  table.u.rti.table_len = load_as<std::uint32_t>(header + 8);  // entries of 8 bytes
  table.u.rti.table_data = header + 12;
  return _Ux86_64_dwarf_search_unwind_table(in, pc, &table, info, need, argument);
}

void put_unwind_info(unw_addr_space_t /*in*/, unw_proc_info_t* /*info*/, void* /*argument*/) {}

int no_dynamic_info(unw_addr_space_t /*in*/, unw_word_t* /*address*/, void* /*argument*/) {
  return -UNW_ENOINFO;
}

int access_memory(unw_addr_space_t /*in*/, unw_word_t address, unw_word_t* value, int write, void* argument) {
  auto& question = *static_cast<Question*>(argument);
  if (write != 0 || !readable(question, address)) return -UNW_EINVAL;
  *value = load_as<std::uint64_t>(address);
  return 0;
}

int access_register(unw_addr_space_t /*in*/, unw_regnum_t number, unw_word_t* value, int write,
                    void* argument) {
  if (write != 0 || number < 0 || number > UNW_X86_64_RIP) return -UNW_EBADREG;
  *value = static_cast<const Question*>(argument)->registers[number];
  return 0;
}

int no_float(unw_addr_space_t /*in*/, unw_regnum_t /*number*/, unw_fpreg_t* /*value*/, int /*write*/,
             void* /*argument*/) {
  return -UNW_EBADREG;
}

int no_resume(unw_addr_space_t /*in*/, unw_cursor_t* /*cursor*/, void* /*argument*/) {
  return -UNW_EINVAL;
}

int no_name(unw_addr_space_t /*in*/, unw_word_t /*pc*/, char* /*name*/, std::size_t /*size*/,
            unw_word_t* /*offset*/, void* /*argument*/) {
  return -UNW_ENOINFO;
}

}  // namespace

void prepare_reference() {
  static unw_accessors_t accessors{};
  accessors.find_proc_info = find_proc_info;
  accessors.put_unwind_info = put_unwind_info;
  accessors.get_dyn_info_list_addr = no_dynamic_info;
  accessors.access_mem = access_memory;
  accessors.access_reg = access_register;
  accessors.access_fpreg = no_float;
  accessors.resume = no_resume;
  accessors.get_proc_name = no_name;
  space = unw_create_addr_space(&accessors, 0);
  unw_set_caching_policy(space, UNW_CACHE_NONE);
}

std::size_t ask_reference(const ThreadState& state, std::uint64_t stack_low, std::uint64_t stack_high,
                          std::uint64_t* pc, std::size_t capacity) {
  Question question{.registers = {state.rax, state.rdx, state.rcx, state.rbx, state.rsi, state.rdi, state.rbp,
                                  state.rsp, state.r8, state.r9, state.r10, state.r11, state.r12, state.r13,
                                  state.r14, state.r15, state.rip},
                    .stack_low = stack_low,
                    .stack_high = stack_high,
                    .pages = {},
                    .page_count = 0};
  unw_cursor_t cursor;
  if (unw_init_remote(&cursor, space, &question) != 0) return 0;
  std::size_t depth = 0;
  do {
    unw_word_t at = 0;
    unw_get_reg(&cursor, UNW_REG_IP, &at);
    if (at == 0) break;
    pc[depth++] = at;
  } while (depth < capacity && unw_step(&cursor) > 0);
  return depth;
}

}  // namespace culprit::unwind::testing
