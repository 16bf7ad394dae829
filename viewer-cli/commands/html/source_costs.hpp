#pragma once

#include "commands/html/packed_values.hpp"
#include "commands/html/page_tree.hpp"
#include "views/flat.hpp"

#include <cstddef>

namespace culprit::viewer {

/// The source texts that the database holds, those that cost most first, with what their lines cost: of the
/// first two columns of sums and of waiting. Until `bytes` of text are there; says what was left out.
Json source_costs(const views::Figures& figures, const std::vector<PageColumn>& columns, PageTexts& texts,
                  std::size_t bytes);

}  // namespace culprit::viewer
