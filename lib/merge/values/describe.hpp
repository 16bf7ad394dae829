#pragma once

#include "blame/blame.hpp"
#include "database/database.hpp"
#include "merge/attribution/attribute.hpp"
#include "merge/attribution/recover_structure.hpp"
#include "merge/attribution/roles.hpp"
#include "merge/input/process_table.hpp"
#include "merge/values/shape.hpp"
#include "merge/values/survey.hpp"

#include <span>
#include <string>
#include <vector>

namespace culprit::merge {

/// The events beside REALTIME that any process sampled, by name.
std::vector<std::string> further_events(const ProcessTable& processes);

/// Whether any process had several threads.
bool has_threads(const ProcessTable& processes);

/// How and what was run.
database::Run describe_run(const ProcessTable& processes, const blame::Options& options);

/// Where ranks of the run were not measured: which ones were, as "ranks 0-3 and 8 of 16"; else empty.
std::string describe_ranks(const ProcessTable& processes);

/// One location per thread, in canonical order. What is returned refers to `processes` and `roles`, and
/// throws storage::SpillError.
database::EachLocation describe_locations(const ProcessTable& processes, const Roles& roles);

/// The metrics in the order of the columns, and last the imbalance.
std::vector<database::Metric> describe_metrics(const ProcessTable& processes, const Columns& columns);

/// The modules that hold samples or frames of their paths, by path and build-id.
std::vector<database::ModuleInfo> describe_modules(const ProcessTable& processes,
                                                   const cct::SharedTree& shared,
                                                   const RecoveredStructure& structure,
                                                   const database::Experiment& experiment);

/// The processes' own counters and what the summaries show.
database::Quality judge_quality(const Survey& survey, const Attribution& attribution,
                                std::span<const database::Summary> context_summaries);

/// What makes the result less than complete, one line each: processes cut short, dropped samples, more than 1
/// % of the time in partial unwinds.
std::vector<std::string> list_problems(const ProcessTable& processes, const database::Quality& quality,
                                       std::uint64_t total_ns, const std::string& directory);

/// Modules with a hundredth of the samples or more whose code has no names, as their files are gone or
/// others: "file: why (what to do)".
std::vector<std::string> unread_modules(const database::Experiment& experiment);

}  // namespace culprit::merge
