#pragma once

#include "database/contents.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::views {

/// A frame as views show it. The strings belong to the experiment.
struct Frame {
  std::string_view name;    ///< empty for calls and statements; of loops without a place their address
  std::string_view file;    ///< empty where unknown
  std::uint32_t line = 0;   ///< 0 where unknown
  std::string_view module;  ///< load module path, empty where unknown
  database::ContextKind kind = database::ContextKind::root;
};

Frame frame_of(const database::Contents& experiment, const database::Context& context);
Frame frame_of(const database::Contents& experiment, const database::FlatScope& scope);

/// As users think of it: inlined ones are procedures.
constexpr bool is_procedure(database::ContextKind kind) {
  return kind == database::ContextKind::procedure || kind == database::ContextKind::inlined;
}

/// The kind as JSON names it: `root`, `thread-root`, `partial`, … `statement`.
std::string_view kind_name(database::ContextKind kind);

/// The part of a path behind the last slash.
std::string_view base_name(std::string_view path);

/// `file:line` without directories; empty where the file is unknown.
std::string place(const Frame& frame);

/// Whether its name already says which load module it lies in, as those of code without symbols do:
/// `<libblob.so@0x1a40>`.
bool is_named_for_module(const Frame& frame);

/// What a frame is called in a path and on the screen: its name, `loop at file:line` (without debug
/// information `loop at libblob.so@0x1a40`), `call at file:line`,
/// `file:line` for a statement, the base name of a module or file; the super-root is `<run>`.
std::string label(const Frame& frame);

/// The contexts from the super-root to `context`, both included.
std::vector<database::ContextId> path_to(const database::Contents& experiment, database::ContextId context);

}  // namespace culprit::views
