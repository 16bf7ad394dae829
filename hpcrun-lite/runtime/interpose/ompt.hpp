#pragma once

namespace culprit::runtime {

/// Whether `function` is of a library that reports its teams by itself (OMPT): libomp, which has libgomp's
/// entry points, too. Remembers the answer for the last library asked for.
bool is_followed_by_ompt(const void* function);

}  // namespace culprit::runtime
