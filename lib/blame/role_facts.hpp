#pragma once

#include "blame/blame.hpp"

namespace culprit::blame {

/// Sampling variance v of a value that samples of `weight_sq` = Σ weight² and `blocked` samples of blocked
/// calls make up, averaged over `threads`, in ns² (docs/algorithms.md 5.2): (1 − share) · period² · Σ weight²
/// / T for samples taken separately, and period² / 4 for each that stands for a blocked call, whose ends are
/// known to half a period. `share` is the value's share of the root's: what always holds all of a thread's
/// samples does not vary. Nor does what of weight_sq is `covered` by gaps of known length, if that is more.
double sampling_variance(metrics::Uint128 weight_sq, std::uint64_t blocked, metrics::Uint128 covered,
                         double share, std::uint32_t threads, std::uint64_t period_ns);

/// v of the inclusive time at `x`.
double sampling_variance(const RoleView& role, database::ContextId x, std::uint64_t period_ns);

/// Whether `x` is communication or a wait: at or below a frontier frame, or a call site of nothing but
/// frontier frames (it is the same call, one scope further out). Such a context is never tested for balance.
bool is_wait(std::span<const database::Context> contexts, database::ContextId x);

/// Throws std::invalid_argument unless the role describes `contexts` contexts.
void check_role(const RoleView& role, std::size_t contexts);

}  // namespace culprit::blame
