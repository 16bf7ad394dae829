#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>

namespace culprit::database {

/// A database cannot be read. what() is "why (what to do)".
class DatabaseError : public std::runtime_error {
 public:
  DatabaseError(std::filesystem::path path, const std::string& why)
      : std::runtime_error(why), path_(std::move(path)) {}
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace culprit::database
