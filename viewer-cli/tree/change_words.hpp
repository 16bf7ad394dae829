#pragma once

#include "views/difference.hpp"

#include <optional>
#include <string>
#include <vector>

// How a comparison of two runs is written, as text and in the browser.
namespace culprit::viewer {

/// `+1.2`, `-1.2`.
std::string with_sign(const std::string& number);

/// Two decimals; empty where there is no ratio, or one so large that it says no more.
std::string ratio_text(const std::optional<double>& ratio);

/// What happened to a scope itself, in words that stand behind its name: `new`, `gone`, `was old_name`, `now
/// inlined`; empty for most.
std::vector<std::string> what_became_of(const views::ComparedScope& scope);

/// One run in words: `stencil.db: 4 ranks, 12.3 s`.
std::string run_text(const std::string& name, const database::Contents& experiment, bool unicode);

}  // namespace culprit::viewer
