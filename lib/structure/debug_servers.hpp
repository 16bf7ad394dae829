#pragma once

#include <elfutils/libdwfl.h>

namespace culprit::structure {

/// libdwfl asks debuginfod's servers (DEBUGINFOD_URLS) for debug files that it finds nowhere else, several
/// times for each module. Where a firewall swallows the question, its client waits for minutes each time. So
/// whoever does not begin to answer in time, DEBUGINFOD_TIMEOUT seconds or 15, ends the asking for this
/// process. To be called before what may be a question in this session, by the thread that asks. Thread-safe.
void bound_question(Dwfl* session);

/// Whether this process has stopped asking. Thread-safe.
bool servers_are_mute();

}  // namespace culprit::structure
