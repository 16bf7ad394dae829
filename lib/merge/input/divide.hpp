#pragma once

#include "database/encoding.hpp"
#include "exchange/communicator.hpp"
#include "files/readership.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace culprit::merge {

/// Files that were lost while they were merged, and why.
using Lost = std::map<std::string, std::string>;

/// Files below the measurement directory, in the order in which they were added. Of a path only what differs
/// from the one before it is kept: some ten bytes.
class InputFiles {
 public:
  void add(std::string_view path, std::uint64_t bytes);

  [[nodiscard]] std::size_t size() const { return size_; }

  /// Goes through files, which must stay where they are.
  class Cursor {
   public:
    explicit Cursor(const InputFiles& files) : from_(files.packed_.bytes(), "a list of files") {}

    /// False: there are no more.
    bool next();
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

   private:
    database::Decoder from_;
    std::string path_;
    std::uint64_t bytes_ = 0;
  };

  [[nodiscard]] InputFiles without(const Lost& lost) const;

  /// As a message, and back.
  [[nodiscard]] exchange::Bytes take() &&;
  static InputFiles from(const exchange::Bytes& message);

 private:
  std::size_t size_ = 0;
  std::string last_;
  database::Encoder packed_;
};

/// Whose files a measurement consists of, and who may read them.
struct Provenance {
  std::set<uid_t> owners;
  files::Readership readership;
};

/// Collective: rank 0 finds the measurement files below `directory`; every rank gets a contiguous range of
/// them, in the order of their paths, with about the same number of bytes. Sets rank 0's `provenance`; who
/// comes to `shared` comes through the directories that lead there. Throws std::runtime_error on every rank
/// where there are no files.
InputFiles divide(exchange::Communicator& comm, const std::filesystem::path& directory,
                  const std::filesystem::path& shared, Provenance& provenance);

/// Which of `parts` contiguous ranges with about the same weight an item is in that has the weight `before`
/// in front of it, of `total`.
std::size_t part_of(std::uint64_t before, std::uint64_t total, std::size_t parts);

}  // namespace culprit::merge
