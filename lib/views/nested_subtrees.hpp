#pragma once

#include "database/database.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace culprit::views {

/// A set of contexts as whole subtrees within which others are left out, within which others are in again,
/// and so on. Layer by layer, each ascending and none of its subtrees within another of the same layer: the
/// sum of the set's exclusive values is that of layer 0's inclusive ones, less layer 1's, plus layer 2's. Of
/// a load module with many contexts these are far fewer than its contexts: those at which it is called, and
/// calls others.
///
/// `set` ascends; `parent_of` is asked for contexts in the same order as they are numbered (pre-order), up to
/// `contexts`. Empty if more than `most` subtrees are needed.
std::vector<std::vector<database::ContextId>> nested_subtrees(
    std::span<const database::ContextId> set, std::uint32_t contexts,
    const std::function<database::ContextId(database::ContextId)>& parent_of, std::size_t most);

}  // namespace culprit::views
