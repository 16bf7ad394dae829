#pragma once

#include "exchange/communicator.hpp"
#include "merge/attribution/attribute.hpp"
#include "merge/attribution/recover_structure.hpp"
#include "merge/attribution/roles.hpp"
#include "merge/input/collectively.hpp"
#include "merge/input/divide.hpp"
#include "merge/options.hpp"
#include "merge/rules/idle_rules.hpp"
#include "merge/values/shape.hpp"
#include "merge/values/survey.hpp"

// The first pass over a measurement, for who merges it and for who reads its time lines again: which
// processes there are, and what code was sampled.
namespace culprit::merge {

/// What code was sampled, and who ran it. Rank 0's; every rank has `structure` and `shape`.
struct SampledCode {
  RecoveredStructure structure;
  Attribution attribution;
  Roles roles;
  Shape shape;
};

/// Collective: all files but those that are lost. Throws std::runtime_error on every rank where there is
/// nothing to merge.
Survey survey_rest(exchange::Communicator& comm, const Options& options, const Lost& lost,
                   const Progress& progress, Provenance& provenance);

/// Collective: rank 0 attributes the tree of the first pass, and sends the others its shape.
SampledCode recover_code(exchange::Communicator& comm, const Options& options, const IdleRules& rules,
                         const Survey& found, const Progress& progress);

}  // namespace culprit::merge
