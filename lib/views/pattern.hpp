#pragma once

#include <memory>
#include <stdexcept>
#include <string>

namespace re2 {
class RE2;
}

namespace culprit::views {

/// What is searched for is no regular expression. what() is "why (what to do)".
class BadPattern : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A regular expression (RE2) as people type it: case matters only where it has a capital letter. Throws
/// BadPattern.
std::unique_ptr<re2::RE2> make_pattern(const std::string& text);

}  // namespace culprit::views
