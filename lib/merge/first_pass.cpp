// The first pass over a measurement: the survey of its processes and of the code that was sampled, and the
// static structure of that code. docs/algorithms.md 1 and 15.
#include "merge/first_pass.hpp"

#include "merge/attribution/tail_calls.hpp"
#include "merge/idleness/waiting.hpp"
#include "merge/input/marker.hpp"
#include "merge/values/describe.hpp"
#include "structure/structure.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>

namespace culprit::merge {
namespace {

/// Collective: checks that there is something to merge.
void check_survey(exchange::Communicator& comm, const Survey& survey, const Options& options) {
  collectively(comm, [&] {
    if (comm.rank() != 0) return;
    if (survey.processes.empty()) {
      throw std::runtime_error("reading: " + options.measurement.string() +
                               ": no readable measurement (first: " + survey.problems.at(0) + ")");
    }
    const bool sampled = std::ranges::any_of(survey.shared.tree.nodes(), [](const cct::Node& node) {
      return node.frame.kind == cct::FrameKind::sample || node.frame.kind == cct::FrameKind::call;
    });
    if (!sampled) {
      throw std::runtime_error(
          "reading: " + options.measurement.string() +
          ": no samples were recorded (did the program end at once? it must run for more than a "
          "few sampling periods of 5 ms)");
    }
  });
}

std::set<std::string> executables_of(const ProcessTable& processes) {
  std::set<std::string> paths;
  for (const auto& launch : processes.launches()) paths.insert(launch->executable.path);
  paths.erase("");
  return paths;
}

}  // namespace

Survey survey_rest(exchange::Communicator& comm, const Options& options, const Lost& lost,
                   const Progress& progress, Provenance& provenance) {
  InputFiles files = divide(comm, options.measurement, place_of(options), provenance);
  if (!lost.empty()) files = files.without(lost);
  Phase reading(comm, progress, "reading", files.size());
  Survey found = survey(comm, files, place_for_spills(options), [&] { reading.step(); });
  if (comm.rank() == 0) {
    found.unreadable += lost.size();
    for (const auto& [path, why] : lost) found.problems.push_back(why);
  }
  collectively(comm, [&] {
    if (comm.rank() != 0) return;
    const std::string problem = marker_problem(options.measurement, found.run);
    if (!problem.empty()) found.problems.push_back(problem);
  });
  check_survey(comm, found, options);
  return found;
}

SampledCode recover_code(exchange::Communicator& comm, const Options& options, const IdleRules& rules,
                         const Survey& found, const Progress& progress) {
  Phase recovering(comm, progress, "structure", found.shared.modules.size());
  std::vector<Place> routines;
  collectively(comm, [&] { routines = start_routines(found.processes, found.shared.modules); });
  SampledCode code{.structure = recover_structure(comm, found.shared, routines, options.loops,
                                                  options.structure_cache, [&] { recovering.step(); }),
                   .attribution = {},
                   .roles = {},
                   .shape = {}};
  collectively(comm, [&] {
    if (comm.rank() != 0) return;
    structure::Request common;
    common.loops = options.loops;
    common.cache = options.structure_cache;
    find_tail_calls(found.shared, common, code.structure);
    code.attribution = attribute(found.shared, code.structure, rules, options.replace_prefix);
    const auto waiting = find_waiting(code.attribution, rules, executables_of(found.processes));
    code.shape = shape_of(
        code.attribution, waiting,
        {.events = further_events(found.processes), .threaded = has_threads(found.processes), .traced = {}});
    code.shape.segments = chosen_segments(code.attribution, options.segments);
    code.roles = find_roles(found.processes, found.shared.modules, code.structure);
  });
  broadcast(comm, code.shape);
  return code;
}

}  // namespace culprit::merge
