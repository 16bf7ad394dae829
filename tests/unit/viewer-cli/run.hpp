#pragma once

#include "text/screen.hpp"
#include "views/source.hpp"

#include <string>
#include <vector>

namespace culprit::viewer::testing {

inline constexpr std::uint64_t kSecond = 1'000'000'000, kMs = 1'000'000;  ///< ns

/// What `viewer-cli run1.db words…` prints for a source, without colour; `other` is the second one of diff.
std::string run(const views::Source& source, const std::vector<std::string>& words, std::size_t width = 100,
                bool unicode = true, const views::Source* other = nullptr);

/// `text` without its line breaks.
std::string flowing(std::string text);

}  // namespace culprit::viewer::testing
