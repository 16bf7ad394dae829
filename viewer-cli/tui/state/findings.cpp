#include "tui/state/findings.hpp"

#include "commands/list.hpp"
#include "commands/report_text.hpp"
#include "findings/mpi_calls.hpp"
#include "findings/serving_threads.hpp"

#include <csignal>
#include <exception>
#include <utility>

namespace culprit::viewer::tui {

namespace {

/// Both forms of a list.
Findings::Lists lists_of(List (*make)(const database::Contents&, const ListOptions&),
                         const database::Contents& experiment, ListOptions options) {
  List together = make(experiment, options);
  options.by_rank = true;
  return {std::move(together), make(experiment, options)};
}

/// Columns of a name: the page wraps the text.
constexpr std::size_t kNamesInVerdict = 60;

}  // namespace

FindingsTask::FindingsTask(const views::Source& source, std::string database, bool unicode,
                           bool without_startup)
    : database_(std::move(database)), unicode_(unicode), without_startup_(without_startup) {
  // Signals are the terminal's thread's business.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  thread_ = std::thread([this, &source] { form(source); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

FindingsTask::~FindingsTask() {
  if (thread_.joinable()) thread_.join();
}

void FindingsTask::form(const views::Source& source) {
  try {
    const views::Figures figures(source);
    (void)source.experiment().trace();  // what the panes show is read here, once
    (void)source.experiment().waits();
    (void)source.experiment().communication();
    findings_.diagnosis = diagnose(figures, without_startup_);
    findings_.replayed = replayed_suspects(figures, database_, without_startup_);
    findings_.verdict = find_verdict(figures, findings_.diagnosis, kNamesInVerdict, unicode_);
    const Efficiencies efficiencies = efficiencies_of(figures);
    findings_.efficiency = efficiencies.ranks;
    findings_.thread_efficiency = efficiencies.threads;
    findings_.mpi = mpi_traffic(figures, without_startup_);
    findings_.messages =
        message_pattern_phrases(figures, findings_.diagnosis, findings_.verdict.kind == VerdictKind::starved,
                                kNamesInVerdict, unicode_);
    findings_.thread_causes = find_thread_causes(figures);
    if (findings_.verdict.kind != VerdictKind::threads_idle)
      findings_.threads =
          thread_cause_phrases(figures, findings_.diagnosis.total_s, kNamesInVerdict, unicode_);
    const ListOptions options{.unicode = unicode_,
                              .counts = false,
                              .most = kMostRows,
                              .least_share = 0,
                              .waiting = findings_.verdict.waiting,
                              .serving = serving_roles(figures)};
    findings_.waits = lists_of(waits_list, source.experiment(), options);
    findings_.causes = lists_of(causes_list, source.experiment(), options);
    findings_.hotspots = lists_of(hotspots_list, source.experiment(), options);
    findings_.critical = critical_path_list(source.experiment(), options);
    findings_.costliest_code = costliest_code(source.experiment(), causes_by_scope(source.experiment()));
    findings_.common_cause = common_cause(source.experiment());
  } catch (const std::exception& error) {
    findings_.failure = error.what();
  }
  ready_.store(true);
}

const Findings& FindingsTask::wait() {
  if (thread_.joinable()) thread_.join();
  return findings_;
}

}  // namespace culprit::viewer::tui
