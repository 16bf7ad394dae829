#include "measurement/decoder.hpp"
#include "measurement/limits.hpp"
#include "measurement/live_layout.hpp"
#include "measurement/reading.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace culprit::measurement {
namespace {

constexpr std::size_t kMagicSize = 8;

void tell(ProcessInfo& process, std::uint64_t count, const char* what) {
  if (count > 0) process.notes.push_back(std::to_string(count) + what);
}

}  // namespace

struct Reader::State {
  struct Announced {
    std::string path;
    std::optional<OpenedFile> file;  ///< none: reading it says why
  };

  std::deque<Announced> announced;
  InputWindow window;
  SealedScratch scratch;
  Measurement measurement;

  OpenedFile open(const std::filesystem::path& path);
  void read(const std::filesystem::path& path, Extent extent);
};

/// As it was announced, if it was.
OpenedFile Reader::State::open(const std::filesystem::path& path) {
  std::optional<OpenedFile> file;
  if (!announced.empty() && announced.front().path == path.native()) {
    if (announced.front().file) file.emplace(std::move(*announced.front().file));
    announced.pop_front();
  }
  if (file) return std::move(*file);
  try {
    return OpenedFile(path);
  } catch (const MeasurementError&) {  // if too many files are open, those ahead must not be the reason
    for (Announced& ahead : announced) ahead.file.reset();
  }
  return OpenedFile(path);
}

void Reader::State::read(const std::filesystem::path& path, Extent extent) {
  InputFile file(path, open(path), window);
  char magic[kMagicSize] = {};
  const auto present = static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), kMagicSize));
  if (present > 0) std::memcpy(magic, file.view(0, present).data(), present);
  if (std::memcmp(magic, layout::kLiveMagic, kMagicSize) == 0) {
    scratch.modules.clear();
    measurement = read_live(file, extent);
  } else if (std::memcmp(magic, sealed::kMagic, kMagicSize) == 0) {
    read_sealed(file, extent, scratch, measurement);
  } else if (std::ranges::all_of(magic, [](char c) { return c == 0; })) {
    throw MeasurementError(path,
                           "holds no measurement: its process ended while the file was created (remove it)");
  } else {
    throw MeasurementError(path, "is not a measurement (remove it from the measurement directory)");
  }
  tell_shared(measurement);
  if (!std::ranges::is_sorted(measurement.threads, {}, &ThreadProfile::ordinal))
    std::ranges::stable_sort(measurement.threads, {}, &ThreadProfile::ordinal);
}

Reader::Reader() : state_(std::make_unique<State>()) {}
Reader::~Reader() = default;

Measurement& Reader::read(const std::filesystem::path& path) {
  return read(path, Extent::whole);
}

Measurement& Reader::read(const std::filesystem::path& path, Extent extent) {
  try {
    state_->read(path, extent);
  } catch (const std::bad_alloc&) {
    *state_ = {};
    throw MeasurementError(
        path, "is too large for this machine's memory (use more ranks of prof-mpi on more hosts)");
  }
  return state_->measurement;
}

void Reader::announce(const std::filesystem::path& path) {
  State::Announced& ahead = state_->announced.emplace_back();
  ahead.path = path.native();
  try {
    ahead.file.emplace(path);
    ahead.file->fetch();
  } catch (const MeasurementError&) {
    ahead.file.reset();
  }
}

Measurement read(const std::filesystem::path& path) {
  return std::move(Reader().read(path));
}

Measurement read_summary(const std::filesystem::path& path) {
  return std::move(Reader().read(path, Extent::summary));
}

MeasurementError damaged(const std::filesystem::path& path, const std::string& what) {
  return {path, "is damaged: " + what + " (leave it out, or measure again)"};
}

MeasurementError too_new(const std::filesystem::path& path, std::uint32_t version) {
  return {path, "has format version " + std::to_string(version) +
                    ", written by a newer Culprit (use the tools of that version)"};
}

void tell_losses(ProcessInfo& process, const Losses& losses) {
  tell(process, losses.threads,
       " thread(s) were not measured: no room (full disk, or more than 4096 threads at one time)");
  tell(process, losses.modules, " look-up(s) of a load module found no room in the module table");
  tell(process, losses.arguments, " argument(s) of the command line were too long to record");
  tell(process, losses.notes, " further note(s) were lost");
}

void tell_shared(Measurement& measurement) {
  std::uint64_t lives = 0;
  for (const ThreadProfile& thread : measurement.threads) lives += thread.lives;
  if (lives == measurement.threads.size()) return;
  measurement.process.notes.push_back(
      std::to_string(lives) + " threads were recorded as " + std::to_string(measurement.threads.size()) +
      ": one that starts after " + std::to_string(kEndedTrees) +
      " others with its start routine have ended continues the record of an ended one");
}

EndReason end_reason(std::uint64_t value) {
  constexpr auto last = static_cast<std::uint64_t>(EndReason::signal);
  return value <= last ? static_cast<EndReason>(value) : EndReason::running;
}

WaitKind wait_kind(std::uint64_t value) {
  return value < kWaitKinds ? static_cast<WaitKind>(value) : WaitKind::none;
}

EpochKind epoch_kind(std::uint64_t value) {
  return value < kEpochKinds ? static_cast<EpochKind>(value) : EpochKind::none;
}

cct::FrameKind frame_kind(std::uint64_t value) {
  return value < cct::kFrameKinds ? static_cast<cct::FrameKind>(value) : cct::FrameKind::root;
}

std::string hex(std::span<const std::byte> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte b : bytes) {
    text += digits[std::to_integer<unsigned>(b) >> 4];
    text += digits[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

}  // namespace culprit::measurement
