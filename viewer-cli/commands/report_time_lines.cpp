// The report's paragraph on time lines: who waited for whom most, why, and what the run's length depends on.
#include "commands/list.hpp"
#include "commands/report_parts.hpp"
#include "commands/variation.hpp"
#include "findings/causes.hpp"
#include "findings/coverage.hpp"
#include "findings/long_segments.hpp"
#include "findings/phrases.hpp"
#include "findings/segment_picture.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"

#include <cctype>

namespace culprit::viewer {
namespace {

using PlaceKind = ReportPlace::Kind;

class TimeLines {
 public:
  TimeLines(const views::Figures& figures, bool without_startup, ReportWriter& out)
      : experiment_(figures.experiment()), without_startup_(without_startup), out_(out) {}

  void write() {
    const std::string text = longest_wait() + dearest_cause() + critical() + outliers();
    if (text.empty()) return;
    out_.gap();
    out_.say("From the time lines:" + text);
  }

 private:
  /// Whether time lines show waiting, be its cause known or not.
  [[nodiscard]] bool waited() const {
    const database::TraceAnalyses& trace = experiment_.trace();
    return trace.unattributed_ns > 0 || !trace.causes.empty();
  }

  [[nodiscard]] std::string longest_wait() const {
    if (const std::optional<ThreadWait> wait =
            viewer::longest_wait(experiment_, without_startup_, out_.unicode())) {
      const bool several = wait->whom.find(',') != std::string::npos;
      return " " +
             out_.link(thread_phrase(experiment_, wait->location) + " waited " +
                           out_.time(seconds_of(wait->ns)) + " for " + wait->whom,
                       PlaceKind::waits) +
             (several ? ", in " : " in ") + out_.scope(wait->context, false, out_.width() / 3) +
             (wait->count > 1 ? " (" + keep(counted(wait->count, "wait") + " together)") : "") +
             (!wait->longest    ? "."
              : wait->count > 1 ? ", longer than any other."
                                : ", the longest of all waits.");
    }
    if (waited() || experiment_.run.world_size < 2) return "";
    std::string text = no_waits_phrase(experiment_);
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    return ' ' + text;
  }

  [[nodiscard]] std::string dearest_cause() const {
    const std::vector<database::Cause> causes = causes_by_scope(experiment_);
    const std::uint64_t sum = waiting_after_init_ns(experiment_);
    const double run_ns =
        static_cast<double>(experiment_.trace().run_ns) * static_cast<double>(experiment_.run.ranks);
    if (sum == 0 || static_cast<double>(sum) < kWorthReporting * run_ns) return "";
    if (const std::optional<CommonCause> common = common_cause(experiment_)) {
      return ' ' + out_.capital(common_cause_phrase(experiment_, *common, out_.width() / 3, out_.unicode())) +
             ", caused " + out_.share(static_cast<double>(common->who.sum()) / static_cast<double>(sum)) +
             " of " + out_.time(seconds_of(sum)) + " of waiting.";
    }
    const std::optional<CostliestCode> costliest = costliest_code(experiment_, causes);
    if (!costliest) return "";
    const CostlyCode& code = costliest->code;
    const std::string who = on_threads(code) + (code.who.parts().size() > 1 ? "," : "");
    std::string text =
        ' ' + out_.capital(code_text(code.scope.context)) +
        (costliest->in_call ? " itself, beyond its waits," : "") + who + " caused " + share(code, sum) +
        " of " + out_.time(seconds_of(sum)) + " of waiting" +
        (code.long_term_ns > 0 ? ", " + out_.time(seconds_of(code.long_term_ns)) + " of it indirectly" : "");
    const std::optional<CostlyCode>& own = costliest->of_program;
    if (own && static_cast<double>(own->cost_ns) >= kWorthReporting * static_cast<double>(sum))
      text += "; of the program's code, " + code_text(own->scope.context) + on_threads(*own) +
              " caused most, " + share(*own, sum);
    return text + '.';
  }
  [[nodiscard]] std::string on_threads(const CostlyCode& code) const {
    return " on " + thread_times_phrase(experiment_, code.who, "on", out_.unicode());
  }
  [[nodiscard]] std::string share(const CostlyCode& code, std::uint64_t sum) const {
    return out_.share(static_cast<double>(code.cost_ns) / static_cast<double>(sum));
  }

  [[nodiscard]] std::string critical() const {
    if (!are_ranks_comparable(experiment_))
      return "";  // it leads over ranks that were not measured, or has no choice
    const List list = critical_path_list(experiment_, {.most = 1});
    if (list.rows.empty()) return "";
    const ListRow& first = list.rows.front();
    return " " + out_.link("The critical path", PlaceKind::critical_path) + " spends " +
           out_.share(share_of(list, first).value_or(0)) + " of its " + out_.time(seconds_of(list.whole_ns)) +
           " in " + code_text(first.paths.front().context) + ".";
  }

  /// Of code, with a link to it.
  [[nodiscard]] std::string code_text(database::ContextId context) const {
    return out_.link(cause_phrase(experiment_, context, true, out_.width() / 3, out_.unicode()),
                     {.kind = PlaceKind::context, .scope = context});
  }

  [[nodiscard]] std::string outliers() const {
    if (experiment_.trace().variations.empty()) return "";
    const database::Variation& variation = experiment_.trace().variations.front();
    if (!are_worth_reporting(experiment_, variation)) return "";
    constexpr std::uint64_t kMicrosecond = 1000;
    const database::Variation::Outlier& first = variation.outliers.front();
    const bool one = variation.outliers.size() == 1;
    return " " + keep(counted(variation.outliers.size(), segment_name(experiment_, variation))) +
           of_procedure(variation) + " took " + longer_phrase(variation) + ' ' + (one ? "its" : "their") +
           " median of " +
           (variation.median_ns < kMicrosecond ? "under " + out_.time(1e-6)
                                               : out_.time(seconds_of(variation.median_ns))) +
           (lines_are_threads(experiment_) ? " without waits" : " outside MPI") +
           of_lines(experiment_, slow_ranks_phrase(variation)) + ", " + (one ? "on " : "the longest on ") +
           out_.link(keep(outlier_phrase(experiment_, first)) + ", " +
                         keep(name_segment(experiment_, variation, first.rank, first.segment)),
                     {.kind = PlaceKind::segment, .scope = first.segment, .rank = first.rank}) +
           ": " + out_.time(seconds_of(first.sos_ns)) + ".";
  }

  /// ` of advance`: marked iterations are of no code.
  [[nodiscard]] std::string of_procedure(const database::Variation& variation) const {
    if (variation.marked || variation.context == database::kNone) return "";
    return std::string(" ") + segment_preposition(experiment_, variation) + ' ' +
           out_.scope(variation.context, true, out_.width() / 3);
  }

  const database::Contents& experiment_;
  bool without_startup_;
  ReportWriter& out_;
};

}  // namespace

void write_time_lines(const views::Figures& figures, bool without_startup, ReportWriter& out) {
  TimeLines(figures, without_startup, out).write();
}

}  // namespace culprit::viewer
