// Where the library that writes OTF2 was not there when viewer-cli was built.
#include "export/otf2.hpp"
#include "request/errors.hpp"

namespace culprit::viewer {

void write_otf2(const std::filesystem::path& /*directory*/, const RunLines& /*lines*/) {
  require_otf2();
}

void require_otf2() {
  throw CommandError(
      "export: otf2: this viewer-cli was built without OTF2 (install libotf2-trace-dev and build it anew)");
}

}  // namespace culprit::viewer
