#pragma once

#include "tui/widgets/page.hpp"

namespace culprit::viewer::tui {

/// All keys, for `?`.
Page keys_page();

}  // namespace culprit::viewer::tui
