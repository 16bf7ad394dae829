#pragma once

// What culprit.h calls; see there. All for the calling thread, all async-signal-safe.
namespace culprit::runtime {

/// Counts the iteration and records it in the thread's time line.
void mark_iteration(long number);

// Regions, which are on the time line when they end. `frame`: in the stack frame of the function that the
// region lies in, which returns to `caller`; outside: it called the caller of this.
void mark_region_begin(const char* name, const void* frame, const void* caller);
void mark_region_end(const char* name, const void* frame);
void mark_region_begin_outside(const char* name);
void mark_region_end_outside(const char* name);

}  // namespace culprit::runtime
