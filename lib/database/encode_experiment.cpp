#include "database/sections.hpp"
#include "database/summary_table.hpp"

#include <algorithm>
#include <set>

namespace culprit::database {
namespace {

using format::Section;

void put_run(const Run& run, Encoder& into) {
  for (const std::string* text : {&run.run_id, &run.mpi, &run.program, &run.directory, &run.balance}) {
    into.put_string(*text);
  }
  for (const auto* texts : {&run.command, &run.hosts, &run.events, &run.notes}) into.put_strings(*texts);
  into.put(run.start_realtime_ns);
  into.put(run.duration_ns);
  into.put(run.ranks);
  into.put(run.world_size);
  into.put(run.period_ns);
  into.put(run.alpha);
  into.put(run.tau);
  into.put(run.epsilon);
}

void put_quality(const Quality& q, Encoder& into) {
  for (const std::uint64_t count : {q.samples, q.partial, q.partial_ns, q.unresolved, q.dropped, q.full,
                                    q.handler_ns, q.clock_violations, q.cut_short, q.unreadable}) {
    into.put(count);
  }
}

Bytes encode_meta(const Experiment& e, const std::vector<std::string>& hosts) {
  Encoder into;
  put_run(e.run, into);
  put_quality(e.quality, into);
  into.put(static_cast<std::uint32_t>(e.metrics.size()));
  for (const Metric& metric : e.metrics) {
    into.put_string(metric.name);
    into.put_string(metric.unit);
    into.put_string(metric.description);
    into.put<std::uint8_t>(metric.summary_only ? 1 : 0);
  }
  into.put(static_cast<std::uint32_t>(e.roles.size()));
  for (const Role& role : e.roles) {
    into.put_string(role.name);
    into.put(role.threads);
  }
  into.put_strings(hosts);
  into.put(e.quality.bridged);
  into.put(e.quality.slowed);
  into.put(e.quality.most_halvings);
  into.put(e.quality.epochs_lost);
  into.put(e.quality.unclassified_wait_ns);
  into.put(e.quality.excess_wait_ns);
  return into.take();
}

Bytes encode_modules(const Experiment& e) {
  Encoder into;
  into.put(static_cast<std::uint32_t>(e.modules.size()));
  for (const ModuleInfo& module : e.modules) {
    into.put_string(module.path);
    into.put_string(module.build_id);
    into.put(module.samples);
    into.put_strings(module.notes);
  }
  for (const ModuleInfo& module : e.modules) {
    into.put(module.bridged);
    into.put(module.partial);
    into.put<std::uint8_t>(module.no_unwind ? 1 : 0);
  }
  return into.take();
}

void encode_strings(const Experiment& e, SectionBytes& sections) {
  Encoder ends, bytes;
  for (const std::string& text : e.strings) {
    bytes.append(std::as_bytes(std::span(text)));
    ends.put<std::uint64_t>(bytes.size());
  }
  sections[slot(Section::string_ends)] = ends.take();
  sections[slot(Section::string_bytes)] = bytes.take();
}

template <class Scope>
void put_scope(const Scope& scope, Encoder& into) {
  into.put(scope.parent);
  into.put(scope.end);
  into.put(scope.name);
  into.put(scope.file);
  into.put(scope.line);
  into.put(scope.module);
}

void encode_trees(const Experiment& e, SectionBytes& sections) {
  Encoder contexts, flat;
  for (const Context& context : e.contexts) {
    put_scope(context, contexts);
    contexts.put(context.flat);
    contexts.put(static_cast<std::uint8_t>(context.kind));
    contexts.put(context.flags);
    contexts.put(context.wait_kind);
    contexts.pad(1);
  }
  for (const FlatScope& scope : e.flat) {
    put_scope(scope, flat);
    flat.put(static_cast<std::uint8_t>(scope.kind));
    flat.pad(3);
  }
  sections[slot(Section::contexts)] = contexts.take();
  sections[slot(Section::flat)] = flat.take();
}

Bytes encode_locations(const Experiment& e, const std::vector<std::string>& hosts) {
  Encoder into;
  for (const Location& location : e.locations) {
    into.put(location.rank);
    into.put(location.thread);
    into.put(location.role);
    into.put(static_cast<std::uint32_t>(std::ranges::lower_bound(hosts, location.host) - hosts.begin()));
    into.put(location.pid);
    into.put(location.start_ns);
    into.put(location.end_ns);
    into.put<std::uint8_t>(location.cut_short ? 1 : 0);
    into.pad(7);
  }
  return into.take();
}

void encode_blame(const Experiment& e, SectionBytes& sections) {
  Encoder balance, blame, suspects;
  for (const std::vector<Balance>& of_role : e.balance) balance.append(std::as_bytes(std::span(of_role)));
  for (std::uint32_t role = 0; role < e.blame.size(); ++role) {
    for (const BlameRow& row : e.blame[role]) {
      blame.put(role);
      blame.put(row.context);
      blame.put(row.sum);
      blame.put(row.min);
      blame.put(row.max);
    }
  }
  suspects.put(static_cast<std::uint32_t>(e.suspects.size()));
  for (const Suspect& suspect : e.suspects) {
    suspects.put(suspect.role);
    suspects.put(suspect.balanced);
    suspects.put(suspect.suspect);
    for (const std::uint64_t ns :
         {suspect.excess_ns, suspect.explains_ns, suspect.save_balanced_ns, suspect.save_removed_ns}) {
      suspects.put(ns);
    }
    suspects.put(static_cast<std::uint32_t>(suspect.locations.size()));
    suspects.append(std::as_bytes(std::span(suspect.locations)));
  }
  sections[slot(Section::balance)] = balance.take();
  sections[slot(Section::blame)] = blame.take();
  sections[slot(Section::suspects)] = suspects.take();
}

Bytes encode_waits(const std::vector<Wait>& waits) {
  Encoder into;
  for (const Wait& wait : waits) {
    into.put(static_cast<std::uint32_t>(wait.pattern));
    into.put(wait.location);
    into.put(wait.context);
    into.put(wait.cause_location);
    into.put(wait.cause_context);
    into.put<std::uint32_t>(wait.exact ? 1 : 0);
    into.put(wait.ns);
    into.put(wait.count);
  }
  return into.take();
}

}  // namespace

SectionBytes encode_experiment(const Experiment& e) {
  std::set<std::string> distinct;
  for (const Location& location : e.locations) distinct.insert(location.host);
  const std::vector<std::string> hosts(distinct.begin(), distinct.end());

  SectionBytes sections;
  sections[slot(Section::meta)] = encode_meta(e, hosts);
  sections[slot(Section::modules)] = encode_modules(e);
  encode_strings(e, sections);
  encode_trees(e, sections);
  sections[slot(Section::locations)] = encode_locations(e, hosts);
  EncodedSummaries contexts = encode_summaries(e.context_summaries);
  sections[slot(Section::context_summary_index)] = std::move(contexts.index);
  sections[slot(Section::context_summary_data)] = std::move(contexts.data);
  EncodedSummaries flat = encode_summaries(e.flat_summaries);
  sections[slot(Section::flat_summary_index)] = std::move(flat.index);
  sections[slot(Section::flat_summary_data)] = std::move(flat.data);
  encode_blame(e, sections);
  sections[slot(Section::waits)] = encode_waits(e.waits);
  Encoder index, data;
  encode_sources(e.sources, index, data);
  sections[slot(Section::source_index)] = index.take();
  sections[slot(Section::source_data)] = data.take();
  return sections;
}

}  // namespace culprit::database
