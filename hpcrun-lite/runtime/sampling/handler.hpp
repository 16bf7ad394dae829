#pragma once

namespace culprit::runtime {

/// Installs the handler on a signal that nobody uses; false if there is none.
bool install_handler();

}  // namespace culprit::runtime
