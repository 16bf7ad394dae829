#include "role_fixture.hpp"

#include <numeric>

namespace culprit::blame {

using database::Context;
using database::ContextId;
using database::ContextKind;

ContextId TreeFixture::add(ContextId parent, ContextKind kind, std::uint8_t flags, database::StringId name) {
  const auto id = static_cast<ContextId>(contexts_.size());
  Context context{.parent = parent, .end = id + 1};
  context.kind = kind;
  context.flags = flags;
  constexpr database::StringId kUnnamed = 1'000'000;
  context.name = name != 0 ? name : kUnnamed + id;
  if ((contexts_[parent].flags & database::kInWait) != 0) context.flags |= database::kInWait;
  if ((flags & database::kFrontier) != 0) context.flags |= database::kInWait;
  contexts_.push_back(context);
  for (ContextId x = parent; x != database::kNone; x = contexts_[x].parent) contexts_[x].end = id + 1;
  return id;
}

ContextId TreeFixture::at_line(ContextId parent, ContextKind kind, std::uint32_t line) {
  const ContextId x = add(parent, kind);
  contexts_[x].file = 1;
  contexts_[x].line = line;
  return x;
}

ContextId TreeFixture::call(ContextId parent, database::StringId name, std::uint32_t line) {
  return add(at_line(parent, ContextKind::call, line), ContextKind::procedure, 0, name);
}

ContextId TreeFixture::add_wait(ContextId parent) {
  return add(add(parent, ContextKind::procedure, database::kFrontier), ContextKind::statement);
}

RoleFixture::RoleFixture(const std::vector<Context>& contexts, std::uint32_t threads)
    : contexts_(contexts),
      threads_(threads),
      time_(contexts.size(), std::vector<std::uint64_t>(threads)),
      idle_(time_),
      own_work_(time_),
      weight_sq_(contexts.size()),
      blocked_(contexts.size()) {}

void RoleFixture::spend(ContextId leaf, std::uint32_t thread, std::uint64_t ns, bool idle,
                        std::uint64_t samples) {
  if (!idle) own_work_[leaf][thread] += ns;
  for (ContextId x = leaf; x != database::kNone; x = contexts_[x].parent) {
    time_[x][thread] += ns;
    if (idle) idle_[x][thread] += ns;
    weight_sq_[x] += samples;
  }
}

void RoleFixture::spend_each(ContextId leaf, const std::vector<std::uint64_t>& ns, bool idle) {
  std::uint32_t thread = 0;
  for (const std::uint64_t value : ns) spend(leaf, thread++, value, idle);
}

void RoleFixture::block(ContextId leaf, std::uint64_t samples) {
  for (ContextId x = leaf; x != database::kNone; x = contexts_[x].parent) blocked_[x] += samples;
}

const RoleView& RoleFixture::view() {
  const auto summarize = [](const std::vector<std::vector<std::uint64_t>>& values) {
    std::vector<metrics::Accumulator> summaries(values.size());
    for (std::size_t x = 0; x < values.size(); ++x) {
      for (const std::uint64_t value : values[x]) {
        if (value != 0) summaries[x].accumulate(value);
      }
    }
    return summaries;
  };
  time_summary_ = summarize(time_);
  idle_summary_ = summarize(idle_);
  view_ = {threads_, time_summary_, idle_summary_, weight_sq_, blocked_};
  return view_;
}

ByThread RoleFixture::by_thread() const {
  const auto work_of = [this, work = std::vector<std::uint64_t>()](
                           const Ranges& of, const Ranges&) mutable -> std::span<const std::uint64_t> {
    work.assign(threads_, 0);
    for (const database::ContextRange& range : of) {
      for (ContextId x = range.first; x < range.end; ++x) {
        for (std::size_t t = 0; t < work.size(); ++t) work[t] += own_work_[x][t];
      }
    }
    return work;
  };
  const auto idleness_of = [this](ContextId x) -> std::span<const std::uint64_t> { return idle_[x]; };
  return {.work = work_of, .idleness = idleness_of};
}

std::vector<std::uint32_t> RoleFixture::locations() const {
  std::vector<std::uint32_t> locations(threads_);
  std::iota(locations.begin(), locations.end(), 0);
  return locations;
}

RoleFixture::Result RoleFixture::analyse(const Options& options) {
  Result result;
  const RoleView& role = view();
  result.balance = test_balance(contexts_, role, options);
  result.blame = shift_blame(contexts_, role, result.balance);
  result.suspects = find_suspects(contexts_, {0, locations()}, role, result.blame, by_thread(), options);
  return result;
}

}  // namespace culprit::blame
