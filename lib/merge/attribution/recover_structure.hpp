#pragma once

#include "cct/canonical.hpp"
#include "exchange/communicator.hpp"
#include "structure/structure.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace culprit::merge {

/// An address in a module of the united tree.
struct Place {
  cct::ModuleId module = cct::kNoModule;
  std::uint64_t offset = 0;

  friend auto operator<=>(const Place&, const Place&) = default;  // NOLINT(modernize-use-nullptr)
};

/// The static structure of everything that was sampled, by module of the united tree.
class RecoveredStructure {
 public:
  struct Module {
    std::vector<std::uint64_t> addresses;  ///< ascending, unique; parallel to structure.points
    structure::ModuleStructure structure;
  };

  /// Outermost first, by a call and the entry of the function that was found below it.
  using Jumps = std::map<std::pair<Place, Place>, std::vector<Place>>;

  explicit RecoveredStructure(std::vector<Module> modules) : modules_(std::move(modules)) {}

  /// Adds what was recovered around further addresses of a module (ascending, unique).
  void add(cct::ModuleId module, const std::vector<std::uint64_t>& addresses,
           structure::ModuleStructure more);
  void set_jumps(Jumps jumps) { jumps_ = std::move(jumps); }

  [[nodiscard]] const std::vector<Module>& modules() const { return modules_; }
  /// What lies at an address that was asked for; null where nothing is known (no module, or not asked for).
  [[nodiscard]] const structure::Point* point(const Place& place) const;
  /// The procedure that holds an address that was asked for; null where nothing is known.
  [[nodiscard]] const structure::Procedure* procedure(const Place& place) const;
  /// Where that procedure begins; no place where its bounds are not known.
  [[nodiscard]] Place entry(const Place& place) const;
  /// Where functions left their frames by jumps, between the call at `call` and the frame below it of the
  /// function that begins at `callee`: outermost first. Where it is not known by which jump one did, its
  /// beginning stands for that.
  [[nodiscard]] const std::vector<Place>& jumps(const Place& call, const Place& callee) const;

 private:
  std::vector<Module> modules_;
  Jumps jumps_;
};

/// Collective: recovers the structure around the addresses of `shared` and, in addition, rank 0's `more`.
/// Modules, and parts of those of which much was sampled, are partitioned among ranks and over the threads of
/// each (cores / ranks). `cache`: structure::Request::cache. Rank 0 gets the result; the others an empty
/// one.
RecoveredStructure recover_structure(exchange::Communicator& comm, const cct::SharedTree& shared,
                                     const std::vector<Place>& more, bool loops,
                                     const std::filesystem::path& cache, const std::function<void()>& step);

}  // namespace culprit::merge
