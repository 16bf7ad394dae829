#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

// What befalls files: they are cut, and bits in them turn over. Shared by the tests of all readers.
namespace damage {

/// A file of which one byte after the other is damaged in place and put right again: a copy of the whole for
/// each would take longer than to read it.
class File {
 public:
  File(std::filesystem::path path, std::vector<char> bytes)
      : path_(std::move(path)),
        bytes_(std::move(bytes)),
        file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), path_);
    restore();
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { ::close(file_); }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] const std::vector<char>& bytes() const { return bytes_; }

  /// Turns over one bit of the byte, for the time of the call.
  template <typename Look>
  void flip(std::size_t at, Look&& look) {
    put(at, static_cast<char>(bytes_[at] ^ (1 << at % 8)));
    look();
    put(at, bytes_[at]);
  }
  /// From now on only so many bytes are there.
  void cut(std::size_t size) {
    if (::ftruncate(file_, static_cast<off_t>(size)) != 0) fail();
  }
  void restore() {
    const auto size = static_cast<ssize_t>(bytes_.size());
    if (::pwrite(file_, bytes_.data(), bytes_.size(), 0) != size) fail();
  }

 private:
  void put(std::size_t at, char byte) {
    if (::pwrite(file_, &byte, 1, static_cast<off_t>(at)) != 1) fail();
  }
  [[noreturn]] void fail() const { throw std::system_error(errno, std::generic_category(), path_); }

  std::filesystem::path path_;
  std::vector<char> bytes_;
  int file_;
};

/// All bytes that are used, zeros among them included. Of the holes, where one byte is like the other, one in
/// 4099; all of them where CULPRIT_THOROUGH is set.
inline std::vector<bool> used(const std::vector<char>& bytes) {
  constexpr std::size_t kOfHoles = 4099, kAround = 8;
  std::vector<bool> chosen(bytes.size(), std::getenv("CULPRIT_THOROUGH") != nullptr);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (at % kOfHoles == 0) chosen[at] = true;
    if (bytes[at] == 0) continue;
    const std::size_t end = std::min(at + kAround, bytes.size());
    for (std::size_t near = at - std::min(at, kAround); near < end; ++near) chosen[near] = true;
  }
  return chosen;
}

/// Calls `look(at)` with one bit of byte `at` turned over, for each of these bytes.
template <typename Look>
void flip_each(File& file, Look&& look) {
  const std::vector<bool> chosen = used(file.bytes());
  for (std::size_t at = 0; at < file.size(); ++at)
    if (chosen[at]) file.flip(at, [&] { look(at); });
}

/// Calls `look(size)` with the file cut to `size` bytes, for each of these.
template <typename Look>
void cut_each(File& file, Look&& look) {
  const std::vector<bool> chosen = used(file.bytes());
  for (std::size_t size = file.size(); size-- > 0;) {
    if (!chosen[size]) continue;
    file.cut(size);
    look(size);
  }
  file.restore();
}

/// Calls `look(text)` with the text cut at each byte, and with each of its bits turned over.
template <typename Look>
void cut_and_flip_each(const std::string& text, Look&& look) {
  constexpr unsigned kBits = 8;
  for (std::size_t at = 0; at < text.size(); ++at) {
    look(text.substr(0, at));
    for (unsigned bit = 0; bit < kBits; ++bit) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(damaged[at] ^ (1U << bit));
      look(damaged);
    }
  }
}

}  // namespace damage
