// Finds the members of each communicator and window on all ranks of the analysis (docs/algorithms.md 7). One
// process of each recorded the members; a hash of the context's id chooses a home rank where they are
// collected and asked for. Where that process's trace is missing, the others' own places in the context are
// put together there. Contexts that processes describe differently are unknown to all. Cost: eight all-to-all
// exchanges at the beginning; member lists are kept as runs with a stride.
#include "waits/matching/contexts.hpp"

#include "bytes/reader.hpp"
#include "bytes/writer.hpp"
#include "exchange/message_exchange.hpp"
#include "measurement/limits.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace culprit::waits {

namespace {

using exchange::Bytes;
using measurement::trace::Context;
using measurement::trace::Definition;
using measurement::trace::DefinitionKind;

struct ThrowExchangeError {
  [[noreturn]] void operator()(bytes::Failure /*why*/) const {
    throw exchange::ExchangeError("contexts: a message arrived with the wrong length");
  }
};

/// One message to each rank of the analysis.
using Outgoing = std::vector<bytes::Writer>;
using Incoming = bytes::Reader<ThrowExchangeError>;

/// Collective.
std::vector<Bytes> all_to_all(exchange::Communicator& analysis, Outgoing outgoing) {
  std::vector<Bytes> to;
  to.reserve(outgoing.size());
  for (bytes::Writer& message : outgoing) to.push_back(message.take());
  return analysis.all_to_all(std::move(to));
}

void put(bytes::Writer& message, const RankList& list) {
  const std::vector<std::int32_t> packed = list.packed();
  message.put(std::uint64_t{packed.size()});
  message.append(std::as_bytes(std::span(packed)));
}

void put(bytes::Writer& message, const Membership& membership) {
  message.put(membership.global_id);
  put(message, membership.members);
  put(message, membership.remote);
}

RankList get_list(Incoming& message) {
  const auto count = message.get<std::uint64_t>();
  // The size of more numbers than there are bytes left might overflow.
  const std::span<const std::byte> taken =
      message.take(count > message.remaining() ? count : count * sizeof(std::int32_t));
  std::vector<std::int32_t> packed(taken.size() / sizeof(std::int32_t));
  if (!taken.empty()) std::memcpy(packed.data(), taken.data(), taken.size());
  return RankList::unpacked(packed);
}

Membership get_membership(Incoming& message) {
  Membership membership;
  membership.global_id = message.get<std::uint64_t>();
  membership.members = get_list(message);
  membership.remote = get_list(message);
  return membership;
}

/// The rank of the analysis that knows who is in a context.
std::size_t home_of(std::uint64_t global_id, std::size_t ranks) {
  return (global_id * 0x9e3779b97f4a7c15U >> 32) % ranks;
}

bool is_shared(const Definition& definition) {
  return definition.kind != DefinitionKind::group;
}

/// What processes say of a context that all of them must agree on.
struct Said {
  std::uint64_t global_id = 0;
  std::uint64_t least = ~std::uint64_t{0}, most = 0;

  void add(std::uint64_t said) {
    least = std::min(least, said);
    most = std::max(most, said);
  }
};

/// Its size; the two groups of an intercommunicator differ in that.
std::uint64_t said_by(const Definition& definition) {
  constexpr std::uint64_t kBetweenGroups = std::uint64_t{1} << 32;
  return definition.kind == DefinitionKind::intercommunicator ? kBetweenGroups : definition.size;
}

/// Collective: of the contexts that this rank's processes are in those of which any two processes, wherever
/// they are, say different things: whoever believed one of them would depend on which.
std::unordered_set<std::uint64_t> find_contradictory(exchange::Communicator& analysis,
                                                     std::span<const std::unique_ptr<ProcessTrace>> own) {
  std::unordered_map<std::uint64_t, Said> here;
  for (const auto& process : own) {
    for (const Definition& definition : process->definitions()) {
      if (is_shared(definition)) here[definition.global_id].add(said_by(definition));
    }
  }
  const auto ranks = static_cast<std::size_t>(analysis.size());
  Outgoing to(ranks);
  for (auto& [id, said] : here) {
    said.global_id = id;
    to[home_of(id, ranks)].append(std::as_bytes(std::span(&said, 1)));
  }
  std::unordered_map<std::uint64_t, Said> at_home;
  const std::vector<Bytes> boxes = all_to_all(analysis, std::move(to));
  for (const Bytes& box : boxes) {
    for (const Said& said : exchange::items_of<Said>(box)) {
      at_home[said.global_id].add(said.least);
      at_home[said.global_id].add(said.most);
    }
  }
  Outgoing answers(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (const Said& said : exchange::items_of<Said>(boxes[rank])) {
      const Said& by_all = at_home[said.global_id];
      if (by_all.least != by_all.most) answers[rank].put(said.global_id);
    }
  }
  std::unordered_set<std::uint64_t> contradictory;
  for (const Bytes& box : all_to_all(analysis, std::move(answers))) {
    for (const std::uint64_t id : exchange::items_of<std::uint64_t>(box)) contradictory.insert(id);
  }
  return contradictory;
}

/// Where a process recorded the members of a context: there, or where it has the same ones, in what it was
/// made from, which was defined before it.
const Definition& with_members(std::span<const Definition> all, std::size_t at) {
  while (all[at].members.empty() && all[at].rank == 0 && all[at].parent < at) at = all[at].parent;
  return all[at];
}

Outgoing recorded_memberships(std::span<const std::unique_ptr<ProcessTrace>> own, std::size_t ranks) {
  Outgoing to(ranks);
  for (const auto& process : own) {
    const std::span<const Definition> all = process->definitions();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Definition& recorded = with_members(all, i);
      if (!is_shared(all[i]) || recorded.members.empty()) continue;
      put(to[home_of(all[i].global_id, ranks)],
          Membership{all[i].global_id, RankList(recorded.members), RankList(recorded.remote)});
    }
  }
  return to;
}

/// What members of contexts that nobody recorded the members of (their first member's time line is missing)
/// know of them: their own places.
Outgoing own_places(std::span<const std::unique_ptr<ProcessTrace>> own, std::size_t ranks,
                    const std::function<bool(std::uint64_t)>& recorded) {
  Outgoing to(ranks);
  for (const auto& process : own) {
    for (const Definition& definition : process->definitions()) {
      const bool has_place =
          definition.kind == DefinitionKind::communicator || definition.kind == DefinitionKind::window;
      if (!has_place || recorded(definition.global_id)) continue;
      bytes::Writer& message = to[home_of(definition.global_id, ranks)];
      message.put(definition.global_id);
      message.put(static_cast<std::uint64_t>(definition.rank));
      message.put(static_cast<std::uint64_t>(process->rank()));
    }
  }
  return to;
}

using Memberships = std::unordered_map<std::uint64_t, std::vector<Membership>>;

Memberships read_memberships(const std::vector<Bytes>& boxes) {
  Memberships known;
  for (const Bytes& box : boxes) {
    for (Incoming message(box); !message.at_end();) {
      Membership one = get_membership(message);
      std::vector<Membership>& all = known[one.global_id];
      // Of an intercommunicator each side's first process records its view.
      if (all.size() < 2) all.push_back(std::move(one));
    }
  }
  return known;
}

/// Reads what own_places() wrote; who is missing is nobody. Takes memory for those who said so only: a
/// damaged definition may name any place.
Memberships read_places(const std::vector<Bytes>& boxes) {
  std::unordered_map<std::uint64_t, std::map<std::uint32_t, std::int32_t>> members;
  for (const Bytes& box : boxes) {
    for (Incoming message(box); !message.at_end();) {
      std::map<std::uint32_t, std::int32_t>& all = members[message.get<std::uint64_t>()];
      const auto place = message.get<std::uint64_t>();
      const auto rank = static_cast<std::int32_t>(message.get<std::uint64_t>());
      if (place < measurement::kMaxRanks) all.try_emplace(static_cast<std::uint32_t>(place), rank);
    }
  }
  Memberships known;
  for (const auto& [id, ranks] : members) known[id].push_back({id, RankList::at_places(ranks), {}});
  return known;
}

/// Asks the homes for what is known of `wanted`.
Memberships fetch(exchange::Communicator& analysis, const Memberships& at_home,
                  const std::vector<SharedContext>& wanted) {
  const auto ranks = static_cast<std::size_t>(analysis.size());
  Outgoing questions(ranks);
  for (const SharedContext& context : wanted)
    questions[home_of(context.global_id, ranks)].put(context.global_id);
  const std::vector<Bytes> asked = all_to_all(analysis, std::move(questions));
  Outgoing answers(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (Incoming message(asked[rank]); !message.at_end();) {
      const auto found = at_home.find(message.get<std::uint64_t>());
      if (found == at_home.end()) continue;
      for (const Membership& one : found->second) put(answers[rank], one);
    }
  }
  return read_memberships(all_to_all(analysis, std::move(answers)));
}

}  // namespace

std::uint32_t Contexts::add(std::uint64_t global_id) {
  const auto [entry, added] = by_id_.try_emplace(global_id, static_cast<std::uint32_t>(shared_.size()));
  if (added) {
    shared_.emplace_back();
    shared_.back().global_id = global_id;
  }
  return entry->second;
}

Contexts::Contexts(exchange::Communicator& analysis, std::span<const std::unique_ptr<ProcessTrace>> own) {
  const std::unordered_set<std::uint64_t> contradictory = find_contradictory(analysis, own);
  for (const auto& process : own) {
    std::unordered_set<std::uint64_t> defined;  // what is defined twice is one
    for (const Definition& definition : process->definitions()) {
      if (!is_shared(definition) || contradictory.contains(definition.global_id)) continue;
      SharedContext& context = shared_[add(definition.global_id)];
      context.size = std::max(context.size, definition.size);
      if (defined.insert(definition.global_id).second) ++context.own_processes;
    }
  }
  const auto ranks = static_cast<std::size_t>(analysis.size());
  const Memberships at_home = read_memberships(all_to_all(analysis, recorded_memberships(own, ranks)));
  Memberships known = fetch(analysis, at_home, shared_);
  const auto recorded = [&known](std::uint64_t id) { return known.contains(id); };
  const Memberships pieced = read_places(all_to_all(analysis, own_places(own, ranks, recorded)));
  known.merge(fetch(analysis, pieced, shared_));
  std::unordered_map<std::uint64_t, Groups> groups;
  for (const auto& [id, memberships] : known)
    groups[id] = add_members(shared_[by_id_.at(id)], memberships.front());
  for (const auto& process : own) add_views(*process, groups);
}

/// Keeps the members of a context, for its own sake and for the views of it.
Contexts::Groups Contexts::add_members(SharedContext& context, const Membership& membership) {
  std::vector<std::int32_t> all = membership.members.packed();
  const std::vector<std::int32_t> remote = membership.remote.packed();
  all.insert(all.end(), remote.begin(), remote.end());
  context.members = RankList::unpacked(all);
  if (remote.empty()) return {keep(membership.members), nullptr};
  context.size = context.members.size();
  return {keep(membership.members), keep(membership.remote)};
}

void Contexts::add_views(const ProcessTrace& process,
                         const std::unordered_map<std::uint64_t, Groups>& groups) {
  std::vector<View>& views = views_.emplace_back();
  std::unordered_map<std::uint32_t, std::uint32_t> slots;  // what is defined twice has one
  for (const Definition& definition : process.definitions()) {
    View& view = views.emplace_back();
    if (is_shared(definition) && !by_id_.contains(definition.global_id)) continue;  // contradictory
    view.rank = definition.rank;
    if (!is_shared(definition)) {
      view.members = keep(RankList(definition.members));
      continue;
    }
    view.shared = by_id_.at(definition.global_id);
    const auto [slot, added] = slots.try_emplace(view.shared, slots_);
    if (added) ++slots_;
    view.slot = slot->second;
    const auto found = groups.find(definition.global_id);
    if (found == groups.end()) continue;
    const Groups& sides = found->second;
    view.inter = sides.remote != nullptr;
    // Peers are in the group that this process is not in.
    view.members = view.inter && sides.members->contains(process.rank()) ? sides.remote : sides.members;
  }
}

const RankList* Contexts::keep(RankList list) {
  return lists_.emplace_back(std::make_unique<RankList>(std::move(list))).get();
}

std::optional<std::uint32_t> Contexts::find(std::uint64_t global_id) const {
  const auto found = by_id_.find(global_id);
  if (found == by_id_.end()) return std::nullopt;
  return found->second;
}

}  // namespace culprit::waits
