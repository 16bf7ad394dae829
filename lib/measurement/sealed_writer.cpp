#include "measurement/sealed_writer.hpp"

#include "measurement/file_space.hpp"
#include "measurement/raw_memory.hpp"

#include <cerrno>
#include <cstring>

namespace culprit::measurement {

using sealed::SectionEntry;

int SealedWriter::start(int fd, std::uint32_t max_sections) noexcept {
  fd_ = fd;
  max_sections_ = max_sections;
  const std::size_t size = kBuffer + kRecord + table_bytes();
  void* memory = raw_map(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  if (memory == MAP_FAILED) return errno;
  memory_ = static_cast<unsigned char*>(memory);
  table_ = reinterpret_cast<SectionEntry*>(memory_ + kBuffer + kRecord);
  used_ = hashed_ = memory_;
  end_ = memory_ + kBuffer;
  offset_ = sizeof(sealed::Header) + table_bytes();
  return 0;
}

void SealedWriter::release() noexcept {
  if (memory_ != nullptr) raw_unmap(memory_, kBuffer + kRecord + table_bytes());
  memory_ = nullptr;
}

void SealedWriter::flush() noexcept {
  if (before_record_ != nullptr) {  // a record that is longer than any can be
    error_ = EOVERFLOW;
    used_ = memory_ + kBuffer;
    return;
  }
  const auto size = static_cast<std::size_t>(used_ - memory_);
  if (error_ == 0) {
    hash();
    error_ = size_allowed(offset_ + size) ? write_all(fd_, memory_, size, offset_) : EFBIG;
  }
  offset_ += size;
  used_ = hashed_ = memory_;
}

void SealedWriter::hash() noexcept {
  XXH64_update(&hash_, hashed_, static_cast<std::size_t>(used_ - hashed_));
  hashed_ = used_;
}

void SealedWriter::bytes(const void* data, std::size_t size) noexcept {
  const auto* from = static_cast<const unsigned char*>(data);
  while (size > 0) {
    if (used_ == end_) flush();
    const auto room = static_cast<std::size_t>(end_ - used_);
    const std::size_t chunk = size < room ? size : room;
    std::memcpy(used_, from, chunk);
    used_ += chunk;
    from += chunk;
    size -= chunk;
  }
}

void SealedWriter::begin_section(sealed::SectionType type, std::uint32_t index) noexcept {
  if (sections_ == max_sections_) {
    error_ = error_ != 0 ? error_ : EOVERFLOW;
    return;
  }
  SectionEntry& entry = table_[sections_];
  entry.type = static_cast<std::uint32_t>(type);
  entry.index = index;
  entry.offset = position();
  hashed_ = used_;
  XXH64_reset(&hash_, 0);
}

void SealedWriter::end_section() noexcept {
  if (error_ != 0) return;
  hash();
  SectionEntry& entry = table_[sections_++];
  entry.size = position() - entry.offset;
  entry.checksum = XXH64_digest(&hash_);
}

void SealedWriter::begin_record() noexcept {
  before_record_ = used_;
  used_ = memory_ + kBuffer;
  end_ = used_ + kRecord;
}

void SealedWriter::end_record() noexcept {
  const unsigned char* record = memory_ + kBuffer;
  const auto size = static_cast<std::size_t>(used_ - record);
  used_ = before_record_;
  end_ = memory_ + kBuffer;
  before_record_ = nullptr;
  string(record, size);
}

int SealedWriter::finish() noexcept {
  flush();
  if (error_ != 0) return error_;
  sealed::Header header{};
  std::memcpy(header.magic, sealed::kMagic, sizeof header.magic);
  header.version = sealed::kVersion;
  header.header_size = sizeof header;
  header.file_size = offset_;
  header.section_count = sections_;
  header.entry_size = sizeof(SectionEntry);
  const std::size_t table = sections_ * sizeof(SectionEntry);
  header.table_checksum = XXH64(table_, table, 0);
  header.header_checksum = XXH64(&header, offsetof(sealed::Header, header_checksum), 0);
  if (const int error = write_all(fd_, table_, table, sizeof header); error != 0) return error;
  return write_all(fd_, &header, sizeof header, 0);
}

}  // namespace culprit::measurement
