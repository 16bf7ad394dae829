#pragma once

#include "cct/frame.hpp"
#include "cct/module_table.hpp"
#include "stuck/picture.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace culprit::stuck {

/// How far in paths go: to the first function of MPI's, or to the innermost frame.
enum class Depth : std::uint8_t { to_mpi, whole };

/// Call paths of several processes, gathered first and then attributed together: each module is opened once.
class Places {
 public:
  using PathId = std::size_t;

  explicit Places(Depth depth = Depth::to_mpi) : depth_(depth) {}

  /// Calls the file of this path by another name: one that the kernel keeps has none of its own.
  void call(const std::string& path, const std::string& name) { names_[path] = name; }
  /// `frames` from the root on, whose modules are indices into `modules`.
  PathId add(const std::vector<cct::FrameKey>& frames, const std::vector<cct::ModuleKey>& modules);
  /// Recovers procedures, inlined procedures and lines of all that was added.
  void attribute();
  /// After attribute().
  [[nodiscard]] std::vector<Frame> path(PathId id) const;
  /// Of a single address: `worker`; empty where nothing is known.
  [[nodiscard]] std::string procedure_of(PathId id) const;

 private:
  using Address = std::pair<std::uint32_t, std::uint64_t>;  // module of ours, offset

  std::uint32_t module(const cct::ModuleKey& key);
  /// Of a Python function, whose name and line the frame itself has; nothing for any other frame.
  std::optional<Address> python_address(const cct::FrameKey& frame,
                                        const std::vector<cct::ModuleKey>& modules);
  [[nodiscard]] std::string name_of(const std::string& path) const;

  Depth depth_;
  std::vector<cct::ModuleKey> modules_;
  std::map<std::pair<std::string, std::string>, std::uint32_t> module_ids_;  // by path and build-id
  std::vector<std::vector<Address>> paths_;
  std::map<Address, std::vector<Frame>> frames_;
  std::map<std::string, std::string> names_;  // of files, by path
};

}  // namespace culprit::stuck
