#include "views/pattern.hpp"

#include <algorithm>
#include <cctype>

#include <re2/re2.h>

namespace culprit::views {

std::unique_ptr<re2::RE2> make_pattern(const std::string& text) {
  const bool capital =
      std::any_of(text.begin(), text.end(), [](unsigned char letter) { return std::isupper(letter) != 0; });
  RE2::Options options(RE2::Quiet);
  options.set_case_sensitive(capital);
  auto pattern = std::make_unique<re2::RE2>(text, options);
  if (!pattern->ok()) throw BadPattern("'" + text + "' is no regular expression: " + pattern->error());
  return pattern;
}

}  // namespace culprit::views
