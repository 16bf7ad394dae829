// Keeps recovered structure by build-id (docs/algorithms.md 15): an entry counts only where all that recovery
// depends on is the same.
#include "structure/cache.hpp"

#include "files/new_file.hpp"
#include "structure/vdso.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <span>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

namespace culprit::structure {
namespace {

namespace fs = std::filesystem;

/// A larger entry is not kept: a program of which so much was sampled takes long to read from the cache, too.
constexpr std::size_t kLargestEntry = std::size_t{32} << 20;
constexpr std::string_view kNewPrefix = ".new-";
/// A new entry that is this old was left by a process that died.
constexpr std::chrono::hours kLeftOver{1};

/// The bytes of a regular file of an entry's size; empty where it cannot be read.
std::string read_whole(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < 0) return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > kLargestEntry) return {};
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(fd, bytes.data() + done, size - done);
    if (got <= 0) return {};
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

bool write_whole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

/// Eviction goes by the time of last change. Once a day is enough, and spares the file system.
void mark_used(int fd) {
  constexpr std::time_t kDay = 24 * 60 * 60;
  struct stat status {};
  if (::fstat(fd, &status) == 0 && ::time(nullptr) - status.st_mtim.tv_sec > kDay)
    (void)::futimens(fd, nullptr);
}

/// All that what is recovered depends on, besides the addresses.
std::string key_of(const Request& request, Module& module) {
  return fmt::format("recovered by {} with libdw {}\nbuild-id {}\nname {}\nfiles {}\n{}{}",
                     CULPRIT_STRUCTURE_SOURCES, dwfl_version(nullptr), module.build_id(), module.name(),
                     module.files(), request.loops ? "loops\n" : "",
                     request.debug_info ? "debug information\n" : "");
}

/// Whether a file of the directory is an entry, by its name: build-id, hyphen, 16 hexadecimal digits. The
/// directory may hold what is none of ours.
bool is_entry(std::string_view name) {
  constexpr std::size_t kDigits = 16;
  const auto hexadecimal = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  };
  const std::size_t hyphen = name.find('-');
  return hyphen != std::string_view::npos && name.size() - hyphen - 1 == kDigits &&
         hexadecimal(name.substr(0, hyphen)) && hexadecimal(name.substr(hyphen + 1));
}

/// Whether it is a new entry on its way.
bool is_new(std::string_view name) {
  return name.starts_with(kNewPrefix) && name.size() == kNewPrefix.size() + 16;
}

/// Held while an entry is read, added to and replaced. Where the file system knows no locks, or somebody
/// holds it for long, it goes without: the entry stays whole, what another process learnt meanwhile may be
/// lost.
class Lock {
 public:
  explicit Lock(const fs::path& directory)
      : file_(::open((directory / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666)) {
    constexpr int kAttempts = 50;
    constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 2'000'000};
    for (int i = 0; file_.good() && i < kAttempts && ::flock(file_.get(), LOCK_EX | LOCK_NB) != 0; ++i) {
      if (errno != EWOULDBLOCK) break;
      ::nanosleep(&kPause, nullptr);
    }
  }

 private:
  files::Descriptor file_;
};

}  // namespace

fs::path default_cache() {
  const auto absolute = [](const char* variable) {
    const char* value = std::getenv(variable);
    const fs::path path = value == nullptr ? "" : value;
    return path.is_absolute() ? path : fs::path();  // others are to be ignored, says the specification
  };
  if (const fs::path cache = absolute("XDG_CACHE_HOME"); !cache.empty())
    return cache / "culprit" / "structure";
  if (const fs::path home = absolute("HOME"); !home.empty()) return home / ".cache" / "culprit" / "structure";
  return {};
}

Cache::Cache(fs::path directory, fs::path module, const std::string& build_id, std::string key)
    : directory_(std::move(directory)),
      module_(std::move(module)),
      file_(directory_ / fmt::format("{}-{:016x}", build_id, XXH64(key.data(), key.size(), 0))),
      key_(std::move(key)) {}

std::optional<Cache> Cache::of(const Request& request, Module& module) {
  // Linkers make build-ids of 8 to 20 bytes; longer ones, which users can give, might make no file's name.
  constexpr std::size_t kLongest = 128;
  const std::string& build_id = module.build_id();
  if (request.cache.empty() || build_id.empty() || build_id.size() > kLongest) return std::nullopt;
  return Cache(request.cache, request.path, build_id, key_of(request, module));
}

std::optional<CodeMap> Cache::read() const {
  const files::Descriptor file(::open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!file.good()) return std::nullopt;
  std::optional<CodeMap> map = cache_entry::decode(read_whole(file.get()), key_);
  if (map) mark_used(file.get());
  return map;
}

CodeMap Cache::load() const {
  return read().value_or(CodeMap());
}

void Cache::store(const CodeMap& learnt) const {
  if (!learnt.lasting()) return;
  std::error_code error;
  fs::create_directories(directory_, error);
  const Lock lock(directory_);
  CodeMap all = load();
  all.add(learnt);
  const std::string bytes = cache_entry::encode(key_, all);
  if (bytes.size() > kLargestEntry) return;
  std::random_device random;
  const fs::path made = directory_ / fmt::format("{}{:08x}{:08x}", kNewPrefix, random(), random());
  {
    const files::Descriptor file = files::create_exclusively(made);
    if (!file.good()) return;
    // A cache may be a group's: an entry is for those who may read the module.
    files::Readership readers;
    readers.restrict_to(module_, fs::weakly_canonical(directory_, error));
    (void)files::allow(file.get(), readers.mode(0666, file.get()));
    if (!write_whole(file.get(), bytes)) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) fs::rename(made, file_, error);
  if (error) {
    fs::remove(made, error);
    return;
  }
  make_room();
}

void Cache::make_room() const {
  struct Entry {
    fs::path path;
    fs::file_time_type used;
    std::uint64_t size;
  };
  std::vector<Entry> entries;
  std::uint64_t all = 0;
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator at(directory_, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::error_code gone;  // another process makes room, too
    const fs::file_time_type used = at->last_write_time(gone);
    const std::uint64_t size = gone ? 0 : at->file_size(gone);
    if (gone) continue;
    const Entry entry{at->path(), used, size};
    if (is_new(name) && now - entry.used > kLeftOver) fs::remove(entry.path, gone);
    if (!is_entry(name)) continue;
    all += entry.size;
    entries.push_back(entry);
  }
  if (all <= kMostCached) return;
  std::ranges::sort(entries, {}, &Entry::used);
  for (const Entry& entry : entries) {
    if (all <= kMostCached / 4 * 3) break;
    std::error_code gone;
    fs::remove(entry.path, gone);
    all -= entry.size;
  }
}

}  // namespace culprit::structure

namespace culprit::structure::cache_entry {

std::string encode(const std::string& key, const CodeMap& map) {
  const std::vector<std::byte> encoded = structure::encode(map);
  Header header{.magic = {},
                .version = kVersion,
                .key_size = static_cast<std::uint32_t>(key.size()),
                .map_size = encoded.size(),
                .checksum = 0};
  kMagic.copy(header.magic, sizeof header.magic);
  std::string bytes(sizeof header, '\0');
  bytes += key;
  bytes.append(reinterpret_cast<const char*>(encoded.data()), encoded.size());
  header.checksum = XXH64(bytes.data() + sizeof header, bytes.size() - sizeof header, 0);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

std::optional<CodeMap> decode(std::string_view bytes, std::string_view key) {
  Header header{};
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::string_view rest = bytes.substr(sizeof header);
  if (std::string_view(header.magic, sizeof header.magic) != kMagic || header.version != kVersion ||
      header.key_size > rest.size() || header.map_size != rest.size() - header.key_size ||
      rest.substr(0, header.key_size) != key || header.checksum != XXH64(rest.data(), rest.size(), 0))
    return std::nullopt;
  return decode_code_map(std::as_bytes(std::span(rest.substr(header.key_size))));
}

}  // namespace culprit::structure::cache_entry
