// libunwind's remote interface on a copy: it asks for registers, memory and unwind information by functions
// of ours. Registers and the stack are those of the copy. Code, .eh_frame_hdr and .eh_frame are read from the
// process that goes on meanwhile: these do not change. A path that needs other memory (another stack that a
// signal handler runs on, the far end of a stack with large arrays) is cut there, and its thread is to be
// walked while it is stopped.
#include "stacks/walk.hpp"

#include <array>
#include <cstring>
#include <optional>

#include <libunwind.h>
#include <sys/syscall.h>

// Of libunwind, for those who find modules by themselves: its headers leave it out.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the library's name
extern "C" int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t*,
                                                  unw_proc_info_t*, int, void*);

namespace culprit::stacks {

struct Walker::State {
  explicit State(AddressSpace& of);
  ~State() { unw_destroy_addr_space(space); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  AddressSpace& memory;
  const ThreadCopy* thread = nullptr;
  user_regs_struct registers{};  ///< from which it is walked on
  bool stopped = false, starved = false;
  bool unknown = false;  ///< code without unwind information, since the last step
  unw_addr_space_t space = nullptr;
};

namespace {

std::optional<std::uint64_t> copied_word(const ThreadCopy& thread, std::uint64_t address) {
  if (address < thread.stack || thread.bytes.size() < sizeof(std::uint64_t)) return std::nullopt;
  const std::uint64_t at = address - thread.stack;
  if (at > thread.bytes.size() - sizeof(std::uint64_t)) return std::nullopt;
  std::uint64_t word = 0;
  std::memcpy(&word, thread.bytes.data() + at, sizeof word);
  return word;
}

template <class State>
State& state_of(void* argument) {
  return *static_cast<State*>(argument);
}

/// The dynamic loader: its first function has no unwind information, and is where a process begins.
bool is_loader(const LoadedModule* module) {
  return module != nullptr && module->key.path.substr(module->key.path.rfind('/') + 1).starts_with("ld-");
}

template <class State>
int find_procedure(unw_addr_space_t space, unw_word_t address, unw_proc_info_t* found, int wants_details,
                   void* argument) {
  const LoadedModule* const module = state_of<State>(argument).memory.module_at(address);
  if (module == nullptr || module->table == 0) {
    state_of<State>(argument).unknown = !is_loader(module);
    return -UNW_ENOINFO;
  }
  unw_dyn_info_t information{};
  information.format = UNW_INFO_FORMAT_REMOTE_TABLE;
  information.start_ip = module->begin;
  information.end_ip = module->end;
  information.u.rti.segbase = module->table;
  information.u.rti.table_data = module->first_entry;
  information.u.rti.table_len = module->entries;  // of 8 bytes each, which is also the unit
  const int result =
      UNW_OBJ(dwarf_search_unwind_table)(space, address, &information, found, wants_details, argument);
  if (result == -UNW_ENOINFO) state_of<State>(argument).unknown = !is_loader(module);
  return result;
}

void put_information(unw_addr_space_t /*space*/, unw_proc_info_t* /*information*/, void* /*argument*/) {}

/// Whether it is just behind a system call that makes a thread. The C library's functions around it have no
/// unwind information for the instructions there: for the new thread, which nobody called, it would be wrong.
bool is_behind_clone(const user_regs_struct& all, AddressSpace& memory) {
  const std::uint64_t call = machine::stopped_call(all);
  if (call != SYS_clone && call != SYS_clone3) return false;
  return machine::holds_system_call(
      memory.lasting_word(machine::stopped_pc(all) - sizeof(std::uint64_t)).value_or(0));
}

int find_generated(unw_addr_space_t /*space*/, unw_word_t* /*list*/, void* /*argument*/) {
  return -UNW_ENOINFO;
}

template <class State>
int access_memory(unw_addr_space_t /*space*/, unw_word_t address, unw_word_t* word, int write,
                  void* argument) {
  if (write != 0) return -UNW_EINVAL;
  State& state = state_of<State>(argument);
  auto found = copied_word(*state.thread, address);
  if (!found) found = state.memory.lasting_word(address);
  if (!found && state.stopped) found = state.memory.word(address);
  if (!found && !state.stopped) state.starved = state.starved || state.memory.is_data(address);
  if (!found) return -UNW_EINVAL;
  *word = *found;
  return 0;
}

template <class State>
int access_register(unw_addr_space_t /*space*/, unw_regnum_t number, unw_word_t* value, int write,
                    void* argument) {
  const auto registers = machine::numbered_registers(state_of<State>(argument).registers);
  if (write != 0 || number < 0 || static_cast<std::size_t>(number) >= registers.size()) return -UNW_EBADREG;
  *value = registers[static_cast<std::size_t>(number)];
  return 0;
}

int access_float(unw_addr_space_t /*space*/, unw_regnum_t /*number*/, unw_fpreg_t* /*value*/, int /*write*/,
                 void* /*argument*/) {
  return -UNW_EBADREG;
}

int resume(unw_addr_space_t /*space*/, unw_cursor_t* /*cursor*/, void* /*argument*/) {
  return -UNW_EINVAL;
}

int name_procedure(unw_addr_space_t /*space*/, unw_word_t /*address*/, char* /*buffer*/, std::size_t /*size*/,
                   unw_word_t* /*offset*/, void* /*argument*/) {
  return -UNW_ENOINFO;
}

}  // namespace

Walker::State::State(AddressSpace& of) : memory(of) {
  unw_accessors_t accessors{};
  accessors.find_proc_info = find_procedure<State>;
  accessors.put_unwind_info = put_information;
  accessors.get_dyn_info_list_addr = find_generated;
  accessors.access_mem = access_memory<State>;
  accessors.access_reg = access_register<State>;
  accessors.access_fpreg = access_float;
  accessors.resume = resume;
  accessors.get_proc_name = name_procedure;
  space = unw_create_addr_space(&accessors, 0);
  unw_set_caching_policy(space, UNW_CACHE_GLOBAL);
}

Walker::Walker(AddressSpace& memory) : state_(std::make_unique<State>(memory)) {}
Walker::~Walker() = default;

void Walker::forget() {
  unw_flush_cache(state_->space, 0, 0);
}

Walk Walker::walk(const ThreadCopy& thread) {
  state_->stopped = state_->starved = false;
  Walk walk = walk_on(thread);
  walk.starved = state_->starved && !walk.whole;
  return walk;
}

Walk Walker::walk_stopped(const ThreadCopy& thread) {
  state_->stopped = true;
  return walk_on(thread);
}

/// From behind the call that made a thread to its caller. False: the walk ends here, of the new thread as a
/// whole.
bool Walker::leave_clone(const ThreadCopy& thread, Walk& walk) {
  unw_proc_info_t information{};
  if (find_procedure<State>(state_->space, machine::stopped_pc(thread.registers), &information, 0,
                            state_.get()) == 0)
    return true;  // libunwind knows the way
  walk.whole = machine::stopped_result(thread.registers) == 0;
  if (walk.whole) return false;
  const auto load = [this](std::uint64_t slot, std::uint64_t& word) {
    return access_memory<State>(state_->space, slot, &word, 0, state_.get()) == 0;
  };
  if (!machine::leave_bare_function(state_->registers, load)) return false;
  walk.steps.push_back({machine::stopped_pc(state_->registers), false});
  return true;
}

Walk Walker::walk_on(const ThreadCopy& thread) {
  Walk walk;
  state_->thread = &thread;
  state_->registers = thread.registers;
  walk.steps.push_back({machine::stopped_pc(thread.registers), true});
  if (is_behind_clone(thread.registers, state_->memory) && !leave_clone(thread, walk)) return walk;
  unw_cursor_t cursor;
  if (unw_init_remote(&cursor, state_->space, state_.get()) != 0) return walk;
  bool interrupted = unw_is_signal_frame(&cursor) > 0;
  unw_word_t last = machine::stopped_sp(state_->registers);
  while (walk.steps.size() < kMaxDepth) {
    state_->unknown = false;  // libunwind then guesses, and may take it for the end
    const int moved = unw_step(&cursor);
    unw_word_t address = 0;
    unw_word_t stack = 0;
    if (moved <= 0) {
      walk.whole = moved == 0 && !state_->unknown;
      break;
    }
    if (unw_get_reg(&cursor, UNW_REG_IP, &address) != 0 || unw_get_reg(&cursor, UNW_REG_SP, &stack) != 0)
      break;
    if (address == 0) {
      walk.whole = !state_->unknown;
      break;
    }
    if (stack <= last && !interrupted) break;  // leads nowhere
    last = stack;
    const bool trampoline = unw_is_signal_frame(&cursor) > 0;
    walk.steps.push_back({address, interrupted || trampoline});
    interrupted = trampoline;
  }
  return walk;
}

}  // namespace culprit::stacks
