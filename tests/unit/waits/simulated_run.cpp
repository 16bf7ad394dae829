#include "simulated_run.hpp"

#include <algorithm>
#include <random>

namespace culprit::waits::testing {

namespace trace = measurement::trace;

namespace {

constexpr std::uint64_t kCallCost = 10;  // of every call, besides what it waits

Operation operation(OperationKind kind, trace::Context context, std::int32_t peer = trace::kNobody,
                    std::int32_t tag = 0) {
  Operation made;
  made.kind = kind;
  made.context = context;
  made.peer = peer;
  made.tag = tag;
  return made;
}

class Simulation {
 public:
  Simulation(std::uint64_t seed, std::int32_t ranks, int steps)
      : random_(seed),
        result_{.run = ScriptedRun(ranks), .waits = {}},
        clock_(static_cast<std::size_t>(ranks)) {
    std::vector<std::int32_t> all, even;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      all.push_back(rank);
      if (rank % 2 == 0) even.push_back(rank);
      singles_.push_back(result_.run.define(trace::DefinitionKind::group, {rank}));
    }
    window_ = result_.run.define(trace::DefinitionKind::window, all);
    even_ = result_.run.define(trace::DefinitionKind::communicator, even);
    compute();
    together(all, operation(OperationKind::initialize, 0), WaitPattern::wait_at_init);
    for (int step = 0; step < steps; ++step) {
      compute();
      switch (pick(7)) {
        case 0:
          blocking_message();
          break;
        case 1:
          halo();
          break;
        case 2:
          everybody();
          break;
        case 3:
          rooted();
          break;
        case 4:
          some();
          break;
        case 5:
          fence();
          break;
        default:
          epoch();
          break;
      }
    }
    std::sort(result_.waits.begin(), result_.waits.end());
  }

  SimulatedRun result() { return std::move(result_); }

 private:
  struct Call {
    std::int32_t rank = 0;
    std::uint32_t index = 0;
    std::uint64_t enter = 0, exit = 0;
  };

  std::int32_t pick(std::int32_t below) {
    return std::uniform_int_distribution<std::int32_t>(0, below - 1)(random_);
  }
  std::int32_t ranks() const { return static_cast<std::int32_t>(clock_.size()); }
  std::uint64_t& clock(std::int32_t rank) { return clock_[static_cast<std::size_t>(rank)]; }

  void compute() {
    for (std::uint64_t& clock : clock_) clock += 1 + static_cast<std::uint64_t>(pick(500));
  }

  /// A call of `rank` that enters now and needs what was entered at `needed`.
  Call call(std::int32_t rank, std::vector<Operation> operations, std::uint64_t needed = 0) {
    Call made{.rank = rank, .index = 0, .enter = clock(rank), .exit = 0};
    made.exit = std::max(made.enter, needed) + kCallCost;
    clock(rank) = made.exit + 1;
    made.index = result_.run.call(rank, made.enter, made.exit, std::move(operations));
    return made;
  }
  void wait(const Call& waiter, WaitPattern pattern, const Call& cause) {
    if (cause.enter <= waiter.enter || cause.enter >= waiter.exit) return;
    result_.waits.push_back(
        {waiter.rank, waiter.index, pattern, cause.enter - waiter.enter, cause.rank, cause.index});
  }

  std::pair<std::int32_t, std::int32_t> two() {
    const std::int32_t first = pick(ranks());
    return {first, (first + 1 + pick(ranks() - 1)) % ranks()};
  }

  void blocking_message() {
    const auto [from, to] = two();
    const std::int32_t tag = pick(3);
    const bool synchronous = pick(2) == 0;
    const std::uint64_t receive_enter = clock(to);
    const Call send = call(
        from, {operation(synchronous ? OperationKind::send_synchronous : OperationKind::send, 0, to, tag)},
        synchronous ? receive_enter : 0);
    const Call receive = call(to, {operation(OperationKind::receive, 0, from, tag)}, send.enter);
    wait(receive, WaitPattern::late_sender, send);
    wait(send, WaitPattern::late_receiver, receive);
  }

  /// Everybody exchanges with both neighbours on a ring: posts receives, some of them for anybody, sends, and
  /// completes all in one call.
  void halo() {
    const std::int32_t n = ranks();
    const std::int32_t tag = 10 + next_tag_++;
    std::vector<std::vector<std::uint64_t>> ids(clock_.size());
    std::vector<Call> sends;
    for (std::int32_t rank = 0; rank < n; ++rank) {
      const bool wild = pick(4) == 0;
      for (const std::int32_t from : {(rank + n - 1) % n, (rank + 1) % n}) {
        Operation receive = operation(OperationKind::receive, 0, wild ? trace::kAnySource : from, tag);
        receive.completes = false;
        receive.id = next_id_++;
        ids[static_cast<std::size_t>(rank)].push_back(receive.id);
        call(rank, {receive});
      }
    }
    for (std::int32_t rank = 0; rank < n; ++rank) {
      clock(rank) += static_cast<std::uint64_t>(pick(300));
      for (const std::int32_t to : {(rank + 1) % n, (rank + n - 1) % n}) {
        Operation send = operation(OperationKind::send, 0, to, tag);
        send.completes = false;
        send.id = next_id_++;
        ids[static_cast<std::size_t>(rank)].push_back(send.id);
        sends.push_back(call(rank, {send}));
      }
    }
    const auto sent = [&](std::int32_t from, bool up) {
      return sends[static_cast<std::size_t>(2 * from + (up ? 0 : 1))];
    };
    for (std::int32_t rank = 0; rank < n; ++rank) {
      const std::int32_t below = (rank + n - 1) % n;
      const std::int32_t above = (rank + 1) % n;
      const std::vector<std::uint64_t>& id = ids[static_cast<std::size_t>(rank)];
      const auto done = [&](OperationKind kind, std::int32_t peer, std::size_t which) {
        Operation made = operation(kind, 0, peer, tag);
        made.begins = false;
        made.id = id[which];
        return made;
      };
      const Call first = sent(below, true);
      const Call second = sent(above, false);
      const bool later = second.enter != first.enter ? second.enter > first.enter : second.rank < first.rank;
      const Call& last = later ? second : first;
      const Call all = call(rank,
                            {done(OperationKind::receive, below, 0), done(OperationKind::receive, above, 1),
                             done(OperationKind::send, above, 2), done(OperationKind::send, below, 3)},
                            last.enter);
      wait(all, WaitPattern::late_sender, last);
    }
  }

  /// All of these enter; each needs the latest.
  void together(const std::vector<std::int32_t>& members, const Operation& what, WaitPattern pattern) {
    const std::int32_t last = *std::max_element(members.begin(), members.end(), [this](auto a, auto b) {
      return clock(a) != clock(b) ? clock(a) < clock(b) : a > b;
    });
    const std::uint64_t needed = clock(last);
    std::vector<Call> calls;
    for (const std::int32_t member : members) calls.push_back(call(member, {what}, needed));
    const Call cause =
        *std::find_if(calls.begin(), calls.end(), [last](const Call& one) { return one.rank == last; });
    for (const Call& one : calls) wait(one, pattern, cause);
  }

  std::vector<std::int32_t> all() const {
    std::vector<std::int32_t> members;
    for (std::int32_t rank = 0; rank < ranks(); ++rank) members.push_back(rank);
    return members;
  }

  void everybody() {
    if (pick(2) == 0) {
      together(all(), operation(OperationKind::barrier, 0), WaitPattern::wait_at_barrier);
    } else {
      together(all(), operation(OperationKind::all_to_all, 0), WaitPattern::wait_at_nxn);
    }
  }
  void some() {
    std::vector<std::int32_t> even;
    for (std::int32_t rank = 0; rank < ranks(); rank += 2) even.push_back(rank);
    if (even.size() > 1)
      together(even, operation(OperationKind::all_to_all, even_), WaitPattern::wait_at_nxn);
  }

  void rooted() {
    const std::int32_t root = pick(ranks());
    if (pick(2) == 0) {
      const Call at_root = call(root, {operation(OperationKind::one_to_all, 0, root)});
      for (const std::int32_t rank : all()) {
        if (rank == root) continue;
        wait(call(rank, {operation(OperationKind::one_to_all, 0, root)}, at_root.enter),
             WaitPattern::late_broadcast, at_root);
      }
      return;
    }
    std::vector<Call> others;
    for (const std::int32_t rank : all()) {
      if (rank != root) others.push_back(call(rank, {operation(OperationKind::all_to_one, 0, root)}));
    }
    const Call last = *std::max_element(others.begin(), others.end(), [](const Call& a, const Call& b) {
      return a.enter != b.enter ? a.enter < b.enter : a.rank > b.rank;
    });
    wait(call(root, {operation(OperationKind::all_to_one, 0, root)}, last.enter), WaitPattern::early_reduce,
         last);
  }

  void fence() { together(all(), operation(OperationKind::fence, window_), WaitPattern::wait_at_fence); }

  /// One origin, one target: the start waits for the post, the wait for the complete.
  void epoch() {
    const auto [origin, target] = two();
    Operation start = operation(OperationKind::start, window_);
    start.group = singles_[static_cast<std::size_t>(target)];
    Operation post = operation(OperationKind::post, window_);
    post.group = singles_[static_cast<std::size_t>(origin)];
    const Call posted = call(target, {post});
    wait(call(origin, {start}, posted.enter), WaitPattern::late_post, posted);
    for (int i = pick(3); i > 0; --i) call(origin, {operation(OperationKind::put, window_, target)});
    clock(origin) += static_cast<std::uint64_t>(pick(400));
    const Call complete = call(origin, {operation(OperationKind::complete, window_)});
    wait(call(target, {operation(OperationKind::wait, window_)}, complete.enter), WaitPattern::early_wait,
         complete);
  }

  std::mt19937_64 random_;
  SimulatedRun result_;
  std::vector<std::uint64_t> clock_;
  std::vector<trace::Context> singles_;
  trace::Context window_ = 0, even_ = 0;
  std::int32_t next_tag_ = 0;
  std::uint64_t next_id_ = 1;
};

}  // namespace

SimulatedRun simulate(std::uint64_t seed, std::int32_t ranks, int steps) {
  return Simulation(seed, ranks, steps).result();
}

}  // namespace culprit::waits::testing
