#include "launcher/options.hpp"
#include "launcher/program.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

// Any lines are the words behind `hpcrun-lite`: they are refused, or say what is to be measured and how.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static std::ostringstream unread;
  std::cout.rdbuf(unread.rdbuf());
  unread.str({});
  std::vector<std::string> words = {"hpcrun-lite"};
  std::istringstream lines(std::string(data, data + size));
  for (std::string line; std::getline(lines, line);) {
    std::erase(line, '\0');
    words.push_back(line);
  }
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  try {
    const auto options = culprit::launcher::read_options(static_cast<int>(words.size()), arguments.data());
    if (options && options->program.empty()) std::abort();
  } catch (const culprit::launcher::Failure&) {
  }
  return 0;
}
