// Reads measurement files one after the other, live and sealed ones, by their first bytes. Files that are
// announced are opened ahead and the system is asked to fetch their beginnings, since storage answers many
// requests at once sooner than one after the other. The descriptors for that are bounded, and given up if
// opening a file needs them.
#include "measurement/decoder.hpp"
#include "measurement/limits.hpp"
#include "measurement/live_layout.hpp"
#include "measurement/reading.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include <sys/resource.h>

namespace culprit::measurement {
namespace {

constexpr std::size_t kMagicSize = 8;

void note(ProcessInfo& process, std::uint64_t count, const char* what) {
  if (count > 0) process.notes.push_back(std::to_string(count) + what);
}

/// How many files may be open ahead in this process: a quarter of what it may open, since as many threads
/// read as there are processors, and 256, beyond which no storage gains anything.
int most_ahead() {
  constexpr rlim_t kMost = 256;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<int>(std::min(limit.rlim_cur / 4, kMost));
}

/// Whatever the file's checksums say: what is kept by rank, or asks for a rank by its number, relies on it.
void check_rank(const std::string& path, const ProcessInfo& process) {
  if (process.world_size > kMaxRanks) throw damaged(path, "it is of more ranks than there can be");
  if (!process.rank) return;
  const std::int32_t rank = *process.rank;
  if (rank < 0 || static_cast<std::uint32_t>(rank) >= process.world_size)
    throw damaged(path,
                  "its rank " + std::to_string(rank) + " is none of " + std::to_string(process.world_size));
}

/// A file that is to be read later.
class Announced {
 public:
  explicit Announced(std::string path) : path_(std::move(path)) { open(); }
  Announced(const Announced&) = delete;
  Announced& operator=(const Announced&) = delete;
  ~Announced() { take(); }

  [[nodiscard]] const std::string& path() const { return path_; }

  /// The open file, once; none where too many are, or where reading it will say why.
  std::optional<OpenedFile> take() {
    std::optional<OpenedFile> taken;
    if (!file_) return taken;
    taken.emplace(std::move(*file_));
    file_.reset();
    --open_ahead;
    return taken;
  }

 private:
  void open() {
    static const int most = most_ahead();
    if (++open_ahead <= most) {
      try {
        file_.emplace(path_);
        file_->fetch();
        return;
      } catch (const MeasurementError&) {
        file_.reset();
      }
    }
    --open_ahead;
  }

  static inline std::atomic<int> open_ahead = 0;  // of all threads

  std::string path_;
  std::optional<OpenedFile> file_;
};

}  // namespace

struct Reader::State {
  std::deque<Announced> announced;
  InputWindow window;
  SealedScratch scratch;
  Measurement measurement;

  OpenedFile open(const std::string& path);
  void read(const std::string& path, Extent extent);
};

/// As it was announced, if it was.
OpenedFile Reader::State::open(const std::string& path) {
  std::optional<OpenedFile> file;
  if (!announced.empty() && announced.front().path() == path) {
    file = announced.front().take();
    announced.pop_front();
  }
  if (file) return std::move(*file);
  try {
    return OpenedFile(path);
  } catch (const MeasurementError&) {  // if too many files are open, those ahead must not be the reason
    for (Announced& ahead : announced) ahead.take();
  }
  return OpenedFile(path);
}

void Reader::State::read(const std::string& path, Extent extent) {
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
  check_rank(path, measurement.process);
  note_shared(measurement);
  if (!std::ranges::is_sorted(measurement.threads, {}, &ThreadProfile::ordinal))
    std::ranges::stable_sort(measurement.threads, {}, &ThreadProfile::ordinal);
}

Reader::Reader() : state_(std::make_unique<State>()) {}
Reader::~Reader() = default;

Measurement& Reader::read(const std::string& path) {
  return read(path, Extent::whole);
}

Measurement& Reader::read(const std::string& path, Extent extent) {
  try {
    state_->read(path, extent);
  } catch (const std::bad_alloc&) {
    *state_ = {};
    throw MeasurementError(
        path, "is too large for this machine's memory (use more ranks of prof-mpi on more hosts)");
  }
  return state_->measurement;
}

void Reader::announce(const std::string& path) {
  state_->announced.emplace_back(path);
}

MeasurementError damaged(const std::filesystem::path& path, const std::string& what) {
  return {path, "is damaged: " + what + " (leave it out, or measure again)"};
}

void check_version(const std::filesystem::path& path, std::uint32_t version, std::uint32_t oldest,
                   std::uint32_t newest) {
  if (version >= oldest && version <= newest) return;
  const bool newer = version > newest;
  throw MeasurementError(path, "has format version " + std::to_string(version) + ", written by " +
                                   (newer ? "a newer" : "an older") +
                                   " Culprit (use the tools of that version" +
                                   (newer ? ")" : ", or measure again)"));
}

std::string describe_lost_threads(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " thread was" : " threads were") +
         " not measured: no room (a full disk, or more than " + std::to_string(kMaxThreads) +
         " threads at one time)";
}

void note_losses(ProcessInfo& process, const Losses& losses) {
  process.threads_lost = losses.threads;
  if (losses.threads > 0) process.notes.push_back(describe_lost_threads(losses.threads));
  note(process, losses.modules, " look-up(s) of a load module found no room in the module table");
  note(process, losses.arguments, " argument(s) of the command line were too long to record");
  note(process, losses.notes, " further note(s) were lost");
}

bool can_be(std::uint64_t start_ns, std::uint64_t end_ns, std::int64_t start_realtime_ns) {
  constexpr auto kEnd = static_cast<std::int64_t>(kEndOfTime);
  return start_ns <= kEndOfTime && end_ns <= kEndOfTime && -kEnd <= start_realtime_ns &&
         start_realtime_ns <= kEnd;
}

void note_shared(Measurement& measurement) {
  std::uint64_t lives = 0;
  for (const ThreadProfile& thread : measurement.threads) lives += thread.lives;
  if (lives == measurement.threads.size()) return;
  measurement.process.notes.push_back(
      std::to_string(lives) + " threads were recorded as " + std::to_string(measurement.threads.size()) +
      ": one that starts after " + std::to_string(kEndedTrees) +
      " others with its start routine have ended continues the record of an ended one");
}

EndReason end_reason(std::uint64_t value) {
  constexpr auto last = static_cast<std::uint64_t>(EndReason::left);
  return value <= last ? static_cast<EndReason>(value) : EndReason::running;
}

EpochKind epoch_kind(std::uint64_t value) {
  return value < kEpochKinds ? static_cast<EpochKind>(value) : EpochKind::none;
}

double squares_of(EpochKind kind, std::uint64_t word) {
  if (kind != EpochKind::gap) return static_cast<double>(word);
  const auto squares = std::bit_cast<double>(word);
  return std::isfinite(squares) && squares > 0 ? squares : 0;
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
