#pragma once

#include "blame/blame.hpp"
#include "database/database.hpp"
#include "database/tile_values.hpp"
#include "database/writer.hpp"
#include "exchange/communicator.hpp"
#include "merge/diagnosis/summarize.hpp"

#include <cstdint>
#include <span>

namespace culprit::merge {

/// Collective: decides balance, shifts blame and finds suspects for every role (docs/algorithms.md 5.2 to
/// 5.5) and sets these parts of rank 0's `experiment`, whose contexts and roles must be set; `roles`: rank
/// 0's, of locations. `values`: the per-thread values in `writer`'s tiles, which suspects need of some
/// contexts; every rank reads its share. The sampling period is that of the run where it recorded one, else
/// that of `options`.
void diagnose(exchange::Communicator& comm, database::Experiment& experiment,
              std::span<const std::uint32_t> roles, const Summaries& summaries,
              const database::Writer& writer, const database::TileValues& values,
              const blame::Options& options);

}  // namespace culprit::merge
