#include "commands/follow.hpp"

#include "follow/follower.hpp"
#include "recording.hpp"
#include "run_files.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>

#include <nlohmann/json.hpp>

// Whatever the files of a run hold from look to look, what it does is said. Each look meets a part of what
// the next one meets.
FUZZ_MUTATE_BY(fuzz::kKilledRun.format)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace viewer = culprit::viewer;
  const fuzz::Parts files = fuzz::kKilledRun.format.split(fuzz::bytes_of(data, size));
  if (files.empty()) return -1;
  static const recording::Directory directory(recording::scratch());
  const std::array<std::filesystem::path, 2> paths = {directory / "rank-0.culprit",
                                                      directory / "rank-1.culprit"};
  culprit::follow::Follower follower(directory.path());
  for (const std::size_t thirds : {1U, 2U, 3U}) {
    for (std::size_t i = 0; i < paths.size(); ++i) {
      const fuzz::Bytes& whole = files[2 * i];
      recording::write_bytes(
          paths[i],
          fuzz::kKilledRun.measurement(
              {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(whole.size() * thirds / 3)}));
    }
    follower.look();
    const culprit::follow::Summary summary = follower.summary();
    viewer::line_of(summary);
    viewer::write(viewer::follow_json(summary));
  }
  return 0;
}
