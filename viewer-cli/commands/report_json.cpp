#include "commands/report.hpp"
#include "commands/report_text.hpp"
#include "findings/machine.hpp"
#include "findings/phrases.hpp"
#include "findings/quality.hpp"
#include "findings/thread_causes.hpp"
#include "findings/verdict.hpp"
#include "text/frame_json.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "text/table.hpp"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

Json where_json(const database::Contents& experiment, const std::vector<IdleIn>& where, double idle_s) {
  Table table{{{"name"}, {"idleness_s"}, {"share"}}, {}};
  for (const IdleIn& call : where) table.rows.push_back({call.name, call.seconds, call.seconds / idle_s});
  return to_json(experiment, table);
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

Table machine_table(const database::Contents& experiment) {
  Table table{{{"kind"}, {"hosts"}, {"ranks"}, {"explains_s"}, {"lost_s"}, {"processors"}, {"by_others"}},
              {}};
  for (const database::MachineSuspect& suspect : experiment.machine().suspects) {
    MachinePlace place = place_of(experiment, suspect);
    table.rows.push_back({machine_kind(suspect.kind), std::move(place.hosts), std::move(place.ranks),
                          seconds_of(suspect.explains_ns), seconds_of(suspect.lost_ns),
                          std::uint64_t{suspect.processors}, suspect.by_others});
  }
  return table;
}

Json thread_causes_json(const views::Figures& figures) {
  const database::Contents& experiment = figures.experiment();
  const ThreadCauses causes = find_thread_causes(figures);
  const auto path_or_null = [&](database::ContextId context) {
    return context == database::kNone ? Json() : path_json(experiment, context);
  };
  const auto list = [&](const std::vector<ThreadCause>& causes_of) {
    Json array = Json::array();
    for (const ThreadCause& cause : causes_of) {
      array.push_back({{"id", 'c' + std::to_string(cause.context)},
                       {"path", path_json(experiment, cause.context)},
                       {"role", experiment.roles[cause.role].name},
                       {"caused_s", cause.caused_s},
                       {"loop", path_or_null(cause.loop)},
                       {"serial", cause.serial},
                       {"awaits", path_or_null(cause.delay               ? cause.delay->scope.context
                                               : cause.awaits == nullptr ? database::kNone
                                                                         : cause.awaits->suspect)}});
    }
    return array;
  };
  return {{"idle_s", causes.idle_s},
          {"served_s", causes.served_s},
          {"caused_s", causes.caused_s},
          {"unborne_s", causes.unborne_s},
          {"lock_waited_s", causes.lock_waited_s},
          {"lock_caused_s", causes.lock_caused_s},
          {"lock_unborne_s", causes.lock_unborne_s},
          {"idleness", list(causes.idleness)},
          {"locks", list(causes.locks)},
          {"overhead_s", causes.overhead_s},
          {"overhead", list(causes.overhead)}};
}

Table varying_gaps_table(const database::Contents& experiment) {
  Table table{{{"role"},
               {"path"},
               {"after_path"},
               {"threads"},
               {"count"},
               {"mean_s"},
               {"deviation_s"},
               {"idle_s"},
               {"unexplained_s"}},
              {}};
  const auto path = [&](database::ContextId call) {
    return call == database::kNone ? Table::Cell() : Table::Cell(Table::Path{call});
  };
  for (const database::VaryingGap& gap : experiment.varying_gaps()) {
    table.rows.push_back({experiment.roles[gap.role].name, path(gap.context), path(gap.after),
                          std::uint64_t{gap.threads}, gap.count, seconds_of(gap.mean_ns),
                          seconds_of(gap.deviation_ns), seconds_of(gap.idle_ns),
                          seconds_of(gap.unexplained_ns)});
  }
  return table;
}

Json idleness_json(const IdlenessParts& parts) {
  return {{"late_s", parts.late_s},
          {"elsewhere_s", parts.elsewhere_s},
          {"transfer_s", parts.transfer_s},
          {"library_s", parts.library_s},
          {"no_processor_s", parts.no_processor_s},
          {"no_processor_at_most_s", parts.no_processor_s + parts.perhaps_no_processor_s},
          {"threads_s", parts.threads_s},
          {"undivided_s", parts.undivided_s}};
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
            {"threads_idle_s", losses.threads_lost_s},
            {"thread_overhead_s", losses.overhead_s}}}};
}

/// Of suspects that the report names together: ids as in `suspects`.
Json replayed_json(const ReplayedSuspects& replayed) {
  Json rows = Json::array();
  for (const auto& [group, saving] : replayed) {
    Json suspects = Json::array();
    for (const database::Suspect* const suspect : group)
      suspects.push_back('c' + std::to_string(suspect->suspect));
    rows.push_back({{"suspect_ids", std::move(suspects)}, {"save_balanced_s", saving.seconds()}});
  }
  return rows;
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
          {"clock_error_s", quality.clock_error_ns == database::kClocksNotCompared
                                ? Json(nullptr)
                                : Json(seconds_of(quality.clock_error_ns))},
          {"cut_short", quality.cut_short},
          {"unreadable", quality.unreadable},
          {"sampling_s", seconds_of(quality.handler_ns)},
          {"sampling_us", sampling_microseconds(experiment)},
          {"tracing_s", seconds_of(quality.tracing_ns)},
          {"slowed_threads", quality.slowed},
          {"slowest_period_s",
           seconds_of(experiment.run.period_ns << std::min<std::uint64_t>(quality.most_halvings, 63))},
          {"epochs_lost", quality.epochs_lost},
          {"unclassified_wait_s", seconds_of(quality.unclassified_wait_ns)},
          {"excess_wait_s", seconds_of(quality.excess_wait_ns)},
          {"traced_ranks", experiment.trace().traced},
          {"traces_stopped", experiment.trace().stopped},
          {"unmatched", unmatched_json(experiment.trace().unmatched)},
          {"unmatched_ranks", experiment.trace().unmatched_ranks}};
}

Json report_json(const views::Figures& figures, const std::string& database, bool without_startup) {
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
                     {"serves", role.serves},
                     {"where", where_json(experiment, role.where, role.idle_s)}});
  }
  return {{"verdict", verdict_json(verdict)},
          {"idleness", idleness_json(verdict.waiting)},
          {"idle_share", diagnosis.idle_share()},
          {"idle_s", diagnosis.idle_s},
          {"total_s", diagnosis.total_s},
          {"where", where_json(experiment, diagnosis.where, diagnosis.idle_s)},
          {"roles", roles},
          {"machine", to_json(experiment, machine_table(experiment))},
          {"thread_causes", thread_causes_json(figures)},
          {"varying_gaps", to_json(experiment, varying_gaps_table(experiment))},
          {"blame", to_json(experiment, blame_table(figures, diagnosis.blamed, diagnosis.idle_s))},
          {"suspects", to_json(experiment, suspects_table(figures))},
          {"replayed_savings", replayed_json(replayed_suspects(figures, database, without_startup))},
          {"quality", quality_json(experiment)}};
}

}  // namespace culprit::viewer
