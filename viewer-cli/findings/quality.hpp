#pragma once

#include "database/contents.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace culprit::viewer {

/// The quality of the measurement in one sentence: ranks, threads, samples, partial, unresolved, dropped.
std::string quality_text(const database::Contents& experiment);

/// What the hosts' clocks, or on one host gaps in the recording, did to the order of messages, in a sentence;
/// empty where none is received before being sent, and hosts compared their clocks.
std::string clocks_text(const database::Contents& experiment);

/// Of a run with processes that were cut short, or still ran when it was merged: that its last second may be
/// missing, and who ended first. Empty where all processes ended.
std::string cut_short_text(const database::Contents& experiment);

/// One line for each thing that makes the figures less than complete, with what to do.
std::vector<std::string> quality_warnings(const database::Contents& experiment);

/// Why the system refused to sample threads, with the remedy: `timer_create: Resource temporarily
/// unavailable: raise the limit of pending signals, ulimit -i`; empty where it did not.
std::string refused_sampling_text(const database::Contents& experiment);

/// Why there is nothing to diagnose in a run of `total_s` with so many samples, and what to do; empty where
/// there is.
std::string nothing_sampled_phrase(const database::Contents& experiment, double total_s,
                                   std::uint64_t samples);

/// Of all threads; 0 where the metric, one of time, was not recorded.
double total_seconds(const database::Contents& experiment, std::string_view metric);

/// Samples of wall-clock time, and of further events as far as their periods and totals tell.
std::uint64_t samples_of_all_events(const database::Contents& experiment);

/// What one of these took on average, in microseconds: the handler, and what a signal cost beside it where
/// the program started.
double sampling_microseconds(const database::Contents& experiment);

/// What sampling took, in words: "1.2 % of the CPU time", or of the time where CPU time was not recorded;
/// empty where it is not known.
std::string sampling_share_text(const database::Contents& experiment);

/// Samples for which time stands that lies in partial unwinds, as a share of all time.
double partial_share(const database::Contents& experiment);

}  // namespace culprit::viewer
