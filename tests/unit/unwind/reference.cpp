#include "reference.hpp"

#include "machine/machine.hpp"
#include "modules.hpp"
#include "unwind/byte_cursor.hpp"
#include "unwind/call_frame.hpp"
#include "unwind/stack_bounds.hpp"

#include <libunwind.h>

// Exported by libunwind for users with address spaces of their own, but declared only in its private headers.
extern "C" int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t*,
                                                  unw_proc_info_t*, int, void*);

namespace culprit::unwind::testing {

namespace {

constexpr unsigned kKnownPages = 8;
constexpr unsigned kMarks = 32;

struct Question {
  std::span<const std::uint64_t> registers;  // DWARF's numbers, which are libunwind's too
  std::uint64_t stack_low, stack_high;
  std::uint64_t pages[kKnownPages];  // found readable
  unsigned page_count;
  std::uint64_t marks[kMarks];  // instructions of the last function that libunwind does not know
  unsigned mark_count;
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

std::uint64_t behind_number(std::uint64_t at) {  // LEB128
  while ((load_as<std::uint8_t>(at++) & 0x80U) != 0) {
  }
  return at;
}

/// Behind the operands of a call-frame instruction (DWARF 5, 6.4.2). 0: none that compilers write.
std::uint64_t behind_operands(unsigned code, std::uint64_t at) {
  if (code >> 6U == 2) return behind_number(at);
  if (code >> 6U != 0) return at;
  switch (code) {
    case 0x00:  // nothing
    case 0x0a:  // remember and restore
    case 0x0b:
    case 0x2d:
      return at;
    case 0x02:  // advance
    case 0x03:
    case 0x04:
      return at + (std::uint64_t{1} << (code - 2));
    case 0x06:  // a register, or an offset
    case 0x07:
    case 0x08:
    case 0x0d:
    case 0x0e:
    case 0x13:
    case 0x2e:
      return behind_number(at);
    case 0x05:  // a register and an offset, or another register
    case 0x09:
    case 0x0c:
    case 0x11:
    case 0x12:
    case 0x14:
    case 0x15:
      return behind_number(behind_number(at));
    default:
      return 0;
  }
}

/// libunwind 1.6 stops at DW_CFA_AARCH64_negate_ra_state: it will read a DW_CFA_nop there.
void mark_signatures(const CodeModule& module, std::uint64_t pc, Question& question) {
  constexpr unsigned kNegateReturnState = 0x2d;
  FrameDescription description;
  question.mark_count = 0;
  if (!find_description(module, pc, description)) return;
  for (std::uint64_t at = description.begin; at != 0 && at < description.end;) {
    const unsigned code = load_as<std::uint8_t>(at);
    if (code == kNegateReturnState && question.mark_count != kMarks)
      question.marks[question.mark_count++] = at;
    at = behind_operands(code, at + 1);
  }
}

std::uint64_t unmarked(const Question& question, std::uint64_t address, std::uint64_t value) {
  for (unsigned i = 0; i < question.mark_count; ++i) {
    const std::uint64_t byte = question.marks[i] - address;
    if (byte < 8) value &= ~(std::uint64_t{0xff} << (8 * byte));
  }
  return value;
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
  if (machine::This::kSignsReturns) mark_signatures(module, pc, *static_cast<Question*>(argument));
  return UNW_OBJ(dwarf_search_unwind_table)(in, pc, &table, info, need, argument);
}

void put_unwind_info(unw_addr_space_t /*in*/, unw_proc_info_t* /*info*/, void* /*argument*/) {}

int no_dynamic_info(unw_addr_space_t /*in*/, unw_word_t* /*address*/, void* /*argument*/) {
  return -UNW_ENOINFO;
}

/// libunwind 1.6 knows nothing of signed return addresses: it is given them without their signatures. (The
/// kernel's return from a handler lies in no module.)
std::uint64_t without_signature(std::uint64_t value) {
  const std::uint64_t address = value & machine::This::kAddressMask;
  return machine::This::kSignsReturns && address != value && page_is_readable(address) ? address : value;
}

int access_memory(unw_addr_space_t /*in*/, unw_word_t address, unw_word_t* value, int write, void* argument) {
  auto& question = *static_cast<Question*>(argument);
  if (write != 0 || !readable(question, address)) return -UNW_EINVAL;
  *value = without_signature(unmarked(question, address, load_as<std::uint64_t>(address)));
  return 0;
}

int access_register(unw_addr_space_t /*in*/, unw_regnum_t number, unw_word_t* value, int write,
                    void* argument) {
  const auto& registers = static_cast<const Question*>(argument)->registers;
  const auto at = static_cast<std::size_t>(number);
  if (write != 0 || at >= registers.size()) return -UNW_EBADREG;
  *value = without_signature(registers[at]);
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

std::size_t ask_reference(std::span<const std::uint64_t> registers, std::uint64_t stack_low,
                          std::uint64_t stack_high, std::uint64_t* pc, std::size_t capacity) {
  Question question{.registers = registers,
                    .stack_low = stack_low,
                    .stack_high = stack_high,
                    .pages = {},
                    .page_count = 0,
                    .marks = {},
                    .mark_count = 0};
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
