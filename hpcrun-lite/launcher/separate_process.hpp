#pragma once

#include <functional>
#include <optional>
#include <string>

namespace culprit::launcher {

/// What `work` returns, called in a process of its own, so that whatever it loads, opens, prints or breaks
/// leaves no trace in this one. Nothing where that process crashed or could not be started.
std::optional<std::string> in_separate_process(const std::function<std::string()>& work);

}  // namespace culprit::launcher
