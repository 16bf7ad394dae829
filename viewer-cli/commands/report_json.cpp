#include "commands/report_json.hpp"

#include "commands/blame.hpp"
#include "findings/idleness_parts.hpp"
#include "findings/machine.hpp"
#include "findings/phrases.hpp"
#include "findings/quality.hpp"
#include "findings/verdict.hpp"
#include "text/frame_json.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

Json where_json(const std::vector<IdleIn>& where, double idle_s) {
  Json array = Json::array();
  for (const IdleIn& call : where) {
    array.push_back({{"name", call.name}, {"idleness_s", call.seconds}, {"share", call.seconds / idle_s}});
  }
  return array;
}

Json unmatched_json(const database::UnmatchedOperations& unmatched) {
  return {{"sends", unmatched.sends},
          {"receives", unmatched.receives},
          {"probes", unmatched.probes},
          {"collectives", unmatched.collectives},
          {"fences", unmatched.fences},
          {"epochs", unmatched.epochs},
          {"locks", unmatched.locks},
          {"completions", unmatched.completions},
          {"with_unrecorded_processes", unmatched.strangers}};
}

Json machine_json(const database::Contents& experiment) {
  Json array = Json::array();
  for (const database::MachineSuspect& suspect : experiment.machine().suspects) {
    const MachinePlace place = place_of(experiment, suspect);
    array.push_back({{"kind", machine_kind(suspect.kind)},
                     {"hosts", place.hosts},
                     {"ranks", place.ranks},
                     {"explains_s", seconds_of(suspect.explains_ns)},
                     {"lost_s", seconds_of(suspect.lost_ns)},
                     {"processors", suspect.processors},
                     {"by_others", suspect.by_others}});
  }
  return array;
}

Json varying_gaps_json(const database::Contents& experiment) {
  Json array = Json::array();
  const auto path = [&](database::ContextId call) {
    return call == database::kNone ? Json() : path_json(experiment, call);
  };
  for (const database::VaryingGap& gap : experiment.varying_gaps()) {
    array.push_back({{"role", experiment.roles[gap.role].name},
                     {"path", path(gap.context)},
                     {"after_path", path(gap.after)},
                     {"threads", gap.threads},
                     {"count", gap.count},
                     {"mean_s", seconds_of(gap.mean_ns)},
                     {"deviation_s", seconds_of(gap.deviation_ns)},
                     {"idle_s", seconds_of(gap.idle_ns)},
                     {"unexplained_s", seconds_of(gap.unexplained_ns)}});
  }
  return array;
}

Json idleness_json(const views::Figures& figures, const Diagnosis& diagnosis, const Losses& losses) {
  const IdlenessParts parts = divide_idleness(figures, diagnosis, losses);
  return {{"late_s", parts.late_s},       {"transfer_s", parts.transfer_s},
          {"library_s", parts.library_s}, {"no_processor_s", parts.no_processor_s},
          {"threads_s", parts.threads_s}, {"undivided_s", parts.undivided_s}};
}

Json verdict_json(const Verdict& verdict) {
  const Losses& losses = verdict.losses;
  return {{"kind", verdict_name(verdict.kind)},
          {"text", wrap(verdict.text, std::numeric_limits<std::size_t>::max())},
          {"confidence", confidence_name(verdict.confidence)},
          {"losses",
           {{"startup_s", losses.startup_s},
            {"io_s", losses.io_s},
            {"serial_s", losses.serial_s},
            {"uneven_lasting_s", losses.lasting_s},
            {"uneven_drifting_s", losses.drifting_s},
            {"uneven_intermittent_s", losses.intermittent_s},
            {"messages_s", losses.messages_s},
            {"threads_idle_s", losses.threads_s}}}};
}

}  // namespace

Json quality_json(const database::Contents& experiment) {
  const database::Quality& quality = experiment.quality;
  return {{"ranks", experiment.run.ranks},
          {"world_size", experiment.run.world_size},
          {"threads", experiment.locations.size()},
          {"samples", quality.samples},
          {"partial", quality.partial},
          {"partial_s", seconds_of(quality.partial_ns)},
          {"bridged", quality.bridged},
          {"unresolved", quality.unresolved},
          {"dropped", quality.dropped},
          {"full", quality.full},
          {"clock_violations", quality.clock_violations},
          {"clock_violations_left", quality.clock_violations_left},
          {"cut_short", quality.cut_short},
          {"unreadable", quality.unreadable},
          {"sampling_s", seconds_of(quality.handler_ns)},
          {"sampling_us", sampling_microseconds(quality)},
          {"tracing_s", seconds_of(quality.tracing_ns)},
          {"slowed_threads", quality.slowed},
          {"slowest_period_s",
           seconds_of(experiment.run.period_ns << std::min<std::uint64_t>(quality.most_halvings, 63))},
          {"epochs_lost", quality.epochs_lost},
          {"unclassified_wait_s", seconds_of(quality.unclassified_wait_ns)},
          {"excess_wait_s", seconds_of(quality.excess_wait_ns)},
          {"traced_ranks", experiment.trace().traced},
          {"traces_stopped", experiment.trace().stopped},
          {"unmatched", unmatched_json(experiment.trace().unmatched)}};
}

Json report_json(const views::Figures& figures, bool without_startup) {
  const database::Contents& experiment = figures.experiment();
  const Diagnosis diagnosis = diagnose(figures, without_startup);
  const Verdict verdict = find_verdict(figures, diagnosis, kWholeName, true);
  Json roles = Json::array();
  for (const RoleIdleness& role : diagnosis.roles) {
    roles.push_back({{"role", experiment.roles[role.role].name},
                     {"threads", role.threads},
                     {"idle_share", role.total_s > 0 ? role.idle_s / role.total_s : 0},
                     {"idle_s", role.idle_s},
                     {"total_s", role.total_s},
                     {"where", where_json(role.where, role.idle_s)}});
  }
  return {{"verdict", verdict_json(verdict)},
          {"idleness", idleness_json(figures, diagnosis, verdict.losses)},
          {"idle_share", diagnosis.idle_share()},
          {"idle_s", diagnosis.idle_s},
          {"total_s", diagnosis.total_s},
          {"where", where_json(diagnosis.where, diagnosis.idle_s)},
          {"roles", roles},
          {"machine", machine_json(experiment)},
          {"varying_gaps", varying_gaps_json(experiment)},
          {"blame", to_json(experiment, blame_table(figures, diagnosis.blamed, diagnosis.idle_s))},
          {"suspects", to_json(experiment, suspects_table(figures))},
          {"quality", quality_json(experiment)}};
}

}  // namespace culprit::viewer
