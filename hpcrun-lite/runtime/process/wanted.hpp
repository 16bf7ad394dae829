#pragma once

namespace culprit::runtime {

/// Whether this program is one to measure, rather than one that starts others. A shell that hpcrun-lite was
/// given to run is measured, unless an MPI launcher started it, where it only stands before the rank.
bool to_be_measured();

/// Whether it is a shell: what that forks only starts something else.
bool is_shell();

/// True if the launcher of an MPI job says that this is one of several ranks.
bool started_as_one_of_ranks();

/// Where the process turns out to be an MPI rank that was not started by hpcrun-lite itself, but by an mpirun
/// in a measured script, the MPI wrappers are missing: only a library that is loaded at the start can stand
/// before the program's MPI. Starts the program anew, in place, with them. Returns where there is nothing to
/// do or it cannot be done. For the constructor, before anything of the process is set up.
void become_wrapped(char** arguments);

}  // namespace culprit::runtime
