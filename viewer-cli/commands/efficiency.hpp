#pragma once

#include "findings/idleness_parts.hpp"
#include "findings/thread_efficiency.hpp"
#include "text/frame_json.hpp"
#include "text/screen.hpp"
#include "text/table.hpp"
#include "views/figures.hpp"

#include <array>
#include <ostream>
#include <string>
#include <vector>

namespace culprit::viewer {

/// POP efficiencies of the ranks' main threads (docs/algorithms.md 10): useful time is what lies outside MPI.
/// As a profile knows them the run lasts as long as the longest rank less the time in MPI_Init; time lines
/// show it exactly, and what communication is divided into.
struct Efficiency {
  double parallel = 0, load_balance = 0, communication = 0;
  double serialization = 0, transfer = 0;  ///< where `exact`
  bool exact = false;                      ///< from time lines
  double threads = 1;           ///< of the time outside MPI, what main threads did not wait for others of
  bool awaits_threads = false;  ///< their process, where time lines show that they did
  bool of_processes = false;  ///< what they waited for threads is in the thread level: `parallel` has it not
  double run_s = 0, useful_mean_s = 0, useful_max_s = 0;
  double starts_apart_s = 0;  ///< from samples: how much longer some ranks were in MPI_Init than others
  double files_s = 0;         ///< the mean of what main threads spend in `MPI_File_*`, from samples
  std::uint64_t ranks = 0;
  bool of_threads = false;  ///< there are none: time lines of threads, which it says the same of
};

using EfficiencyFigure = FigureOf<Efficiency>;
inline constexpr std::array<EfficiencyFigure, 5> kEfficiencyFigures = {{
    {&Efficiency::parallel, "parallel", false, "parallel efficiency", "mean useful time / run time",
     "parallel efficiency", "mean useful time / run time", ""},
    {&Efficiency::load_balance, "load_balance", false, "  load balance", "mean / largest useful time",
     "  load balance", "mean / largest useful time", "some ranks work more"},
    {&Efficiency::communication, "communication", false, "  communication efficiency",
     "largest useful time / run time", "  communication", "largest useful time / run time",
     "even the busiest rank is in MPI"},
    {&Efficiency::serialization, "serialization", true, "    serialization",
     "communication / transfer efficiency", "    serialization", "what an ideal network would reach",
     "ranks depend on each other"},
    {&Efficiency::transfer, "transfer", true, "    transfer", "with an instant network / measured",
     "    transfer", "with an instant network / measured", "calls take long by themselves"},
}};

/// Where there is no thread level, the first of them is then the product of this one and the next two, which
/// are of the time outside MPI.
inline constexpr EfficiencyFigure kThreadWaitsFigure{&Efficiency::threads,
                                                     "thread_waits",
                                                     true,
                                                     "  waits for threads",
                                                     "useful time / time outside MPI",
                                                     "  waits for threads",
                                                     "useful time / time outside MPI",
                                                     "main threads wait for other threads of their process"};
/// Those that are known of the ranks; and of threads, which there are.
std::vector<EfficiencyFigure> known_figures(const Efficiency& ranks);
std::vector<FigureOf<ThreadEfficiency>> known_figures(const ThreadEfficiency& threads,
                                                      const Efficiency& ranks);
/// What to say behind the largest time outside MPI.
std::string thread_waits_phrase(const Efficiency& ranks);
/// Sentences behind the figures of ranks, with a blank before them: how far apart ranks began, what calls for
/// files take, what of useful time and of waiting lacked a processor, and which figure each changes. Empty
/// where nothing is to be said.
std::string efficiency_caveats(const database::Contents& experiment, const Efficiency& ranks,
                               const IdlenessParts& waiting, bool unicode);

/// POP's two levels.
struct Efficiencies {
  Efficiency ranks;          ///< ranks 0: nothing is known (no rank, or no time)
  ThreadEfficiency threads;  ///< threads 0: likewise
};
Efficiencies efficiencies_of(const views::Figures& figures);

/// The same of one region that the program marked, over all places where it is begun: shares of the time in
/// it, which the slowest rank's is `run_s`. With time lines `transfer` is the share of the critical path in
/// it that lies outside MPI.
struct RegionEfficiency {
  std::string name;
  database::ContextId context = 0;  ///< the first place
  Efficiency efficiency;
};

/// Those that MPI ranks spent time in, the longest first.
std::vector<RegionEfficiency> efficiency_of_regions(const views::Figures& figures);

/// The same of the iterations that the program marked, which come from time lines: each by itself, so
/// that what one rank does too much in one iteration and another rank in the next is no balance.
struct IterationEfficiency {
  Efficiency all;  ///< of all together: shares of the sum of their durations
  std::vector<Efficiency> each;
};

/// Ranks 0: none are marked.
IterationEfficiency efficiency_of_iterations(const database::Contents& experiment);

void write_efficiency(std::ostream& out, const Screen& screen, const views::Figures& figures);

/// What text, json and csv have of each region.
Table regions_table(const std::vector<RegionEfficiency>& regions);

/// `{"parallel","load_balance","communication","serialization","transfer","regions"}`, serialization and
/// transfer null without a trace; all null without ranks. Each region has `name`, `path`, `time_s` and the
/// same figures. `iterations`, null where none are marked, has them too, with `count`, `time_s`, and `each`,
/// a list with `iteration` and `time_s`. `thread_waits` only where main threads did. `threads`, null where no
/// process has several, has `efficiency`, `serial`, `load_balance`, `contention`, `overhead`, `hybrid`, and
/// `count`.
Json efficiency_json(const views::Figures& figures);
/// The same for csv, a row per figure: of the run, of its threads, of each region, of all iterations and of
/// each, by the names that json has.
Table efficiency_table(const views::Figures& figures);

}  // namespace culprit::viewer
