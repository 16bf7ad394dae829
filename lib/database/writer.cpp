#include "database/writer.hpp"

#include "database/consistency.hpp"
#include "database/encoding.hpp"
#include "database/format.hpp"
#include "database/sections.hpp"
#include "database/value_block.hpp"

#include <exception>
#include <string>

#include <unistd.h>

namespace culprit::database {
namespace {

using format::Section;

/// Runs `local` (which must not communicate) on every rank; if it throws on one, every rank throws.
template <class Local>
void collectively(exchange::Communicator& comm, Local local) {
  std::exception_ptr own;
  exchange::Bytes message;
  try {
    local();
  } catch (const std::exception& error) {
    own = std::current_exception();
    const auto text = std::as_bytes(std::span(error.what(), std::char_traits<char>::length(error.what())));
    message.assign(text.begin(), text.end());
  }
  const std::uint64_t failed = comm.all_max(own ? static_cast<std::uint64_t>(comm.rank()) + 1 : 0);
  if (failed == 0) return;
  comm.broadcast(message, static_cast<int>(failed - 1));
  if (own) std::rethrow_exception(own);
  throw std::runtime_error(std::string(reinterpret_cast<const char*>(message.data()), message.size()));
}

constexpr std::uint64_t aligned(std::uint64_t offset) {
  return (offset + format::kAlignment - 1) / format::kAlignment * format::kAlignment;
}

/// The blocks of one section of value lists as they grow.
struct Blocks {
  std::uint64_t begin = 0, size = 0;
  std::uint64_t lists = 0;
  bool started = false;
  Bytes index;  ///< on rank 0
};

/// This rank's lists, encoded, with their index entries relative to the first.
struct EncodedLists {
  Bytes blocks, index;
};

void put_index_entry(Encoder& index, std::uint64_t offset, std::uint64_t size, std::uint64_t count,
                     std::uint64_t sum) {
  if (size > UINT32_MAX || count > UINT32_MAX) throw std::length_error("a list of values of more than 4 GiB");
  index.put(offset);
  index.put(static_cast<std::uint32_t>(size));
  index.put(static_cast<std::uint32_t>(count));
  index.put(sum);
}

EncodedLists encode_lists(std::span<const std::vector<Value>> lists) {
  Encoder blocks, index;
  for (const std::vector<Value>& list : lists) {
    const std::size_t begin = blocks.size();
    encode_values(list, blocks);
    const ByteSpan block = ByteSpan(blocks.bytes()).subspan(begin);
    put_index_entry(index, begin, block.size(), list.size(), checksum(block));
  }
  return {blocks.take(), index.take()};
}

/// Makes index entries relative to the section rather than to the rank's first block.
void shift_offsets(Bytes& index, std::uint64_t by) {
  for (std::size_t at = 0; at < index.size(); at += format::kBlockIndexSize) {
    std::uint64_t offset = 0;
    std::memcpy(&offset, index.data() + at, sizeof offset);
    offset += by;
    std::memcpy(index.data() + at, &offset, sizeof offset);
  }
}

/// A name beside the target that no other run uses at the same time.
std::filesystem::path temporary_beside(exchange::Communicator& comm, const std::filesystem::path& path) {
  Encoder pid;
  pid.put(static_cast<std::uint64_t>(::getpid()));
  exchange::Bytes bytes = pid.take();
  comm.broadcast(bytes, 0);
  Decoder from(bytes, "rank 0's process id");
  const std::string name = "." + path.filename().string() + "." + std::to_string(from.get<std::uint64_t>());
  return path.parent_path() / (name + ".tmp");
}

}  // namespace

struct Writer::State {
  exchange::Communicator& comm;
  std::filesystem::path path, temporary;
  std::unique_ptr<exchange::OutputFile> file;
  std::uint64_t end = format::kHeaderSize;  ///< the same on every rank until the experiment is added
  Blocks profiles, contexts;
  Encoder table;  ///< on rank 0
  bool has_experiment = false, finished = false;

  void add_lists(Blocks& blocks, std::span<const std::vector<Value>> lists);
  void add_section(Section section, ByteSpan bytes);
  void state_section(Section section, std::uint64_t offset, std::uint64_t size, std::uint64_t sum);
  void write_experiment(const Experiment& experiment);
  void write_header();
};

void Writer::State::add_lists(Blocks& blocks, std::span<const std::vector<Value>> lists) {
  EncodedLists encoded;
  collectively(comm, [&] {
    if (has_experiment || (blocks.started && blocks.begin + blocks.size != end)) {
      throw std::logic_error("values added out of order");
    }
    encoded = encode_lists(lists);
  });
  if (!blocks.started) {
    blocks.begin = end = aligned(end);
    blocks.started = true;
  }
  const std::uint64_t before = comm.exclusive_scan(encoded.blocks.size());
  const std::uint64_t total = comm.all_sum(encoded.blocks.size());
  collectively(comm, [&] {
    if (!encoded.blocks.empty()) file->write_at(end + before, encoded.blocks);
  });
  shift_offsets(encoded.index, blocks.size + before);
  for (const exchange::Bytes& part : comm.gather(encoded.index, 0)) {
    blocks.index.insert(blocks.index.end(), part.begin(), part.end());
  }
  blocks.lists += comm.all_sum(lists.size());
  blocks.size += total;
  end += total;
}

void Writer::State::state_section(Section section, std::uint64_t offset, std::uint64_t size,
                                  std::uint64_t sum) {
  table.put(static_cast<std::uint32_t>(section));
  table.put(static_cast<std::uint32_t>(format::stride(section)));
  table.put(offset);
  table.put(size);
  table.put(sum);
}

void Writer::State::add_section(Section section, ByteSpan bytes) {
  end = aligned(end);
  if (!bytes.empty()) file->write_at(end, bytes);
  state_section(section, end, bytes.size(), format::self_checked(section) ? 0 : checksum(bytes));
  end += bytes.size();
}

void Writer::State::write_experiment(const Experiment& experiment) {
  check_consistency(experiment);
  if (profiles.lists != experiment.locations.size()) {
    throw std::logic_error("as many lists of a profile's values as locations are needed");
  }
  if (contexts.lists != experiment.contexts.size()) {
    throw std::logic_error("as many lists of a context's values as contexts are needed");
  }
  const SectionBytes sections = encode_experiment(experiment);
  for (std::uint32_t number = 1; number <= format::kSections; ++number) {
    const auto section = static_cast<Section>(number);
    switch (section) {
      case Section::profile_blocks:
        state_section(section, profiles.begin, profiles.size, 0);
        break;
      case Section::context_blocks:
        state_section(section, contexts.begin, contexts.size, 0);
        break;
      case Section::profile_index:
        add_section(section, profiles.index);
        break;
      case Section::context_index:
        add_section(section, contexts.index);
        break;
      default:
        add_section(section, sections[slot(section)]);
    }
  }
}

void Writer::State::write_header() {
  end = aligned(end);
  file->write_at(end, table.bytes());
  Encoder header;
  header.append(std::as_bytes(std::span(format::kMagic)));
  header.put(format::kVersion);
  header.put(static_cast<std::uint32_t>(table.size() / format::kTableEntrySize));
  header.put<std::uint64_t>(end + table.size());
  header.put(end);
  header.put(checksum(table.bytes()));
  header.pad(format::kHeaderHashed - header.size());
  header.put(checksum(header.bytes()));
  file->write_at(0, header.bytes());
}

Writer::Writer(exchange::Communicator& comm, const std::filesystem::path& path)
    : state_(new State{.comm = comm,
                       .path = path,
                       .temporary = {},
                       .file = {},
                       .profiles = {},
                       .contexts = {},
                       .table = {}}) {
  state_->temporary = temporary_beside(comm, path);
  state_->file = comm.create_file(state_->temporary);
}

Writer::~Writer() {
  if (state_->finished) return;
  state_->file.reset();
  if (state_->comm.rank() != 0) return;
  std::error_code ignored;
  std::filesystem::remove(state_->temporary, ignored);
}

void Writer::add_profile_values(std::span<const std::vector<Value>> profiles) {
  state_->add_lists(state_->profiles, profiles);
}

void Writer::add_context_values(std::span<const std::vector<Value>> contexts) {
  state_->add_lists(state_->contexts, contexts);
}

void Writer::add_experiment(const Experiment& experiment) {
  collectively(state_->comm, [&] {
    if (state_->has_experiment) throw std::logic_error("an experiment added twice");
    if (state_->comm.rank() == 0) state_->write_experiment(experiment);
  });
  state_->has_experiment = true;
}

void Writer::finish() {
  collectively(state_->comm, [&] {
    if (!state_->has_experiment) throw std::logic_error("a database without an experiment");
    if (state_->comm.rank() == 0) state_->write_header();
  });
  state_->file->close();
  collectively(state_->comm, [&] {
    if (state_->comm.rank() == 0) std::filesystem::rename(state_->temporary, state_->path);
  });
  state_->finished = true;
}

}  // namespace culprit::database
