#include "equality.hpp"

#include <algorithm>
#include <tuple>

namespace culprit::database {
namespace {

auto fields(const Run& r) {
  return std::tie(r.run_id, r.mpi, r.program, r.directory, r.command, r.start_realtime_ns, r.duration_ns,
                  r.ranks, r.world_size, r.period_ns, r.hosts, r.events, r.notes, r.names, r.balance, r.alpha,
                  r.tau, r.epsilon);
}
auto fields(const Quality& q) {
  return std::tie(q.samples, q.partial, q.partial_ns, q.unresolved, q.dropped, q.full, q.handler_ns,
                  q.clock_violations, q.cut_short, q.unreadable, q.bridged, q.slowed, q.most_halvings,
                  q.epochs_lost, q.unclassified_wait_ns, q.excess_wait_ns, q.clock_violations_left,
                  q.tracing_ns, q.clock_error_ns);
}
auto fields(const ModuleInfo& m) {
  return std::tie(m.path, m.build_id, m.samples, m.notes, m.bridged, m.partial, m.no_unwind);
}
auto fields(const Context& c) {
  return std::tie(c.parent, c.end, c.name, c.file, c.line, c.module, c.flat, c.kind, c.flags, c.wait_kind);
}
auto fields(const FlatScope& f) {
  return std::tie(f.parent, f.end, f.name, f.file, f.line, f.module, f.kind);
}
auto fields(const Metric& m) {
  return std::tie(m.name, m.unit, m.description, m.summary_only);
}
auto fields(const Location& l) {
  return std::tie(l.rank, l.thread, l.role, l.pid, l.host, l.start_ns, l.end_ns, l.cut_short);
}
auto fields(const Role& r) {
  return std::tie(r.name, r.threads);
}
auto fields(const BlameRow& b) {
  return std::tie(b.context, b.sum, b.min, b.max);
}
auto fields(const Suspect& s) {
  return std::tie(s.role, s.balanced, s.suspect, s.locations, s.excess_ns, s.explains_ns, s.save_balanced_ns,
                  s.save_removed_ns, s.named, s.confidence, s.doubt, s.scopes, s.explained);
}
auto fields(const Wait& w) {
  return std::tie(w.pattern, w.location, w.context, w.cause_location, w.cause_context, w.exact, w.ns, w.count,
                  w.direct_ns);
}
auto fields(const Value& v) {
  return std::tie(v.index, v.metric, v.value);
}
auto fields(const SourceFile& s) {
  return std::tie(s.path, s.text);
}

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::equal(a, b, [](const T& x, const T& y) { return fields(x) == fields(y); });
}

bool same(const std::vector<Summary>& a, const std::vector<Summary>& b) {
  const auto same_entry = [](const SummaryEntry& x, const SummaryEntry& y) {
    return x.scope == y.scope && x.inclusive == y.inclusive && x.exclusive == y.exclusive;
  };
  return std::ranges::equal(a, b, [&](const Summary& x, const Summary& y) {
    return x.role == y.role && x.metric == y.metric && std::ranges::equal(x.entries, y.entries, same_entry);
  });
}

}  // namespace

bool equal(const std::vector<Value>& a, const std::vector<Value>& b) {
  return same(a, b);
}

bool equal(const Experiment& a, const Experiment& b) {
  const auto same_blame = [](const auto& x, const auto& y) { return same(x, y); };
  return fields(a.run) == fields(b.run) && fields(a.quality) == fields(b.quality) && a.strings == b.strings &&
         same(a.modules, b.modules) && same(a.contexts, b.contexts) && same(a.flat, b.flat) &&
         same(a.metrics, b.metrics) && same(a.roles, b.roles) && same(a.locations, b.locations) &&
         same(a.context_summaries, b.context_summaries) && same(a.flat_summaries, b.flat_summaries) &&
         a.balance == b.balance && std::ranges::equal(a.blame, b.blame, same_blame) &&
         same(a.suspects, b.suspects) && same(a.waits, b.waits) && a.trace == b.trace &&
         a.machine == b.machine && a.varying_gaps == b.varying_gaps && a.communication == b.communication &&
         same(a.sources, b.sources);
}

}  // namespace culprit::database
