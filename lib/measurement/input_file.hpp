#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace culprit::measurement {

/// Memory that files which are read one after the other share.
struct InputWindow {
  std::unique_ptr<std::byte[]> bytes;
  std::size_t capacity = 0;
};

/// A regular file that is open for reading. Errors are MeasurementError.
class OpenedFile {
 public:
  explicit OpenedFile(const std::string& path);
  OpenedFile(OpenedFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}
  OpenedFile& operator=(OpenedFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~OpenedFile();

  [[nodiscard]] int descriptor() const { return fd_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// Lets the system read the file's beginning, as much as the first view holds, while others are worked at.
  void fetch() const;

 private:
  int fd_;
  std::uint64_t size_ = 0;
};

/// A file read through a sliding window. Reads instead of mapping, because a file that is truncated meanwhile
/// must not end this process: a small file costs one read, which is no slower than mapping it and touching
/// its pages. Errors are MeasurementError.
class InputFile {
 public:
  /// `window` must outlive this; one file uses it at a time.
  InputFile(const std::string& path, InputWindow& window) : InputFile(path, OpenedFile(path), window) {}
  InputFile(std::string path, OpenedFile file, InputWindow& window)
      : path_(std::move(path)), file_(std::move(file)), window_(window) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t size() const { return file_.size(); }

  /// What the file holds by now: more than size() where it is written to meanwhile, less where it is cut.
  [[nodiscard]] std::uint64_t present_size() const;

  /// `size` bytes at `offset`, valid until the next call of view. Precondition: they lie within size().
  std::span<const std::byte> view(std::uint64_t offset, std::size_t size);

  /// Has the next view read what the file holds by then.
  void forget() { window_size_ = 0; }

  /// Copies `size` bytes at `offset` to `to`; bytes that the file no longer has become 0.
  void copy(std::uint64_t offset, std::byte* to, std::size_t size) const;

  /// The first offset from `offset` on that may hold anything but zeros; size() if there is none.
  [[nodiscard]] std::uint64_t next_data(std::uint64_t offset) const;

 private:
  std::string path_;
  OpenedFile file_;
  InputWindow& window_;
  std::uint64_t window_offset_ = 0;
  std::size_t window_size_ = 0;
};

}  // namespace culprit::measurement
