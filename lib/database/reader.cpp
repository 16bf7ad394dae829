#include "database/reader.hpp"

#include "database/encoding.hpp"
#include "database/section_table.hpp"
#include "database/sections.hpp"
#include "database/tile_values.hpp"

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace culprit::database {

using format::Section;

struct Reader::Mapped {
  MappedFile file;
  Contents contents;
  TileValues values;

  void load(ByteSpan bytes, const std::filesystem::path& path);
};

void Reader::Mapped::load(ByteSpan bytes, const std::filesystem::path& path) {
  const CheckedSections sections = find_sections(bytes, path);
  contents = Contents(sections, path);
  values = TileValues(sections[slot(Section::tile_index)].all(), bytes, contents.contexts.size(),
                      contents.metrics.size(), path);
  if (values.locations() != contents.locations.size()) {
    throw DatabaseError(path, "its tiles hold other locations than it has (merge again)");
  }
}

Reader::Reader(const std::filesystem::path& path)
    : mapped_(new Mapped{.file = MappedFile(path), .contents = {}, .values = {}}) {
  mapped_->load(mapped_->file.bytes(), path);
}

Reader::Reader(std::span<const std::byte> bytes, const std::filesystem::path& name)
    : mapped_(new Mapped{.file = {}, .contents = {}, .values = {}}) {
  mapped_->load(bytes, name);
}

Reader::~Reader() = default;

bool Reader::changed() const {
  return mapped_->file.changed();
}

const Contents& Reader::experiment() const {
  return mapped_->contents;
}

std::vector<Value> Reader::profile_values(std::uint32_t location) const {
  return mapped_->values.profile(location);
}

std::vector<std::uint64_t> Reader::inclusive_values(std::span<const ContextId> contexts,
                                                    std::uint32_t metric) const {
  const Contents& contents = mapped_->contents;
  if (metric >= contents.metrics.size()) throw std::out_of_range("a metric that does not exist");
  std::vector<TileValues::ContextRange> subtrees;
  subtrees.reserve(contexts.size());
  for (const ContextId context : contexts) {
    if (context >= contents.contexts.size()) throw std::out_of_range("a context that does not exist");
    subtrees.push_back({.first = context, .end = contents.contexts[context].end});
  }
  std::vector<std::uint64_t> sums(mapped_->values.locations());
  const TileValues::Sums into{.metric = metric, .by_location = sums};
  mapped_->values.add_all(subtrees, {&into, 1});
  return sums;
}

std::vector<std::uint64_t> Reader::exclusive_values(std::span<const ContextId> contexts,
                                                    std::uint32_t metric) const {
  if (metric >= mapped_->contents.metrics.size()) throw std::out_of_range("a metric that does not exist");
  std::vector<std::uint64_t> sums(mapped_->values.locations());
  const TileValues::Sums into{.metric = metric, .by_location = sums};
  mapped_->values.add_exclusive(contexts, {&into, 1});
  return sums;
}

std::optional<std::vector<std::uint64_t>> Reader::flat_exclusive_values(FlatId scope,
                                                                        std::uint32_t metric) const {
  const Contents& contents = mapped_->contents;
  if (metric >= contents.metrics.size()) throw std::out_of_range("a metric that does not exist");
  const ContextKind kind = contents.flat[scope].kind;
  if (kind != ContextKind::file && kind != ContextKind::module) return std::nullopt;
  std::vector<std::uint64_t> sums(mapped_->values.locations());
  if (!mapped_->values.add_exclusive_of(scope, {.metric = metric, .by_location = sums})) return std::nullopt;
  return sums;
}

namespace {

/// Has a network file system's client forget what it believes of the file: other hosts may have written to it
/// since.
void ask_server(int descriptor) {
  struct statx ignored {};
  (void)::statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_SIZE | STATX_MTIME, &ignored);
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path, bool growing) {
  files::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.good()) ask_server(file.get());
  struct stat status {};
  if (!file.good() || ::fstat(file.get(), &status) != 0)
    throw DatabaseError(path, std::generic_category().message(errno));
  if (!S_ISREG(status.st_mode))
    throw DatabaseError(path, "not a regular file (name a database that prof-mpi wrote)");
  if (status.st_size == 0) return;
  try {
    mapping_ = std::make_unique<files::WatchedMapping>(path, std::move(file), growing);
  } catch (const std::system_error& error) {
    throw DatabaseError(path, error.code().message());
  }
}

void MappedFile::release() const {
  const ByteSpan all = bytes();
  if (all.empty()) return;
  // Private and never written to: pages that are given back come from the file again. If it fails they stay.
  (void)::madvise(const_cast<std::byte*>(all.data()), all.size(), MADV_DONTNEED);
}

}  // namespace culprit::database
