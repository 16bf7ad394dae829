#pragma once

#include "database/contents.hpp"
#include "text/screen.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

namespace culprit::viewer {

/// `main › step › MPI_Win_fence`: a context's path for people. Without roots, start-up frames, CPython's
/// insides, call sites and parameter lists; a procedure that calls itself, directly or from its loops, stands
/// there once
/// (`walk (recursion)`); the middle of a path of very many frames goes.
std::string path_text(const database::Contents& experiment, database::ContextId context,
                      const Screen& screen);

/// The same in one line of `width` columns at most: without code that has no
/// name, then without loops, then without outer frames but the first,
/// as far as room asks for it; a name is cut only where that is not enough.
std::string path_line(const database::Contents& experiment, database::ContextId context, std::size_t width,
                      bool unicode);

/// Numbers call paths by what path_text() shows of them: paths that differ in call sites alone, or in how
/// deep a recursion is, if there is one, have one number.
class ShownPaths {
 public:
  /// The experiment must outlive it.
  explicit ShownPaths(const database::Contents& experiment) : experiment_(experiment) {}

  [[nodiscard]] std::uint32_t number(database::ContextId context);

 private:
  /// The number of the path above, and what is shown of a frame.
  using Step = std::array<std::uint32_t, 6>;

  std::uint32_t numbered(std::uint32_t above, database::ContextId context);

  const database::Contents& experiment_;
  std::unordered_map<database::ContextId, std::uint32_t> number_of_;
  std::map<Step, std::uint32_t> numbers_;
};

/// What a context is part of, for people: no statement and no call site.
database::ContextId scope_around(const database::Contents& experiment, database::ContextId context);

/// The same, but no part of a language's run-time library either: what the user wrote or chose, `step` rather
/// than `nanosleep`.
database::ContextId users_scope(const database::Contents& experiment, database::ContextId context);

/// The same, and one scope for all that paths show alike: what a function does is one sum, wherever its
/// caller calls it.
class UsersScopes {
 public:
  /// The experiment must outlive it.
  explicit UsersScopes(const database::Contents& experiment) : experiment_(experiment), paths_(experiment) {}

  /// Of those that are alike, the one that was asked for first.
  [[nodiscard]] database::ContextId of(database::ContextId context) {
    const database::ContextId scope = users_scope(experiment_, context);
    return first_.try_emplace(paths_.number(scope), scope).first->second;
  }

 private:
  const database::Contents& experiment_;
  ShownPaths paths_;
  std::unordered_map<std::uint32_t, database::ContextId> first_;  ///< by number of the path
};

}  // namespace culprit::viewer
