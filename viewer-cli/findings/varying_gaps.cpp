// Which gaps vary and what waiting that explains, in words (docs/algorithms.md 5.8).
#include "findings/varying_gaps.hpp"

#include "findings/phrases.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "views/frame.hpp"

namespace culprit::viewer {
namespace {

using database::ContextId;

/// `MPI_Barrier in solve (a.c:12)`.
std::string call_phrase(const database::Contents& experiment, ContextId call, std::size_t width,
                        bool unicode) {
  const ContextId site = experiment.contexts[call].parent;
  const ContextId around = enclosing_procedure(experiment, site);
  std::string phrase = procedure_name(experiment, call, width, unicode);
  if (around != database::kNone) phrase += " in " + procedure_name(experiment, around, width, unicode);
  const std::string where = views::place(views::frame_of(experiment, experiment.contexts[site]));
  return where.empty() ? phrase : phrase + " (" + where + ')';
}

}  // namespace

std::vector<std::string> varying_gap_phrases(const database::Contents& experiment, std::size_t width,
                                             bool unicode) {
  std::vector<std::string> phrases;
  if (experiment.trace().traced > 0) return phrases;
  const auto time = [=](std::uint64_t ns) { return keep(duration(seconds_of(ns), unicode)); };
  for (const database::VaryingGap& gap : experiment.varying_gaps()) {
    const std::string call = call_phrase(experiment, gap.context, width, unicode);
    const std::string from = gap.after == database::kNone ? "the start"
                             : gap.after == gap.context   ? "the last one"
                                                        : call_phrase(experiment, gap.after, width, unicode);
    std::string& phrase = phrases.emplace_back("The time from ");
    phrase.append(from).append(" to ").append(call);
    phrase.append(" varies from one iteration to the next: ").append(time(gap.mean_ns));
    phrase.append(" on average, with a standard deviation of ").append(time(gap.deviation_ns));
    phrase.append(". Lasting differences do not explain ").append(time(gap.unexplained_ns));
    phrase.append(" of the ").append(time(gap.idle_ns));
    phrase.append(" of waiting in that call: hpcrun-lite --trace shows who made whom wait.");
  }
  return phrases;
}

}  // namespace culprit::viewer
