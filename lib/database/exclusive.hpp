#pragma once

#include "database/database.hpp"

// The one rule of exclusive values (docs/algorithms.md 3), for whatever holds contexts and flat scopes: both
// are indexed and have `kind` and `parent`, contexts `flat` too.
namespace culprit::database {

/// Scopes within a procedure frame that hold statements and calls.
constexpr bool is_nested(ContextKind kind) {
  return kind == ContextKind::loop || kind == ContextKind::inlined;
}

/// Whose exclusive values what is recorded at a context adds to, besides its own; kNone: nobody's.
struct ExclusiveOwners {
  ContextId directly = kNone;   ///< the loop or inlined procedure that a statement or call stands in
  ContextId procedure = kNone;  ///< the frame around, of what is no callee of it
};

template <class Contexts>
ExclusiveOwners exclusive_owners(const Contexts& contexts, ContextId context) {
  ExclusiveOwners owners;
  const ContextKind kind = contexts[context].kind;
  const bool leaf = kind == ContextKind::statement || kind == ContextKind::call;
  if (!leaf && !is_nested(kind)) return owners;
  ContextId scope = contexts[context].parent;
  if (leaf && is_nested(contexts[scope].kind)) owners.directly = scope;
  while (is_nested(contexts[scope].kind)) scope = contexts[scope].parent;
  if (contexts[scope].kind == ContextKind::procedure) owners.procedure = scope;
  return owners;
}

/// Calls `visit` with the flat scopes whose exclusive values what is recorded at `context` adds to: the
/// innermost that it is an instance of or stands in, the one around a statement, and procedure, file and
/// module.
template <class Contexts, class Flat, class Visit>
void visit_exclusive_flat(const Contexts& contexts, const Flat& flat, ContextId context, Visit visit) {
  while (context != kNone && contexts[context].flat == kNone) context = contexts[context].parent;
  if (context == kNone) return;
  const FlatId innermost = contexts[context].flat;
  const bool statement = flat[innermost].kind == ContextKind::statement;
  for (FlatId scope = innermost; scope != kNone && scope != 0; scope = flat[scope].parent) {
    const bool direct = scope == innermost || (statement && scope == flat[innermost].parent);
    if (direct || !is_nested(flat[scope].kind)) visit(scope);
  }
}

}  // namespace culprit::database
