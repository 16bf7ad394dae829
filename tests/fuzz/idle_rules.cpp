#include "merge/rules/idle_rules.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// Any bytes are rules, or a RulesError. What is asked is in the text itself, so that rules match.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace merge = culprit::merge;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  merge::IdleRules rules;
  try {
    rules.add(text, "rules");
  } catch (const merge::RulesError&) {
    return 0;
  }
  constexpr std::size_t kWords = 64;
  std::size_t begin = 0;
  for (std::size_t words = 0; begin < size && words < kWords; ++words) {
    const std::size_t end = text.find_first_of(" \n", begin);
    const std::string word(text.substr(begin, end - begin));
    (void)rules.procedure(word);
    (void)rules.mpi_call(word);
    (void)rules.library(word, words % 2 == 0);
    begin = end == std::string_view::npos ? size : end + 1;
  }
  return 0;
}
