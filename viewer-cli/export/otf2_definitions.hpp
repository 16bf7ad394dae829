#pragma once

#include "export/time_lines.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <otf2/otf2.h>

namespace culprit::viewer::otf2 {

/// What the library reported; which file, or why it cannot be written, it does not say.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws Failure unless the library succeeded.
void check(OTF2_ErrorCode code);

/// What events refer to by number, made when it is first referred to, and written when all events are: names,
/// regions, places in the source, communicators, windows.
class Definitions {
 public:
  explicit Definitions(const RunLines& lines);

  /// Numbers of attributes.
  static constexpr OTF2_AttributeRef kCallSite = 0, kWaitsFor = 1, kContinued = 2;

  /// A scope of the code.
  OTF2_RegionRef scope(database::ContextId frame);
  /// An MPI call. Its role is that of the first operation that it is seen with.
  OTF2_RegionRef call(database::ContextId context);
  void take_role(OTF2_RegionRef call, measurement::trace::OperationKind kind);
  OTF2_RegionRef wait(database::WaitPattern pattern);
  /// Where in the source a call is made.
  std::optional<OTF2_SourceCodeLocationRef> call_site(database::ContextId call);

  struct Comm {
    OTF2_CommRef ref = OTF2_UNDEFINED_COMM;
    OTF2_RmaWinRef window = OTF2_UNDEFINED_RMA_WIN;
    std::uint32_t members = 0;
    /// Of an intercommunicator, which is shown as one communicator of both groups: its first group,
    /// ascending.
    std::vector<std::int32_t> first = {};

    /// What is added to a peer's rank, which is one in the other group, to become one in both.
    [[nodiscard]] std::uint32_t peers_behind(std::int32_t own_rank) const {
      const bool in_first = std::binary_search(first.begin(), first.end(), own_rank);
      return in_first ? static_cast<std::uint32_t>(first.size()) : 0;
    }
  };
  /// Of a group of the replay; nothing where its members are not known.
  [[nodiscard]] const Comm* comm(std::optional<std::size_t> group) const;
  /// Processes by their ranks in MPI_COMM_WORLD.
  OTF2_GroupRef ranks(const std::vector<std::int32_t>& members);

  /// `events` by line; times of the first and the last event.
  void write(OTF2_GlobalDefWriter* writer, const std::vector<std::uint64_t>& events, std::uint64_t begin_ns,
             std::uint64_t end_ns);

  /// Locations of ranks that have no time line, but belong to a communicator: they come behind those of the
  /// lines, without events.
  [[nodiscard]] const std::vector<std::int32_t>& absent_ranks() const { return absent_; }

 private:
  struct Region {
    std::string name, file;
    std::uint32_t line = 0;
    OTF2_RegionRole role = OTF2_REGION_ROLE_FUNCTION;
    OTF2_Paradigm paradigm = OTF2_PARADIGM_UNKNOWN;
  };

  OTF2_StringRef text(std::string_view value);
  OTF2_RegionRef region(Region region);
  void find_comms();
  void write_regions();
  void write_system();
  void write_locations(const std::vector<std::uint64_t>& events);
  void write_groups();
  void write_comms();

  const RunLines& lines_;
  OTF2_GlobalDefWriter* writer_ = nullptr;
  // What is numbered is written in the order of its numbers.
  std::map<std::string, OTF2_StringRef, std::less<>> texts_;
  std::vector<const std::string*> texts_in_order_;
  std::map<std::tuple<std::string, std::string, std::uint32_t, int>, OTF2_RegionRef> region_of_;
  std::vector<Region> regions_;
  std::vector<OTF2_RegionRef> scopes_, calls_;  // by context
  std::map<database::WaitPattern, OTF2_RegionRef> waits_;
  std::map<std::pair<std::string, std::uint32_t>, OTF2_SourceCodeLocationRef> places_;
  std::vector<const std::pair<std::string, std::uint32_t>*> places_in_order_;
  std::map<database::ContextId, std::optional<OTF2_SourceCodeLocationRef>> call_sites_;
  std::vector<Comm> comms_;  // by group of the replay
  std::map<std::vector<std::int32_t>, OTF2_GroupRef> groups_;
  std::vector<const std::vector<std::int32_t>*> groups_in_order_;
  std::vector<std::int32_t> absent_;
  std::vector<std::uint64_t> location_of_rank_;  // in MPI_COMM_WORLD
};

}  // namespace culprit::viewer::otf2
