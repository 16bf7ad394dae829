#pragma once

#include "database/database.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace culprit::database {

/// What one thread spends at one statement, in samples.
struct Spent {
  std::uint64_t samples = 0;  ///< of 5 ms each
  double on_cpu = 1;          ///< share of it on a CPU
};
using SpentBy = std::function<Spent(std::uint32_t location)>;

/// Builds a calling context tree scope by scope, and the flat tree and string table that belong to it.
class ExampleTree {
 public:
  ExampleTree();

  /// Opens a scope below the innermost open one; close() ends it.
  ContextId open(ContextKind kind, const std::string& name, const std::string& file = {},
                 std::uint32_t line = 0);
  void close();

  /// A call site with a procedure of `module` below it; close_call() ends both.
  void call(std::uint32_t line, const std::string& procedure, const std::string& file,
            std::uint32_t procedure_line, const std::string& module = {});
  void close_call();

  /// As call, for a communication or wait frame.
  void wait(std::uint32_t line, const std::string& procedure, const std::string& module,
            std::uint8_t wait_kind);

  /// A statement, and what the threads spend at it. `moves`: it moves data, below a wait.
  void statement(const std::string& file, std::uint32_t line, SpentBy spent, bool moves = false);

  /// What a statement context holds.
  struct Leaf {
    ContextId context = 0;
    SpentBy spent;
  };
  [[nodiscard]] const std::vector<Leaf>& leaves() const { return leaves_; }

  /// Fills strings, contexts and flat.
  void finish(Experiment& experiment);

 private:
  struct FlatNode {
    std::string name, file, module;
    std::uint32_t line = 0;
    ContextKind kind = ContextKind::root;
    std::map<std::string, std::size_t> children;
  };
  std::size_t flat_child(std::size_t parent, const FlatNode& node);
  std::size_t flat_of(ContextId context);
  void number_flat(std::size_t node, FlatId parent, Experiment& experiment, std::vector<FlatId>& ids) const;

  struct Scope {
    ContextId parent = kNone, end = 0;
    std::string name, file, module;
    std::uint32_t line = 0;
    ContextKind kind = ContextKind::root;
    std::uint8_t flags = 0, wait_kind = 0;
    std::size_t flat = static_cast<std::size_t>(-1);
  };
  std::vector<Scope> scopes_;
  std::vector<ContextId> open_;
  std::vector<FlatNode> flat_;
  std::vector<Leaf> leaves_;
};

}  // namespace culprit::database
