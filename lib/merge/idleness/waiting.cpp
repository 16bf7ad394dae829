// Finds the frontier of idleness in the attributed tree (Tallent 2010, section II; docs/algorithms.md 5.1,
// 5.3): the outermost frames that a rule knows as waiting or communication, and what below them moves data,
// computes or calls back into the program. Run-time libraries that wait in their own code (OpenMP's) are
// found by module: their statements are frontiers, and so is what they call to yield or sleep. One pass in
// pre-order; each context inherits from its parent.
#include "merge/idleness/waiting.hpp"

#include "database/procedure_name.hpp"
#include "merge/rules/run_time_libraries.hpp"

#include <filesystem>
#include <unordered_map>

namespace culprit::merge {
namespace {

using database::Context;
using database::ContextKind;
using measurement::WaitKind;

/// Rules by string id, each looked up once.
class RuleOfName {
 public:
  RuleOfName(const std::vector<std::string>& strings, const IdleRules& rules)
      : strings_(strings), rules_(rules) {}

  const NameRule& operator[](database::StringId name) {
    const auto [entry, fresh] = known_.try_emplace(name);
    if (fresh) entry->second = rules_.procedure(strings_[name]);
    return entry->second;
  }

 private:
  const std::vector<std::string>& strings_;
  const IdleRules& rules_;
  std::unordered_map<database::StringId, NameRule> known_;
};

/// What a context hands on to its children, beside its Waiting.
struct Around {
  Frontier frontier = Frontier::none;
  database::StringId frontier_module = 0;
  bool main_thread = true;
  bool of_program = false;  ///< below code other than such a library's or the C library's: in an OpenMP
                            ///< region, or on the way to one
  database::StringId library = 0;  ///< such a library, if it or the C library on its behalf runs here
  WaitKind kind = WaitKind::none;  ///< what its code waits for, if a procedure around says so
  bool works = false;              ///< below a procedure of a library whose own code waits that does not
};

class FrontierSearch {
 public:
  FrontierSearch(Attribution& attribution, const IdleRules& rules, const std::set<std::string>& executables)
      : attribution_(attribution),
        rules_(rules),
        executables_(executables),
        rule_of_(attribution.strings, rules),
        waiting_(attribution.contexts.size()),
        around_(attribution.contexts.size()) {}

  std::vector<Waiting> run() {
    find_program();
    for (database::ContextId x = 0; x < attribution_.contexts.size(); ++x) visit(x);
    for (database::ContextId x = 0; x < attribution_.contexts.size(); ++x)
      waiting_[x].in_library = around_[x].library != 0;
    return std::move(waiting_);
  }

 private:
  void visit(database::ContextId x);
  void enter_frontier(database::ContextId x, const NameRule& rule);
  void below_frontier(database::ContextId x);
  WaitKind kind_in(database::StringId library, database::ContextId x);
  void library_statement(database::ContextId x);
  [[nodiscard]] bool waits_for_library(database::ContextId x, const NameRule& rule) const;
  void note_library(database::ContextId x);
  void note_io(database::ContextId x);
  bool waits(database::StringId module);
  void find_program();
  bool in_run_time_library(const Context& context);
  [[nodiscard]] bool is_entry(const Context& context) const;
  [[nodiscard]] bool stands_for_left_out(const Context& context) const;
  [[nodiscard]] bool stands_for_file(const Context& context) const;

  Attribution& attribution_;
  const IdleRules& rules_;
  const std::set<std::string>& executables_;
  RuleOfName rule_of_;
  std::vector<Waiting> waiting_;
  std::vector<Around> around_;
  std::vector<std::uint8_t> program_below_;                          // by context
  std::unordered_map<database::StringId, bool> library_waits_;       // by module, each looked up once
  std::unordered_map<database::StringId, bool> run_time_libraries_;  // likewise
};

void FrontierSearch::enter_frontier(database::ContextId x, const NameRule& rule) {
  Context& context = attribution_.contexts[x];
  context.flags |= database::kFrontier | database::kInWait;
  context.wait_kind = static_cast<std::uint8_t>(rule.kind);
  waiting_[x] = {.kind = rule.kind,
                 .by_name = rule.frontier == Frontier::wait,
                 .unmarked = rule.unmarked,
                 .never = rule.frontier == Frontier::setup};
  around_[x].frontier = rule.frontier;
  around_[x].frontier_module = context.module;
}

void FrontierSearch::below_frontier(database::ContextId x) {
  Context& context = attribution_.contexts[x];
  const bool frame = context.kind == ContextKind::procedure;
  if (!frame && context.kind != ContextKind::inlined) return;
  const NameRule& rule = rule_of_[context.name];
  Waiting& waiting = waiting_[x];
  const std::string& module = attribution_.strings[context.module];
  const bool callback = frame && context.module != around_[x].frontier_module &&
                        (module == database::kPythonModule || executables_.contains(module));
  if (rule.moves || callback) {
    context.flags |= database::kMoves;
    waiting.never = true;
    waiting.by_name = false;
  }
  if (waiting.never) return;
  const bool called_by_lock = frame && around_[x].frontier == Frontier::wait_below;
  if (rule.progress || called_by_lock || rule.frontier == Frontier::wait) waiting.by_name = true;
}

/// The C library starts threads, and what a library calls of it is no part of the program: so the loader, and
/// the kernel's functions.
bool is_c_library(const std::string& module) {
  const std::string file = std::filesystem::path(module).filename().string();
  return file.starts_with("libc.") || file.starts_with("libc-") || file.starts_with("libpthread") ||
         file.starts_with("ld-") || file == "[vdso]";
}

bool FrontierSearch::waits(database::StringId module) {
  const auto [entry, fresh] = library_waits_.try_emplace(module);
  if (fresh) entry->second = rules_.library(attribution_.strings[module], true) != WaitKind::none;
  return entry->second;
}

/// Notes below which contexts there is code of the program.
void FrontierSearch::find_program() {
  const std::vector<Context>& contexts = attribution_.contexts;
  program_below_.resize(contexts.size());
  for (auto x = static_cast<database::ContextId>(contexts.size()); x-- > 1;) {
    const bool here = contexts[x].kind == ContextKind::procedure && !waits(contexts[x].module) &&
                      !is_c_library(attribution_.strings[contexts[x].module]);
    if (here || program_below_[x] != 0) program_below_[contexts[x].parent] = 1;
  }
}

/// Where we are between a library that waits and the code that calls it, or that it calls back.
void FrontierSearch::note_library(database::ContextId x) {
  const database::StringId module = attribution_.contexts[x].module;
  if (waits(module)) {
    around_[x].library = module;
    around_[x].works = around_[x].works || rule_of_[attribution_.contexts[x].name].works;
    return;
  }
  if (is_c_library(attribution_.strings[module])) return;
  around_[x].works = false;
  around_[x].library = 0;
  around_[x].kind = WaitKind::none;
  around_[x].of_program = true;
}

/// A worker inside a region waits at a barrier of that region; outside of all, it has no work. Threads of the
/// program's own are no workers.
WaitKind FrontierSearch::kind_in(database::StringId library, database::ContextId x) {
  if (around_[x].kind != WaitKind::none && waits(library)) return around_[x].kind;
  const bool at_barrier = around_[x].main_thread || around_[x].of_program;
  return rules_.library(attribution_.strings[library], at_barrier);
}

bool FrontierSearch::in_run_time_library(const Context& context) {
  const auto [entry, fresh] = run_time_libraries_.try_emplace(context.module);
  if (fresh) entry->second = is_run_time_library(attribution_.strings[context.module]);
  return entry->second;
}

/// Where the kernel starts a program: the compiler's, although it lies in the program's module.
bool FrontierSearch::is_entry(const Context& context) const {
  return context.kind == ContextKind::procedure && attribution_.strings[context.name] == "_start";
}

bool FrontierSearch::stands_for_left_out(const Context& context) const {
  return context.kind == ContextKind::procedure && context.module == 0 &&
         attribution_.strings[context.name] == kLeftOut;
}

/// Of hpcrun-lite --files.
bool FrontierSearch::stands_for_file(const Context& context) const {
  return context.kind == ContextKind::region &&
         !database::file_of_region(attribution_.strings[context.name]).empty();
}

void FrontierSearch::library_statement(database::ContextId x) {
  if (around_[x].works) return;
  const WaitKind kind = kind_in(attribution_.contexts[x].module, x);
  if (kind != WaitKind::none) enter_frontier(x, {.frontier = Frontier::wait, .kind = kind});
}

/// How a library that waits does it where it does not spin: it yields, or it sleeps until another thread says
/// so.
bool FrontierSearch::waits_for_library(database::ContextId x, const NameRule& rule) const {
  const Around& around = around_[x];
  if (around.library == 0 || around.works || attribution_.contexts[x].module == around.library) return false;
  return rule.progress || (rule.frontier == Frontier::wait && rule.kind == WaitKind::condition);
}

/// What MPI, and waits of threads, read and write on their own behalf belongs to these. So does what setting
/// up reads.
void FrontierSearch::note_io(database::ContextId x) {
  const Context& context = attribution_.contexts[x];
  const bool around = waiting_[context.parent].io;
  const bool in_other_call =
      (attribution_.contexts[context.parent].flags & database::kInWait) != 0 && !around;
  const NameRule& rule = rule_of_[context.name];
  const bool here = context.kind == ContextKind::procedure && !in_other_call &&
                    (rule.io || (rule.libc_io && in_run_time_library(context)));
  waiting_[x].io = around || here;
}

void FrontierSearch::visit(database::ContextId x) {
  Context& context = attribution_.contexts[x];
  if (context.parent == database::kNone) return;
  const database::ContextId parent = context.parent;
  around_[x] = around_[parent];
  if (context.kind == ContextKind::thread_root) around_[x].main_thread = false;
  waiting_[x] = waiting_[parent];
  constexpr unsigned kInherited = database::kInWait | database::kMoves;
  context.flags |= static_cast<std::uint8_t>(attribution_.contexts[parent].flags & kInherited);
  // Nor can anybody change what stands for frames that were left out.
  if (in_run_time_library(context) || is_entry(context) || stands_for_left_out(context) ||
      stands_for_file(context))
    context.flags |= database::kRunTime;
  if (context.kind == ContextKind::procedure) note_library(x);
  if ((context.flags & database::kInWait) != 0) {
    below_frontier(x);
  } else if (context.kind == ContextKind::procedure) {
    const NameRule& rule = rule_of_[context.name];
    if (waits_for_library(x, rule)) {
      enter_frontier(x, {.frontier = Frontier::wait, .kind = kind_in(around_[x].library, x)});
    } else if (rule.frontier == Frontier::wait && program_below_[x] != 0 && waits(context.module)) {
      around_[x].kind = rule.kind;  // it works at tasks while it waits: only its own code does wait
    } else if (rule.frontier != Frontier::none) {
      enter_frontier(x, rule);
    }
  } else if (context.kind == ContextKind::statement) {
    library_statement(x);
  }
  note_io(x);
}

}  // namespace

std::vector<Waiting> find_waiting(Attribution& attribution, const IdleRules& rules,
                                  const std::set<std::string>& executables) {
  return FrontierSearch(attribution, rules, executables).run();
}

}  // namespace culprit::merge
