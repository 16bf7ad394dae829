#include "database/lookup_tables.hpp"
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
  into.put(e.quality.clock_violations_left);
  into.put(e.quality.tracing_ns);
  into.put(e.quality.clock_error_ns);
  into.put(static_cast<std::uint32_t>(e.run.names.size()));
  for (const auto& [number, name] : e.run.names) {
    into.put(number);
    into.put_string(name);
  }
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

void encode_trees(const Experiment& e, const std::vector<std::uint8_t>& flags, SectionBytes& sections) {
  Encoder contexts, flat;
  for (std::size_t x = 0; x < e.contexts.size(); ++x) {
    const Context& context = e.contexts[x];
    put_scope(context, contexts);
    contexts.put(context.flat);
    contexts.put(static_cast<std::uint8_t>(context.kind));
    contexts.put(flags[x]);
    contexts.put(context.wait_kind);
    contexts.pad(1);
  }
  const std::vector<std::uint8_t> merged = flat_flags(e, flags);
  for (std::size_t f = 0; f < e.flat.size(); ++f) {
    put_scope(e.flat[f], flat);
    flat.put(static_cast<std::uint8_t>(e.flat[f].kind));
    flat.put(merged[f]);
    flat.pad(2);
  }
  sections[slot(Section::contexts)] = contexts.take();
  sections[slot(Section::flat)] = flat.take();
}

void encode_blame(const Experiment& e, SectionBytes& sections) {
  Encoder balance, blame, suspects;
  for (const std::vector<Balance>& of_role : e.balance) balance.append(std::as_bytes(std::span(of_role)));
  for (std::uint32_t role = 0; role < e.blame.size(); ++role) {
    BlameSums upto;
    for (const BlameRow& row : e.blame[role]) {
      blame.put(role);
      blame.put(row.context);
      upto.add({row.sum, row.min, row.max});
      blame.put(upto.sum);
      blame.put(upto.min);
      blame.put(upto.max);
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
  for (const Suspect& suspect : e.suspects) {  // since 0.2; a reader of 0.1 ignores it
    suspects.put(suspect.named);
    suspects.put(static_cast<std::uint8_t>(suspect.confidence));
    suspects.put(static_cast<std::uint8_t>(suspect.doubt));
    suspects.put(static_cast<std::uint32_t>(suspect.scopes.size()));
    suspects.append(std::as_bytes(std::span(suspect.scopes)));
    suspects.put(static_cast<std::uint32_t>(suspect.explained.size()));
    for (const Explained& explained : suspect.explained) {
      suspects.put(explained.balanced);
      suspects.put(explained.ns);
    }
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

/// Empty where it is known of no wait.
Bytes encode_direct_waits(const std::vector<Wait>& waits) {
  Encoder into;
  if (std::ranges::none_of(waits, [](const Wait& wait) { return wait.direct_ns.has_value(); }))
    return into.take();
  for (const Wait& wait : waits) into.put(wait.direct_ns.value_or(format::kDirectNotKnown));
  return into.take();
}

Bytes bytes_of(const std::vector<std::uint32_t>& numbers) {
  Encoder into;
  into.append(std::as_bytes(std::span(numbers)));
  return into.take();
}

void encode_lookup_tables(const Experiment& e, const std::vector<std::uint8_t>& flags,
                          SectionBytes& sections) {
  const ContextLists flat = flat_instances(e);
  sections[slot(Section::flat_instance_ends)] = bytes_of(flat.ends);
  sections[slot(Section::flat_instances)] = bytes_of(flat.contexts);
  Encoder blame, procedures;
  for (const FlatBlameRow& row : flat_blame(e)) {
    blame.put(row.role);
    blame.put(row.scope);
    for (const BlameSums& sums : {row.inclusive, row.exclusive}) {
      for (const std::uint64_t ns : {sums.sum, sums.min, sums.max}) blame.put(ns);
    }
  }
  sections[slot(Section::flat_blame)] = blame.take();
  const Procedures numbered = number_procedures(e, flags);
  for (std::size_t number = 0; number < numbered.procedures.size(); ++number) {
    const Procedure& procedure = numbered.procedures[number];
    procedures.put(procedure.first);
    procedures.put(procedure.flat);
    procedures.put(numbered.instances.ends[number]);
    procedures.put(procedure.flags);
    procedures.pad(3);
  }
  sections[slot(Section::procedures)] = procedures.take();
  sections[slot(Section::procedure_of_context)] = bytes_of(numbered.of_context);
  sections[slot(Section::procedure_instances)] = bytes_of(numbered.instances.contexts);
}

}  // namespace

std::vector<std::string> hosts_of(const EachLocation& locations) {
  std::set<std::string> distinct;
  const std::string* last = nullptr;  // most locations are on the host of the one before
  locations([&](const Location& location) {
    if (last == nullptr || *last != location.host) last = &*distinct.insert(location.host).first;
  });
  return {distinct.begin(), distinct.end()};
}

void encode_location(const Location& location, const std::vector<std::string>& hosts, Encoder& into) {
  into.put(location.rank);
  into.put(location.thread);
  into.put(location.role);
  into.put(static_cast<std::uint32_t>(std::ranges::lower_bound(hosts, location.host) - hosts.begin()));
  into.put(location.pid);
  into.put(location.start_ns);
  into.put(location.end_ns);
  into.put<std::uint8_t>(location.cut_short ? format::kCutShort : location.left ? format::kLeft : 0);
  into.pad(7);
}

SectionBytes encode_experiment(const Experiment& e, const std::vector<std::string>& hosts) {
  SectionBytes sections;
  sections[slot(Section::meta)] = encode_meta(e, hosts);
  sections[slot(Section::modules)] = encode_modules(e);
  encode_strings(e, sections);
  const std::vector<std::uint8_t> flags = flags_with_start_up(e);
  encode_trees(e, flags, sections);
  encode_lookup_tables(e, flags, sections);
  EncodedSummaries contexts = encode_summaries(e.context_summaries);
  sections[slot(Section::context_summary_index)] = std::move(contexts.index);
  sections[slot(Section::context_summary_data)] = std::move(contexts.data);
  EncodedSummaries flat = encode_summaries(e.flat_summaries);
  sections[slot(Section::flat_summary_index)] = std::move(flat.index);
  sections[slot(Section::flat_summary_data)] = std::move(flat.data);
  encode_blame(e, sections);
  sections[slot(Section::waits)] = encode_waits(e.waits);
  sections[slot(Section::direct_waits)] = encode_direct_waits(e.waits);
  encode_trace_analyses(e.trace, sections);
  encode_machine(e.machine, sections);
  sections[slot(Section::varying_gaps)] = encode_varying_gaps(e.varying_gaps);
  encode_communication(e.communication, sections);
  Encoder index, data;
  encode_sources(e.sources, index, data);
  sections[slot(Section::source_index)] = index.take();
  sections[slot(Section::source_data)] = data.take();
  return sections;
}

}  // namespace culprit::database
