#pragma once

#include "waits/ledger.hpp"
#include "waits/pieces.hpp"

namespace culprit::waits {

/// Decides for each call of a time line what it waited for, now that all candidates are known: the latest of
/// what it depended on, or for calls that return at the first, the earliest; and that only if it falls
/// between the call's enter and its exit (algorithms.md 7). Then what is part of a wait: wrong order, late
/// complete, early fence; and completions. Takes the candidates and receipts, in the order of calls, and
/// fills in the waits, but not yet where their synchronization intervals begin, and what the events say of
/// them.
void settle(TimeLine& line, const Pieces& pieces);

}  // namespace culprit::waits
