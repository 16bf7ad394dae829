#pragma once

// Free to all: includes nothing.
namespace culprit::measurement {

/// Stands in the note of a measurement that says why the system refused to sample threads, between the event
/// and the reason with its remedy. The runtime writes it; the tools know that note by it.
inline constexpr char kWhyNotSampled[] = " not sampled in every thread: ";

}  // namespace culprit::measurement
