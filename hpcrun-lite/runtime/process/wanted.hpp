#pragma once

namespace culprit::runtime {

/// Whether this program is one to measure, rather than one that starts others. A shell that hpcrun-lite was
/// given to run is measured, unless an MPI launcher started it, where it only stands before the rank.
bool to_be_measured();

/// Whether it is a shell: what that forks only starts something else.
bool is_shell();

}  // namespace culprit::runtime
