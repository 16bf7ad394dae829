#include <cstdio>
#include <stdexcept>
#include <string>

// Loaded by the stepped program while it is being stepped through: with constructors, calls that are bound
// lazily, and an exception across the border.

namespace {

struct Loaded {
  std::string name;
  Loaded() : name(30, 'n') {}
};
const Loaded loaded;

[[gnu::noinline]] long fails(long n) {
  if (n > 0) throw std::out_of_range("plugin");
  return n;
}

}  // namespace

extern "C" long stepped_plugin(long n, long (*call)(long)) {
  long result = call(2);
  try {
    result += fails(n);
  } catch (const std::exception& error) {
    result += static_cast<long>(std::string(error.what()).size() + loaded.name.size());
  }
  char text[32];
  return result + std::snprintf(text, sizeof text, "%ld", n) + call(1);
}
