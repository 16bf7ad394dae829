#pragma once

#include "request/command_line.hpp"
#include "text/screen.hpp"
#include "views/compared.hpp"
#include "views/shown.hpp"

#include <ostream>

namespace culprit::viewer {

/// What a comparison is about, beside its figures.
struct DiffSetting {
  const database::Contents& first;
  const database::Contents& second;
  views::LikelyScaling likely;
  views::Scaling scaling = views::Scaling::strong;  ///< as likely, or as asked for
};

/// Two runs side by side: their totals, the code that changed most itself, and the tree of changes.
void write_diff(std::ostream& out, const Screen& screen, const views::Compared& view,
                const views::Shown& shown, const DiffSetting& setting, const Invocation& invocation);

}  // namespace culprit::viewer
