#include "database/lookup_tables.hpp"

#include <string>

#include <catch2/catch.hpp>

namespace lookup_tables_test {

using namespace culprit::database;

namespace {

/// A path of procedures below `<program root>`, from the outermost.
class Path {
 public:
  Path() {
    experiment.strings = {""};
    experiment.contexts.resize(2);
    experiment.contexts[1].parent = 0;
  }
  ContextId call(const std::string& name, std::string_view module) {
    Context procedure;
    procedure.parent = static_cast<ContextId>(experiment.contexts.size() - 1);
    procedure.kind = ContextKind::procedure;
    procedure.name = add(name);
    procedure.module = module == last_module_ ? last_ : add(module);
    last_module_ = module;
    last_ = procedure.module;
    experiment.contexts.push_back(procedure);
    return static_cast<ContextId>(experiment.contexts.size() - 1);
  }

  Experiment experiment;

 private:
  StringId add(std::string_view text) {
    experiment.strings.emplace_back(text);
    return static_cast<StringId>(experiment.strings.size() - 1);
  }

  std::string last_module_;
  StringId last_ = 0;
};

}  // namespace

TEST_CASE(
    "how an interpreter comes to the program is start-up; a program's own code in the same file is not") {
  Path path;
  const ContextId own = path.call("run_script", "/home/me/solver");
  const ContextId nameless = path.call("solver@0x4f2a", "/home/me/solver");
  const ContextId named = path.call("_PyEval_Vector", "/home/me/solver");
  const ContextId python = path.call("main", kPythonModule);
  const ContextId inner = path.call("PyObject_Call", "/home/me/solver");
  const ContextId callee = path.call("step", kPythonModule);
  const auto flags = flags_with_start_up(path.experiment);
  CHECK((flags[own] & kStartUp) == 0);
  CHECK((flags[nameless] & kStartUp) != 0);
  CHECK((flags[named] & kStartUp) != 0);
  for (const ContextId kept : {python, inner, callee}) CHECK((flags[kept] & kStartUp) == 0);
}

}  // namespace lookup_tables_test
