#pragma once

#include "exchange/communicator.hpp"
#include "waits/matching/rank_list.hpp"
#include "waits/timeline/process_trace.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <tsl/robin_map.h>

namespace culprit::waits {

/// A communicator or window of the run as this rank of the analysis knows it.
struct SharedContext {
  std::uint64_t global_id = 0;
  std::uint32_t size = 0;           ///< of an intercommunicator: both groups
  std::uint32_t own_processes = 0;  ///< how many of this rank's processes are members
  RankList members;                 ///< empty: nobody recorded them
};

/// One process's view of one of its definitions.
struct View {
  std::uint32_t shared = kUnknown;    ///< which SharedContext; kUnknown for groups
  std::int32_t rank = -1;             ///< of the process, in it
  bool inter = false;                 ///< of an intercommunicator
  const RankList* members = nullptr;  ///< whom peers are: of an intercommunicator the remote group
  std::uint32_t slot = 0;             ///< a number of this process and shared context, below slots()
  static constexpr std::uint32_t kUnknown = ~std::uint32_t{0};
};
inline constexpr View kNoView;

/// What one process recorded of who is in a communicator or window.
struct Membership {
  std::uint64_t global_id = 0;
  RankList members, remote;  ///< remote: of intercommunicators
};

/// What the communicators, windows and groups in the processes' definitions are. Members are recorded by one
/// process of each only; here they are brought to all ranks of the analysis that need them. One that
/// processes define differently is unknown to all of them.
class Contexts {
 public:
  /// Collective.
  Contexts(exchange::Communicator& analysis, std::span<const std::unique_ptr<ProcessTrace>> own);

  [[nodiscard]] const SharedContext& shared(std::uint32_t index) const { return shared_[index]; }
  [[nodiscard]] std::size_t size() const { return shared_.size(); }
  /// How many shared contexts this rank's processes are in, each counted by itself.
  [[nodiscard]] std::uint32_t slots() const { return slots_; }
  /// By its global id; nothing where none of this rank's processes is a member.
  [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t global_id) const;
  /// Of the `process`-th of `own`; an unknown view where the context is none of its definitions.
  [[nodiscard]] const View& view(std::size_t process, measurement::trace::Context context) const {
    const std::vector<View>& views = views_[process];
    return context < views.size() ? views[context] : kNoView;
  }

 private:
  /// Of an intercommunicator both groups, as its first side sees them; else `remote` is null.
  struct Groups {
    const RankList* members = nullptr;
    const RankList* remote = nullptr;
  };
  std::uint32_t add(std::uint64_t global_id);
  Groups add_members(SharedContext& context, const Membership& membership);
  void add_views(const ProcessTrace& process, const std::unordered_map<std::uint64_t, Groups>& groups);
  const RankList* keep(RankList list);

  std::vector<SharedContext> shared_;
  tsl::robin_map<std::uint64_t, std::uint32_t> by_id_;
  std::uint32_t slots_ = 0;
  std::vector<std::vector<View>> views_;          // by process, then context
  std::vector<std::unique_ptr<RankList>> lists_;  // that views refer to
};

}  // namespace culprit::waits
