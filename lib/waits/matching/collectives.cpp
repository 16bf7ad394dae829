// Matches collective operations and finds what each member waited for (docs/algorithms.md 7). The n-th call
// of each member on a communicator or window is one collective instance. Each rank of the analysis adds up
// its own members (the last two to enter, the first to enter, the first to leave, the root): an associative
// sum, so messages do not grow with members. One rank per instance combines the sums and sends the whole
// back.
// Prefix reductions send each member, since each waits for the lower ranks alone. So do blocking operations
// that have a root, in one message: a member of these may be held up by any other (held_up.cpp).
// Contradictory members (other kind, two roots) wait for nobody. Cost: two messages per instance and rank of
// the analysis.
#include "waits/matching/collectives.hpp"

#include "waits/timeline/dependencies.hpp"

#include <algorithm>
#include <utility>

namespace culprit::waits {

namespace trace = measurement::trace;
using trace::Operation;
using trace::OperationKind;

namespace {

/// Two members may say that they have the same rank: none is taken for another, whichever comes first.
bool is_lower(const Mark& a, const Mark& b) {
  return a.rank != b.rank ? a.rank < b.rank : a.call < b.call;
}

bool enters_later(const Mark& a, const Mark& b) {
  return a.ns != b.ns ? a.ns > b.ns : is_lower(a, b);
}

/// Of an `other` that may be nobody.
bool comes_before(const Mark& mark, const Mark& other) {
  return other.rank < 0 || mark.ns < other.ns || (mark.ns == other.ns && is_lower(mark, other));
}

/// Of a whole instance: who was held up by members that it does not need by definition.
std::vector<HeldUp> held_up_in(const Gathering& whole, std::vector<Presence> present) {
  if (whole.contradictory || !whole.blocking || !is_rooted(whole.kind) || whole.root.rank < 0) return {};
  for (Presence& member : present) {
    const bool root = member.call == whole.root.call;
    if (whole.kind == OperationKind::all_to_one) {
      if (root) member.free_ns = Presence::kNobody;
    } else if (!root) {
      member.free_ns = std::max(member.enter_ns, whole.root.ns);
    }
  }
  return held_up(std::move(present));
}

/// All members of a prefix reduction, which this sorts by rank: what each waited for.
std::vector<PrefixedNotice> answer_prefix(std::vector<PrefixNotice>& members) {
  const auto mark_of = [](const PrefixNotice& one) {
    const Presence& member = one.member;
    return Mark{.ns = member.enter_ns, .call = member.call, .rank = member.rank, .context = member.context};
  };
  std::sort(members.begin(), members.end(),
            [&](const PrefixNotice& a, const PrefixNotice& b) { return is_lower(mark_of(a), mark_of(b)); });
  std::vector<PrefixedNotice> answers;
  std::vector<Presence> present;
  Mark latest;
  bool blocking = true;
  for (PrefixNotice& one : members) {
    answers.push_back({one.context, one.instance, one.member.call, latest, {}});
    one.member.free_ns = std::max(one.member.enter_ns, latest.ns);
    blocking = blocking && one.blocking;
    present.push_back(one.member);
    const Mark enter = mark_of(one);
    if (latest.rank < 0 || enters_later(enter, latest)) latest = enter;
  }
  if (!blocking) return answers;
  const std::vector<HeldUp> found = held_up(std::move(present));
  for (PrefixedNotice& answer : answers) {
    if (const HeldUp* const one = find_held_up(found, answer.call)) answer.held_up = *one;
  }
  return answers;
}

WaitPattern completion_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::barrier:
      return WaitPattern::barrier_completion;
    case OperationKind::all_to_all:
      return WaitPattern::nxn_completion;
    default:
      return WaitPattern::none;
  }
}

}  // namespace

/// One of the last two, perhaps.
void Gathering::come_last(const Mark& mark) {
  if (latest.rank < 0 || enters_later(mark, latest)) {
    second = latest;
    latest = mark;
  } else if (second.rank < 0 || enters_later(mark, second)) {
    second = mark;
  }
}

void Gathering::enter(const Mark& mark) {
  come_last(mark);
  if (comes_before(mark, first_in)) first_in = mark;
}

void Gathering::leave(const Mark& mark) {
  if (comes_before(mark, first_out)) first_out = mark;
}

void Gathering::join(OperationKind operation, bool blocks) {
  if (members != 0 && kind != operation) contradictory = true;
  kind = operation;
  ++members;
  blocking = blocking && blocks;
}

void Gathering::lead(const Mark& mark) {
  if (root.rank >= 0) contradictory = true;
  root = mark;
}

void Gathering::add(const Gathering& other) {
  if (other.members == 0) return;
  if (other.contradictory || (members != 0 && kind != other.kind)) contradictory = true;
  kind = other.kind;
  if (other.first_in.rank >= 0 && comes_before(other.first_in, first_in)) first_in = other.first_in;
  if (other.first_out.rank >= 0) leave(other.first_out);
  for (const Mark* mark : {&other.latest, &other.second}) {
    if (mark->rank >= 0) come_last(*mark);
  }
  if (other.root.rank >= 0) lead(other.root);
  members += other.members;
  blocking = blocking && other.blocking;
}

/// Most programs have one communicator of all ranks: its instances are shared out.
int Collectives::home_of(const Key& key) const {
  return static_cast<int>(((key.context ^ key.instance) * 0x9e3779b97f4a7c15U >> 33) %
                          static_cast<std::uint64_t>(exchange_.ranks()));
}

void Collectives::observe(const CallSite& call, const Operation& operation) {
  if (operation.begins) begin(call, operation);
  if (!operation.completes || operation.begins) return;
  completions_.completed(call, operation.id);
  returns_.complete(call, operation.id);
}

/// This rank's members of an instance; none yet where it is new.
Collectives::Own& Collectives::own(const Key& key) {
  const auto [entry, added] = own_.try_emplace(key, static_cast<std::uint32_t>(owns_.size()));
  if (!added) return owns_[entry->second];
  if (free_.empty()) return owns_.emplace_back();
  entry.value() = free_.back();
  free_.pop_back();
  Own& again = owns_[entry->second];
  std::vector<Member> members = std::move(again.members);
  std::vector<Presence> present = std::move(again.present);
  members.clear();
  present.clear();
  again = {};
  again.members = std::move(members);
  again.present = std::move(present);
  return again;
}

void Collectives::begin(const CallSite& call, const Operation& operation) {
  // Some make a communicator of a part of another: only those who are in it take part.
  const bool partial = operation.kind == OperationKind::create && operation.context == trace::kNoContext;
  const View& view = contexts_.view(call.process, partial ? operation.made : operation.context);
  if (view.shared == View::kUnknown || view.rank < 0) {
    ++store_.unmatched.strangers;
    return;
  }
  const SharedContext& context = contexts_.shared(view.shared);
  const bool blocking = operation.completes;
  const std::uint32_t instance = initiated_[view.slot]++;
  if (context.size < 2) {
    if (!blocking) completions_.independent(call.rank, operation.id);
    return;
  }
  storage::Sequence<CollectiveInstance>& collectives = store_.line(call.id.location).collectives;
  collectives.push_back({.event = call.id.index,
                         .instance = 0x7fffffffU & instance,
                         .synchronized = blocking && joins_all(operation.kind),
                         .context = context.global_id});
  // Ranks of an intercommunicator's two groups are alike.
  const std::int32_t rank = view.inter ? call.rank : view.rank;
  Own& own = this->own({context.global_id, instance});
  own.expected = context.own_processes;
  own.size = context.size;
  own.members.push_back({.call = call.id,
                         .process_rank = call.rank,
                         .operation = blocking ? 0 : operation.id,
                         .collective = collectives.size() - 1,
                         .enter_ns = call.enter_ns,
                         .exit_ns = call.exit_ns});
  const Participation here{
      .context = context,
      .instance = instance,
      .rank = rank,
      .blocking = blocking,
      .root = view.inter ? operation.peer == trace::kRootHere : operation.peer == view.rank,
      .bystander = view.inter && is_rooted(operation.kind) && operation.peer == trace::kNobody};
  if (store_.dependencies != nullptr) note_dependencies(call, operation, here);
  if (!blocking) {
    returns_.begin(call, {.context = context.global_id,
                          .instance = instance,
                          .size = context.size,
                          .own_processes = context.own_processes,
                          .kind = operation.kind,
                          .operation = operation.id,
                          .rank = rank,
                          .root = here.root,
                          .bystander = here.bystander});
  }
  gather(call, operation.kind, here, own);
}

void Collectives::note_dependencies(const CallSite& call, const Operation& operation,
                                    const Participation& here) {
  store_.dependencies->join({.context = here.context.global_id,
                             .number = here.instance,
                             .size = here.context.size,
                             .kind = operation.kind,
                             .pattern = pattern_of(operation.kind),
                             .call = call.id,
                             .enter_ns = call.enter_ns,
                             .exit_ns = call.exit_ns,
                             .process_rank = call.rank,
                             .rank = here.rank,
                             .operation = here.blocking ? 0 : operation.id,
                             .root = is_rooted(operation.kind) && here.root,
                             .bystander = here.bystander});
}

/// Adds the call to what this analyst knows of the instance, and sends that on once it is whole.
void Collectives::gather(const CallSite& call, OperationKind kind, const Participation& here, Own& own) {
  const SharedContext& context = here.context;
  const Key key{context.global_id, here.instance};
  const Presence presence{.enter_ns = call.enter_ns,
                          .exit_ns = call.exit_ns,
                          .free_ns = call.enter_ns,
                          .call = call.id,
                          .rank = here.rank,
                          .context = call.context};
  if (kind == OperationKind::prefix) {
    exchange_.send(home_of(key), PrefixNotice{context.global_id, here.instance, context.size,
                                              exchange_.here(), here.blocking, presence});
    return;
  }
  if (!here.bystander) {
    const Mark enter{.ns = call.enter_ns, .call = call.id, .rank = here.rank, .context = call.context};
    own.part.enter(enter);
    own.part.leave({call.exit_ns, call.id, here.rank, call.context});
    if (here.root) own.part.lead(enter);
    if (here.blocking && is_rooted(kind)) own.present.push_back(presence);
  }
  own.part.join(kind, here.blocking);
  if (own.part.members != context.own_processes) return;
  exchange_.send(home_of(key),
                 GatheringNotice{context.global_id, here.instance, context.size, exchange_.here(), own.part},
                 own.present);
}

void Collectives::receive(const GatheringNotice& notice, std::span<const Presence> members) {
  const Key key{notice.context, notice.instance};
  Instance& instance = instances_[key];
  instance.whole.add(notice.part);
  instance.from.push_back(notice.from);
  instance.present.insert(instance.present.end(), members.begin(), members.end());
  if (instance.whole.members < notice.size) return;
  if (instance.whole.contradictory) ++store_.unmatched.collectives;
  const std::vector<HeldUp> held_up = held_up_in(instance.whole, std::move(instance.present));
  for (const int from : instance.from) {
    exchange_.send(from, GatheredNotice{notice.context, notice.instance, instance.whole}, held_up);
  }
  instances_.erase(key);
}

void Collectives::receive(const GatheredNotice& notice, std::span<const HeldUp> held_up) {
  const auto own = own_.find({notice.context, notice.instance});
  if (own == own_.end()) return;
  gathered_.push_back({notice, own->second, {held_up.begin(), held_up.end()}});
  own_.erase(own);
}

void Collectives::find_candidates() {
  std::size_t most = 0;
  for (const Gathered& one : gathered_) most = std::max(most, owns_[one.own].members.size());
  for (std::size_t first = 0; first < most; first += kMembersTogether) {
    for (const Gathered& one : gathered_) {
      const std::vector<Member>& members = owns_[one.own].members;
      const std::size_t last = std::min(first + kMembersTogether, members.size());
      for (std::size_t i = first; i < last; ++i) find_candidates(members[i], one.notice.whole);
    }
  }
  for (const Gathered& one : gathered_) {
    if (one.held_up.empty()) continue;
    for (const Member& member : owns_[one.own].members) {
      if (const HeldUp* const held_up = find_held_up(one.held_up, member.call)) depend(member, *held_up);
    }
  }
}

void Collectives::depend(const Member& member, const HeldUp& held_up) {
  const Presence& by = held_up.by;
  if (store_.dependencies != nullptr && member.operation == 0)
    store_.dependencies->add(
        member.call.location,
        {.event = member.call.index, .pattern = WaitPattern::wait_at_root, .cause = by.call});
  depend(member, WaitPattern::wait_at_root,
         {.ns = held_up.until_ns, .call = by.call, .rank = by.rank, .context = by.context}, held_up.first);
}

void Collectives::receive(const PrefixNotice& notice) {
  const Key key{notice.context, notice.instance};
  std::vector<PrefixNotice>& members = instances_[key].prefix;
  members.push_back(notice);
  if (members.size() < notice.size) return;
  std::vector<PrefixedNotice> answers = answer_prefix(members);
  for (std::size_t i = 0; i < members.size(); ++i) exchange_.send(members[i].from, answers[i]);
  instances_.erase(key);
}

void Collectives::receive(const PrefixedNotice& notice) {
  const auto found = own_.find({notice.context, notice.instance});
  if (found == own_.end()) return;
  Own& own = owns_[found->second];
  const std::vector<Member>& members = own.members;
  const auto member = std::find_if(members.begin(), members.end(),
                                   [&notice](const Member& one) { return one.call == notice.call; });
  if (member == members.end()) return;
  depend(*member, WaitPattern::early_scan, notice.latest, true);
  if (notice.held_up.by.rank >= 0) depend(*member, notice.held_up);
  if (++own.answered < members.size()) return;
  free_.push_back(found->second);
  own_.erase(found);
}

/// What one member may have waited for, now that all of them are known.
void Collectives::find_candidates(const Member& member, const Gathering& whole) {
  const OperationKind kind = whole.kind;
  if (whole.contradictory) {
    part_ways(member);
    depend(member, WaitPattern::none, {}, false);
    return;
  }
  const WaitPattern pattern = pattern_of(kind);
  Mark on = whole.latest;
  if (kind == OperationKind::one_to_all) on = member.call == whole.root.call ? Mark{} : whole.root;
  if (kind == OperationKind::all_to_one) {
    on = member.call != whole.root.call     ? Mark{}
         : whole.latest.call == member.call ? whole.second
                                            : whole.latest;
  }
  if (whole.latest.ns > whole.first_out.ns) {
    // A fence that somebody left before all had entered did not synchronize them.
    if (kind == OperationKind::fence) on = {};
    part_ways(member);
  }
  depend(member, pattern, on, member.call == whole.first_in.call);

  const WaitPattern completion = completion_of(kind);
  if (completion == WaitPattern::none || !whole.blocking || member.call == whole.first_out.call) return;
  const std::uint64_t free_ns = std::max(whole.latest.ns, whole.first_out.ns);
  if (free_ns >= member.exit_ns) return;  // it left at once
  store_.add(member.call.location, Candidate{.event = member.call.index,
                                             .pattern = completion,
                                             .ns = free_ns,
                                             .cause = whole.first_out.call,
                                             .cause_context = whole.first_out.context});
}

/// The member did not synchronize with all others there after all.
void Collectives::part_ways(const Member& member) {
  storage::Sequence<CollectiveInstance>& collectives = store_.line(member.call.location).collectives;
  CollectiveInstance instance = collectives[member.collective];
  if (!instance.synchronized) return;
  instance.synchronized = false;
  collectives.set(member.collective, instance);
}

void Collectives::depend(const Member& member, WaitPattern pattern, const Mark& on, bool first) {
  const bool nobody = on.rank < 0 || on.call == member.call;
  if (nobody) {
    if (member.operation != 0) completions_.independent(member.process_rank, member.operation);
    return;
  }
  if (member.operation == 0 && on.ns <= member.enter_ns) return;
  const Candidate candidate{.event = member.call.index,
                            .pattern = pattern,
                            .first = first,
                            .ns = on.ns,
                            .cause = on.call,
                            .cause_context = on.context};
  if (member.operation != 0) {
    completions_.depends(member.process_rank, member.operation, candidate);
  } else {
    store_.add(member.call.location, candidate);
  }
}

void Collectives::flush() {
  for (const auto& [key, number] : own_) {
    const Own& own = owns_[number];
    if (own.part.members == 0 || own.part.members == own.expected) continue;
    exchange_.send(home_of(key),
                   GatheringNotice{key.context, key.instance, own.size, exchange_.here(), own.part},
                   own.present);
  }
}

void Collectives::finish() {
  store_.unmatched.collectives += instances_.size();
}

}  // namespace culprit::waits
