#pragma once

#include "database/database.hpp"
#include "merge/values/shape.hpp"
#include "waits/timeline/path_shares.hpp"
#include "waits/variation/variation.hpp"

#include <cstdint>
#include <vector>

namespace culprit::merge {

/// Where a call is shown: the outermost communication or wait frame of its path; the context itself where it
/// has none.
database::ContextId call_scope(const Shape& shape, database::ContextId context);

/// The innermost context that both lie in, no call site.
database::ContextId around_both(const Shape& shape, database::ContextId a, database::ContextId b);

/// Where the time of a region of a time line is shown: MPI calls at their frontier frame, time in which
/// nothing was sampled at the innermost context around the calls before and after it.
database::TimedScope scope_of(const Shape& shape, const waits::PathOfRegion& path);

/// The tree as variation over time looks at it: procedures and loops of the program, none in communication or
/// waits; without loops and with procedures that were inlined where somebody may ask for one by its name.
waits::CallPaths call_paths(const Shape& shape, bool inlined = false);

/// The tree as delay costs compare it: all procedures of the program, inlined ones included, and MPI calls,
/// each as a whole.
waits::CallPaths compared_paths(const Shape& shape);

/// By context: its frontier frame, else the frame of the procedure that it is in.
std::vector<std::uint32_t> enclosing_procedures(const Shape& shape);

}  // namespace culprit::merge
