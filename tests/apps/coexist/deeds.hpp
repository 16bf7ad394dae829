// What the program can do. The files hold deeds by what they might disturb.
#pragma once

#include <string>
#include <vector>

namespace coexist {

double compute(int milliseconds);

void say(const std::string& line);

/// Ends the program unless it is so.
void require(bool good, const std::string& what);

struct Deed {
  const char* name;
  void (*act)();
};

std::vector<Deed> signals();
std::vector<Deed> limits();
std::vector<Deed> counted_calls();
std::vector<Deed> libraries();

}  // namespace coexist
