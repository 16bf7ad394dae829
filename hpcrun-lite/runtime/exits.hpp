#pragma once

namespace culprit::runtime {

/// Look up the functions that end or replace the process, which a forked child or a signal handler may call
/// where a look-up could meet the loader in the middle of its work. At the start of the process.
void prepare_exits();
void prepare_exec();

}  // namespace culprit::runtime
