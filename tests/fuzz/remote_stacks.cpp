#include "commands/stacks.hpp"
#include "commands/stacks_json.hpp"

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

// Whatever a program on another host writes is an observation that can be shown, or none.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace viewer = culprit::viewer;
  culprit::stacks::Observation all;
  try {
    culprit::stacks::join(all, viewer::read_stacks(std::string(data, data + size)));
  } catch (const std::runtime_error&) {
    return 0;
  }
  std::ostringstream out;
  viewer::write_stacks(out, {.width = 80, .colour = false, .unicode = true}, all, {});
  viewer::stacks_json(all);
  return 0;
}
