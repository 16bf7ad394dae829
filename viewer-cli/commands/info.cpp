#include "commands/report.hpp"
#include "findings/coverage.hpp"
#include "findings/phrases.hpp"
#include "findings/quality.hpp"
#include "print/text.hpp"
#include "text/frame_json.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "text/table.hpp"

#include <algorithm>
#include <ctime>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

constexpr std::int64_t kWholeSecond = 1'000'000'000;
constexpr std::size_t kNameWidth = 12;
constexpr std::size_t kHostsListed = 8;

/// ISO 8601, UTC.
std::string date(std::int64_t realtime_ns) {
  const std::time_t seconds = realtime_ns / kWholeSecond;
  std::tm utc{};
  if (::gmtime_r(&seconds, &utc) == nullptr) return "";
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec);
}

class Info {
 public:
  Info(std::ostream& out, const Screen& screen, const database::Contents& experiment)
      : out_(out), screen_(screen), experiment_(experiment) {}

  void write() {
    run();
    threads();
    how();
    quality();
    modules();
    notes();
  }

 private:
  void line(const std::string& name, const std::string& text) {
    if (text.empty()) return;
    out_ << screen_.bold(name) << std::string(kNameWidth > name.size() ? kNameWidth - name.size() : 1, ' ')
         << wrap(text, screen_.width, kNameWidth, kNameWidth) << '\n';
  }

  void run() {
    const database::Run& run = experiment_.run;
    line("command", shell_line(run.command));
    const std::string programs = programs_text(experiment_);
    line(programs.empty() ? "program" : "programs", programs.empty() ? run.program : programs);
    line("directory", run.directory);
    std::string hosts;
    for (std::size_t host = 0; host < std::min(run.hosts.size(), kHostsListed); ++host) {
      hosts += (hosts.empty() ? "" : ", ") + run.hosts[host];
    }
    if (run.hosts.size() > kHostsListed)
      hosts += " and " + std::to_string(run.hosts.size() - kHostsListed) + " more";
    line("hosts", hosts);
    line("start", date(run.start_realtime_ns));
    line("duration", duration(static_cast<double>(run.duration_ns) / kNsPerSecond, screen_.unicode));
    line("MPI", run.mpi.empty() ? "none" : run.mpi);
    line("run id", run.run_id);
  }

  void threads() {
    const database::Run& run = experiment_.run;
    if (run.ranks > 0) {
      line("ranks", grouped(run.ranks) + (run.world_size > run.ranks ? " of " + grouped(run.world_size) +
                                                                           " (the others were not measured)"
                                                                     : ""));
    }
    std::string roles;
    for (std::uint32_t role = 0; role < experiment_.roles.size(); ++role) {
      const std::uint32_t threads = experiment_.roles[role].threads;
      std::string name = role_phrase(experiment_, role);
      if (threads == 1) name.pop_back();  // "threads"
      roles += (roles.empty() ? "" : ", ") + keep(grouped(threads) + ' ' + name);
    }
    line("threads", grouped(static_cast<double>(experiment_.locations.size())) + ": " + roles);
  }

  void how() {
    std::vector<std::string> events = experiment_.run.events;
    line("events", enumerate(events));
    std::vector<std::string> names;
    for (const database::Metric& metric : experiment_.metrics) names.push_back(metric.name);
    line("metrics", enumerate(names));
    const database::Run& run = experiment_.run;
    line("balance",
         fmt::format("{} (alpha {}, tau {}, epsilon {})", run.balance, run.alpha, run.tau, run.epsilon));
    line("size", counted(experiment_.contexts.size(), "context") + ", " +
                     counted(experiment_.flat.size(), "flat scope"));
  }

  void quality() {
    std::string text = quality_text(experiment_);
    text.erase(0, std::string("Measured: ").size());
    line("quality", text);
    if (const std::string share = sampling_share_text(experiment_); !share.empty()) {
      const std::uint64_t samples = samples_of_all_events(experiment_);
      line("sampling", fmt::format("{}{}, {:.1f} {} each: {}", counted(samples, "sample"),
                                   samples == experiment_.quality.samples ? "" : " of all events",
                                   sampling_microseconds(experiment_), screen_.unicode ? "µs" : "us", share));
    }
    for (const std::string& warning : quality_warnings(experiment_)) line("", warning);
  }

  /// What walks of the stack could not do by the module's call-frame information; empty where that is
  /// nothing.
  static std::string unwinding_text(const database::ModuleInfo& module) {
    std::string text = module.no_unwind ? "no unwind information" : "";
    const auto add = [&text](std::uint64_t count, const char* one, const char* what) {
      if (count == 0) return;
      if (!text.empty()) text += ", ";
      text += counted(count, one) + what;
    };
    add(module.bridged, "sample", " whose callers were inferred");
    add(module.partial, "partial unwind", " ended here");
    return text;
  }

  void modules() {
    std::vector<const database::ModuleInfo*> sorted;
    for (const database::ModuleInfo& module : experiment_.modules) {
      if (module.samples > 0 || module.bridged > 0 || module.partial > 0) sorted.push_back(&module);
    }
    std::stable_sort(
        sorted.begin(), sorted.end(),
        [](const database::ModuleInfo* a, const database::ModuleInfo* b) { return a->samples > b->samples; });
    std::size_t width = 0;
    for (const database::ModuleInfo* const module : sorted) {
      width = std::max(width, grouped(static_cast<double>(module->samples)).size());
    }
    bool first = true;
    for (const database::ModuleInfo* const module : sorted) {
      const std::string samples = grouped(static_cast<double>(module->samples));
      const std::string before = std::string(width - samples.size(), ' ') + samples +
                                 (module->samples == 1 ? " sample   " : " samples  ");
      const std::size_t room =
          screen_.width > kNameWidth + before.size() ? screen_.width - kNameWidth - before.size() : 16;
      const std::string name = first ? "modules" : "";
      out_ << screen_.bold(name) << std::string(kNameWidth - name.size(), ' ') << before
           << shorten_middle(module->path, room, screen_.unicode) << '\n';
      std::vector<std::string> remarks = module->notes;
      if (std::string flaws = unwinding_text(*module); !flaws.empty()) remarks.push_back(std::move(flaws));
      for (const std::string& remark : remarks) {
        out_ << std::string(kNameWidth + before.size(), ' ') << screen_.dim(remark) << '\n';
      }
      first = false;
    }
    const std::size_t others = experiment_.modules.size() - sorted.size();
    if (others > 0) {
      out_ << std::string(kNameWidth, ' ')
           << screen_.dim("and " + counted(others, "module") + " on call paths only") << '\n';
    }
  }

  void notes() {
    for (const std::string& note : experiment_.run.notes) {
      if (!note.starts_with(database::kNoteOfPrograms)) line("note", note);
    }
  }

  std::ostream& out_;
  const Screen& screen_;
  const database::Contents& experiment_;
};

}  // namespace

void write_info(std::ostream& out, const Screen& screen, const database::Contents& experiment) {
  Info(out, screen, experiment).write();
}

namespace {

/// What is known of how threads were scheduled (docs/algorithms.md 5.6).
Table schedules_table(const database::Contents& experiment) {
  Table table{{{"location"},
               {"ran_s"},
               {"runnable_s"},
               {"voluntary_switches"},
               {"involuntary_switches"},
               {"processors"},
               {"online"},
               {"allowed"},
               {"quota"},
               {"throttled_s"}},
              {}};
  for (const database::ScheduledThread& thread : experiment.machine().threads) {
    Table::Numbers processors;
    thread.processors.each([&](std::uint16_t processor) { processors.push_back(processor); });
    table.rows.push_back(
        {Table::Thread{thread.location}, seconds_of(thread.ran_ns), seconds_of(thread.runnable_ns),
         std::uint64_t{thread.voluntary}, std::uint64_t{thread.involuntary}, std::move(processors),
         std::uint64_t{thread.online}, std::uint64_t{thread.allowed},
         thread.quota == 0 ? Table::Cell() : Table::Cell(static_cast<double>(thread.quota) / 1000),
         seconds_of(thread.throttled_ns)});
  }
  return table;
}

Table modules_table(const database::Contents& experiment) {
  Table table{
      {{"path"}, {"build_id"}, {"samples"}, {"unwind_information"}, {"bridged"}, {"partial"}, {"notes"}}, {}};
  for (const database::ModuleInfo& module : experiment.modules) {
    table.rows.push_back({module.path, module.build_id, module.samples, !module.no_unwind, module.bridged,
                          module.partial, module.notes});
  }
  return table;
}

Table metrics_table(const database::Contents& experiment) {
  Table table{{{"name"}, {"unit"}, {"description"}}, {}};
  for (const database::Metric& metric : experiment.metrics)
    table.rows.push_back({metric.name, metric.unit, metric.description});
  return table;
}

Table roles_table(const database::Contents& experiment) {
  Table table{{{"role"}, {"threads"}}, {}};
  for (const database::Role& role : experiment.roles)
    table.rows.push_back({role.name, std::uint64_t{role.threads}});
  return table;
}

}  // namespace

Json info_json(const database::Contents& experiment) {
  const database::Run& run = experiment.run;
  Json info = {{"command", run.command}};
  const Json quality = quality_json(experiment);
  for (const auto& [name, value] : quality.items()) info[name] = value;
  info["events"] = run.events;
  info["modules"] = to_json(experiment, modules_table(experiment));
  info["start"] = date(run.start_realtime_ns);
  info["duration_s"] = static_cast<double>(run.duration_ns) / kNsPerSecond;
  info["program"] = run.program;
  info["directory"] = run.directory;
  info["hosts"] = run.hosts;
  info["mpi"] = run.mpi;
  info["run_id"] = run.run_id;
  info["period_s"] = static_cast<double>(run.period_ns) / kNsPerSecond;
  info["contexts"] = experiment.contexts.size();
  info["metrics"] = to_json(experiment, metrics_table(experiment));
  info["roles"] = to_json(experiment, roles_table(experiment));
  info["balance"] = {{"test", run.balance}, {"alpha", run.alpha}, {"tau", run.tau}, {"epsilon", run.epsilon}};
  info["notes"] = run.notes;
  info["schedules"] = to_json(experiment, schedules_table(experiment));
  return info;
}

}  // namespace culprit::viewer
