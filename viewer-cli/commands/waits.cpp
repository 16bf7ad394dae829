#include "commands/waits.hpp"

#include "findings/coverage.hpp"
#include "findings/quality.hpp"
#include "text/call_path_text.hpp"
#include "text/csv.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

using database::Wait;

constexpr std::size_t kIndent = 4;
constexpr std::size_t kShown = 40;  // rows of the text; csv and json leave out nothing

constexpr std::array<const char*, database::kWaitPatterns> kNames = {
    "late-sender",        "late-sender-wrong-order",
    "late-receiver",      "wait-at-barrier",
    "barrier-completion", "wait-at-nxn",
    "nxn-completion",     "wait-at-init",
    "wait-at-finalize",   "late-broadcast",
    "early-reduce",       "early-scan",
    "late-post",          "early-transfer",
    "early-wait",         "late-complete",
    "wait-at-fence",      "early-fence",
    "wait-at-create",     "wait-at-free",
    "lock-wait",          "flush-wait",
    "omp-barrier",        "omp-idle",
    "lock-held",          "condition-wait",
    "join-wait"};

const char* name_of(const Wait& wait) {
  return pattern_name(wait.pattern);
}

double seconds(const Wait& wait) {
  return seconds_of(wait.ns);
}

std::string cause_text(const database::Contents& experiment, const Wait& wait) {
  if (wait.cause_location == database::kNone) return "";
  return location_label(experiment, wait.cause_location);
}

/// The longest waits, as far as anything is left of them in the unit of the longest one.
std::size_t rows_shown(const database::Contents& experiment, const Scale& scale) {
  const auto& waits = experiment.waits();
  const std::string nothing = scale.write(0);
  const auto begin = waits.begin();
  const auto last = begin + static_cast<std::ptrdiff_t>(std::min(kShown, waits.size()));
  const auto end =
      std::find_if(begin + 1, last, [&](const Wait& wait) { return scale.write(seconds(wait)) == nothing; });
  return static_cast<std::size_t>(end - begin);
}

/// What the approximation could not place, and what clocks made doubtful.
void write_remainder(std::ostream& out, const Screen& screen, const database::Contents& experiment) {
  const database::Quality& quality = experiment.quality;
  std::string text;
  const auto amount = [&screen](std::uint64_t ns) {
    const double s = seconds_of(ns);
    const Scale scale = scale_for(s, "s", screen.unicode);
    return scale.write(s) + ' ' + scale.unit;
  };
  if (quality.unclassified_wait_ns > 0)
    text += amount(quality.unclassified_wait_ns) + " of idleness in one-sided calls fit no pattern. ";
  if (quality.excess_wait_ns > 0)
    text +=
        amount(quality.excess_wait_ns) + " of estimated waits were not sampled as idle, and are left out.";
  if (!text.empty()) out << wrap(text, screen.width) << '\n';
  if (const std::string clocks = clocks_text(experiment); !clocks.empty())
    out << wrap(clocks, screen.width) << '\n';
}

}  // namespace

const char* pattern_name(database::WaitPattern pattern) {
  return kNames.at(static_cast<std::size_t>(pattern));
}

std::string no_listed_waits_phrase(const database::Contents& experiment) {
  const std::string none = "No waits of one-sided communication or of threads.";
  if (experiment.run.ranks == 0) return "No waits of threads for each other.";
  if (experiment.trace().traced > 0) return none + ' ' + no_waits_phrase(experiment);
  return none + " Waits for messages and in collectives are in the views, as idleness" +
         (are_ranks_comparable(experiment) ? "; measured with hpcrun-lite --trace they are listed here."
                                           : ".");
}

Json waits_json(const database::Contents& experiment) {
  Json array = Json::array();
  for (const Wait& wait : experiment.waits()) {
    Json row = {{"pattern", name_of(wait)}};
    add_location(row, experiment, wait.location);
    row["seconds"] = seconds(wait);
    row["count"] = wait.count;
    row["path"] = path_json(experiment, wait.context);
    row["cause"] = nullptr;
    row["cause_path"] = nullptr;
    if (wait.cause_location != database::kNone) {
      row["cause"] = Json::object();
      add_location(row["cause"], experiment, wait.cause_location);
    }
    if (wait.cause_context != database::kNone) row["cause_path"] = path_json(experiment, wait.cause_context);
    row["exact"] = wait.exact;
    array.push_back(std::move(row));
  }
  return array;
}

void write_waits(std::ostream& out, const Screen& screen, const database::Contents& experiment) {
  if (experiment.waits().empty()) {
    out << wrap(no_listed_waits_phrase(experiment), screen.width) << '\n';
    return;
  }
  const Scale scale = scale_for(seconds(experiment.waits().front()), "s", screen.unicode);
  const std::size_t width = scale.write(seconds(experiment.waits().front())).size();
  const std::size_t shown = rows_shown(experiment, scale);
  for (std::size_t i = 0; i < shown; ++i) {
    const Wait& wait = experiment.waits()[i];
    const std::string amount = scale.write(seconds(wait));
    out << std::string(width > amount.size() ? width - amount.size() : 0, ' ') << amount << ' ' << scale.unit
        << "  " << screen.bold(name_of(wait)) << (wait.exact ? "" : " (approximated)") << "  "
        << location_label(experiment, wait.location);
    if (const std::string cause = cause_text(experiment, wait); !cause.empty()) out << ", for " << cause;
    out << '\n'
        << screen.dim(std::string(kIndent, ' ') +
                      wrap(path_text(experiment, wait.context, screen), screen.width, kIndent, kIndent))
        << '\n';
  }
  if (shown < experiment.waits().size())
    out << "and " << experiment.waits().size() - shown << " more (--format csv or json)\n";
  write_remainder(out, screen, experiment);
}

void write_waits_csv(std::ostream& out, const database::Contents& experiment) {
  write_csv_row(out, {"pattern", "location", "seconds", "count", "path", "cause", "cause_path", "exact"});
  for (const Wait& wait : experiment.waits()) {
    write_csv_row(
        out, {name_of(wait), location_label(experiment, wait.location), csv_number(seconds(wait)),
              std::to_string(wait.count), whole_path(experiment, wait.context), cause_text(experiment, wait),
              wait.cause_context == database::kNone ? "" : whole_path(experiment, wait.cause_context),
              wait.exact ? "true" : "false"});
  }
}

}  // namespace culprit::viewer
