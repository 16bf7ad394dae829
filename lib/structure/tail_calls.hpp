#pragma once

#include "structure/frames.hpp"
#include "structure/machine_code.hpp"
#include "structure/module.hpp"
#include "structure/plt.hpp"
#include "structure/structure.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace culprit::structure {

/// A jump from one function to where another begins: a tail call, or the way into the function's cold part.
struct TailCall {
  std::uint64_t address = 0;
  std::uint64_t entry = 0;  ///< 0: a function that a linkage stub names
  std::string name;         ///< in that case: its symbol
};

/// Whom the calls and tail calls of one module name, as its instructions show. Reads what is asked for, once.
/// What cannot be read names nobody; damaged modules may also throw a std::exception. Not thread-safe.
class TailCalls {
 public:
  /// Of the module at the request's path; its addresses do not matter.
  explicit TailCalls(const Request& request);
  TailCalls(const TailCalls&) = delete;
  TailCalls& operator=(const TailCalls&) = delete;

  /// The function that the direct call names which returns to `address`; 0 where no such call ends there.
  [[nodiscard]] std::uint64_t called_before(std::uint64_t address) const;
  /// The tail calls of the function that begins at `entry`, with or without a condition, ascending.
  const std::vector<TailCall>& of(std::uint64_t entry);
  /// The function that the module exports under that name; 0 where there is none, or several versions.
  std::uint64_t exported(const std::string& name);

 private:
  [[nodiscard]] std::vector<TailCall> read(std::uint64_t entry);
  void read_exports();

  std::unique_ptr<Module> module_;  ///< null: not to be read
  std::optional<Decoder> decoder_;
  std::optional<Frames> frames_;
  std::optional<LinkageStubs> stubs_;
  std::unordered_map<std::uint64_t, std::vector<TailCall>> known_;
  std::optional<std::unordered_map<std::string, std::uint64_t>> exports_;
};

}  // namespace culprit::structure
