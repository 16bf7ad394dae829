#pragma once

#include "runtime/recording/python_layout.hpp"
#include "runtime/state/python_frames.hpp"

// The Python functions that were met: their names, and their lines.
namespace culprit::runtime::python {

/// Finds out `frame.module` and `frame.line`; false where its code object is none, or the measurement has no
/// room for its function. Async-signal-safe; two system calls for a function that is known.
bool describe(PythonFrame& frame);

/// In a forked child, whose measurement knows no names yet.
void forget_modules();

}  // namespace culprit::runtime::python
