#pragma once

#include "blame/blame.hpp"
#include "database/database.hpp"
#include "database/tile_values.hpp"
#include "merge/summarize.hpp"

namespace culprit::merge {

/// Decides balance, shifts blame and finds suspects for every role (algorithms.md 5.2 to 5.5) and sets these
/// parts of `experiment`, whose contexts, roles and locations must be set. `values`: the per-thread values,
/// which suspects need of some contexts. The sampling period is that of the run where it recorded one, else
/// that of `options`.
void diagnose(database::Experiment& experiment, const Summaries& summaries,
              const database::TileValues& values, const blame::Options& options);

}  // namespace culprit::merge
