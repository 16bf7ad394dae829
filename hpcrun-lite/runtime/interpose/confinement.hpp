#pragma once

namespace culprit::runtime {

/// Before the program forbids itself system calls (seccomp), on pain of death perhaps: ends sampling in all
/// threads and seals the measurement, so that nothing of ours makes a system call any more. Does nothing in
/// processes that are not measured.
void end_before_confinement();

/// True if this prctl call, or seccomp operation, can install a filter. Without one it only finds out whether
/// the kernel knows filters.
bool confines_by_prctl(long option, long mode, long filter);
bool confines_by_seccomp(long operation, long filter);

}  // namespace culprit::runtime
