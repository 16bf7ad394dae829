#include "merge/waiting.hpp"

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
  bool in_library = false;   ///< below a frame of a library whose own code waits
  bool called_back = false;  ///< below code that such a library called: an OpenMP region
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
    for (database::ContextId x = 0; x < attribution_.contexts.size(); ++x) visit(x);
    return std::move(waiting_);
  }

 private:
  void visit(database::ContextId x);
  void enter_frontier(database::ContextId x, const NameRule& rule);
  void below_frontier(database::ContextId x);
  void library_statement(database::ContextId x);
  void note_library(database::ContextId x);

  Attribution& attribution_;
  const IdleRules& rules_;
  const std::set<std::string>& executables_;
  RuleOfName rule_of_;
  std::vector<Waiting> waiting_;
  std::vector<Around> around_;
  std::unordered_map<database::StringId, bool> library_waits_;  // by module, each looked up once
};

void FrontierSearch::enter_frontier(database::ContextId x, const NameRule& rule) {
  Context& context = attribution_.contexts[x];
  context.flags |= database::kFrontier | database::kInWait;
  context.wait_kind = static_cast<std::uint8_t>(rule.kind);
  waiting_[x] = {.kind = rule.kind,
                 .by_name = rule.frontier == Frontier::wait,
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
  const bool callback = frame && context.module != around_[x].frontier_module &&
                        executables_.contains(attribution_.strings[context.module]);
  if (rule.moves || callback) {
    context.flags |= database::kMoves;
    waiting.never = true;
    waiting.by_name = false;
  }
  if (waiting.never) return;
  const bool called_by_lock = frame && around_[x].frontier == Frontier::wait_below;
  if (rule.progress || called_by_lock || rule.frontier == Frontier::wait) waiting.by_name = true;
}

/// Where we are between a library that waits and the code that it calls back.
void FrontierSearch::note_library(database::ContextId x) {
  const database::StringId module = attribution_.contexts[x].module;
  const auto [entry, fresh] = library_waits_.try_emplace(module);
  if (fresh) entry->second = rules_.library(attribution_.strings[module], true) != WaitKind::none;
  if (entry->second) {
    around_[x].in_library = true;
  } else if (around_[x].in_library) {
    around_[x].called_back = true;
  }
}

/// A worker inside a region waits at a barrier of that region; outside of all, it has no work.
void FrontierSearch::library_statement(database::ContextId x) {
  Context& context = attribution_.contexts[x];
  const bool at_barrier = around_[x].main_thread || around_[x].called_back;
  const WaitKind kind = rules_.library(attribution_.strings[context.module], at_barrier);
  if (kind != WaitKind::none) enter_frontier(x, {.frontier = Frontier::wait, .kind = kind});
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
  if (context.kind == ContextKind::procedure) note_library(x);
  if ((context.flags & database::kInWait) != 0) {
    below_frontier(x);
  } else if (context.kind == ContextKind::procedure) {
    const NameRule& rule = rule_of_[context.name];
    if (rule.frontier != Frontier::none) enter_frontier(x, rule);
  } else if (context.kind == ContextKind::statement) {
    library_statement(x);
  }
}

}  // namespace

std::vector<Waiting> find_waiting(Attribution& attribution, const IdleRules& rules,
                                  const std::set<std::string>& executables) {
  return FrontierSearch(attribution, rules, executables).run();
}

}  // namespace culprit::merge
