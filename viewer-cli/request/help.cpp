#include "request/command_line.hpp"
#include "request/exports.hpp"
#include "text/guides.hpp"
#include "text/prose.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace culprit::viewer {
namespace {

constexpr std::string_view kOverview =
    R"help(viewer-cli shows which code, on which ranks, makes an MPI program wait.

  viewer-cli run1                       browse a measurement (merges it into run1.db first)
  viewer-cli run1.db report             the diagnosis in plain words
  viewer-cli run1.db view callers       who calls what costs time
  viewer-cli run1.db view flat --sort "imbalance (E)"
  viewer-cli run1.db threads main/solve --metric idleness
  viewer-cli run1.db suspects --format json
  viewer-cli run1.db diff run2.db       what changed, code by code
  viewer-cli run1.db run2.db            the same, in the browser
  viewer-cli stacks --job $(pgrep -n mpirun)   where the ranks of a job are right now, unprepared
  viewer-cli run1 --follow              a run that goes on: what is hot now, and which ranks work or wait

usage: viewer-cli DB|DIR [command] [options]

Without a command: the browser (? shows its keys), or, where there is no terminal, the report.

commands
  report                  the diagnosis in plain words
  view calling-context    costs along call paths, top down (default view)
  view callers            costs by procedure, below each its callers
  view flat               costs by load module, file, procedure, loop, line
  hot-path                the path that keeps most of a metric
  threads NODE            the values of one node for every rank and thread, plotted
  blame                   balanced code below which ranks wait, most waiting first
  suspects                code whose uneven work explains the waiting, with its ranks
  waits                   who waited where, for whom, by pattern; without a trace one-sided and threads only
  causes                  what code on which rank made others wait, directly and through others (trace)
  critical-path           what the length of the run depends on (trace)
  hotspots                hot procedures that made others wait (trace)
  variation               how long iterations took, over ranks and time (trace)
  communication           what MPI calls took and moved, and who sends to whom
  efficiency              parallel efficiency, load balance, communication efficiency
  what-if --remove PATH   the run replayed with other work: how long it would take, and who would wait (trace)
  diff DB2                two runs compared: per code, change and scaling loss
  export FORMAT           for other tools: {names}
  info                    what was run, where, when and how; how good the data is
  stuck                   of a directory whose job runs, or was killed: who waits for whom, since when; deadlocks
  stacks                  of processes that run, however they were started: call stacks of all threads, united

(trace): needs a measurement with time lines, hpcrun-lite --trace.

options
  --format text|json|csv  text for people (default), json for programs, csv for tables
  --follow                of a directory whose run goes on: its state, time and time again, in a screen or,
                          without a terminal, a line each; when the run ends, merges it and goes on with it
  --every SECONDS         --follow: how often (default: 2)
  --source-map FROM=TO    the browser: where sources compiled under FROM are now; repeatable, remembered
  -o, --output DB         of a directory: merge it into DB, or show DB, if it is there (default: DIR.db beside it)
  -q, --quiet             no progress while merging
  -h, --help              this; after a command, its options
  --version

Metrics are named EVENT:STAT (I|E), inclusive or exclusive: "REALTIME:sum (I)", "idleness:mean (I)",
"imbalance:sum (E)". STAT is sum (default), mean, min, max, stddev, cv or count; (I) is the default.
"viewer-cli DB info" lists the events.

exit status: 0 good, 1 bad data or failure, 2 wrong usage, 3 merged just now, but the data is degraded;
of export 3: some time lines could not be read; of stacks 3: some processes could not be looked at
)help";

/// The help of a command: what it shows, with examples; its options beside --format; notes behind them.
struct CommandHelp {
  std::string_view name, what, options, formats, notes;
};

constexpr std::string_view kTable = "text|json|csv";
constexpr std::string_view kNoTable = "text|json    ";
constexpr std::string_view kByRank =
    "  --by-rank               text: a row for each rank; json and csv have that always\n";

constexpr std::array<CommandHelp, 19> kCommandHelps = {{
    {"report",
     R"help(The diagnosis in plain words: first the verdict, then how much of the run is waiting and where, which code is
to blame, which code does uneven work on which ranks, what mending it is worth, and how good the data is.
PREFIX/share/doc/culprit/docs/diagnosis.md explains the verdicts.

  viewer-cli run1.db report
  viewer-cli run1.db report --without-startup
  viewer-cli run1.db report --format json
)help",
     "  --without-startup       without MPI_Init and MPI_Finalize: figures and shares are of the rest of the "
     "run\n",
     kNoTable,
     {}},
    {"view",
     R"help(A tree of costs.

  viewer-cli run1.db view                                    call paths, top down, most time first
  viewer-cli run1.db view callers --focus '^MPI_' --depth 4  who calls MPI
  viewer-cli run1.db view flat --sort "imbalance (E)"        the code to blame first
  viewer-cli run1.db view --metrics "REALTIME:mean,REALTIME:max,REALTIME:cv"
  viewer-cli run1.db view --ranks 0-3,8 --min 0.1            some ranks, small branches too

usage: viewer-cli DB|DIR view [calling-context|callers|flat] [options]
)help",
     R"help(  --sort METRIC           siblings by this metric, largest first (default: the first of --metrics, else REALTIME:sum (I))
  --metrics A,B           columns (default: time, own time, idleness, and imbalance as "blame")
  --derive NAME=FORMULA   a metric of your own, from others (see below); repeatable
  --depth N               levels below the roots (default: all; text of callers: 2)
  --min PERCENT           leave out branches with less of the sort metric (default: 1 for text, else 0)
  --focus REGEX           only paths through a frame whose name matches (RE2 syntax)
  --ranks LIST            count these ranks only, e.g. 0-3,8 (default: all; imbalance needs all)
  --role NAME             count threads of this role only (default: all; statistics other than sum: main)
  --without-startup       text: shares are of the run without MPI_Init and MPI_Finalize
  --lines                 text: show source lines too
  --inside-waits          text: show what lies inside MPI calls and other waits too
  --all                   text: leave nothing out (--lines --inside-waits --min 0, all levels, recursion, std::)
  --ids                   text: print node ids, for `threads` and `what-if`; each frame on its own row
)help",
     kTable,
     R"help(json and csv leave out nothing unless asked.

Derived metrics are computed at each node from what its columns show, times in seconds:
  --derive 'cpi = $PAPI_TOT_CYC / $PAPI_TOT_INS'
  --derive 'waste = 4 * ${PAPI_TOT_CYC:sum (E)} - ${PAPI_TOT_INS:sum (E)}' --sort waste
$METRIC is inclusive, with :STAT its statistic; ${EVENT:STAT (I|E)} is a full name. Operators and functions:
+ - * / ^ < > ?: min max abs sqrt log ... Where a formula has no value (0/0), neither has the node.

Reading the tree: a line without a branch sign is the only child shown of the line above it. "f ← a.c:12"
is f as called from line 12 of a.c. "self" is what the code itself costs: a procedure with its loops and
inlined code, but without what it calls. "blame" is waiting charged to the code itself. In callers,
inner instances of a recursive procedure add to its own cost only, not to its inclusive cost.
)help"},
    {"hot-path",
     R"help(The path that keeps most of a metric: from the root to the largest child, while that child holds at least
half of its parent.

  viewer-cli run1.db hot-path
  viewer-cli run1.db hot-path --metric idleness
)help",
     R"help(  --metric METRIC         (default: REALTIME:sum (I)); of an (E) the path is that of its (I)
  --derive NAME=FORMULA   as for `view`
  --ranks LIST, --role NAME, --without-startup: as for `view`
  --lines, --inside-waits, --all, --ids: likewise
)help",
     kTable,
     {}},
    {"threads",
     R"help(The values of one node for every rank and thread, plotted.

  viewer-cli run1.db threads spmv
  viewer-cli run1.db threads main/cg_iterate/MPI_Allreduce --metric idleness
  viewer-cli run1.db threads c127 --format csv

usage: viewer-cli DB|DIR threads NODE [options]

NODE is a path of frame names joined by "/", starting at any frame; call sites, loops, inlined code, regions
and start-up frames in between may be left out, and names may hold "/" themselves. Or an id that
`view --ids` prints. Of several nodes of that name the one with the most time is shown.
)help",
     R"help(  --metric METRIC         (default: REALTIME:sum (I); the statistic does not matter here)
  --derive NAME=FORMULA   as for `view`, computed for each thread
  --ranks LIST            these ranks only, e.g. 0-3,8 (default: all)
  --role NAME             threads of this role only (default: all)
)help",
     kTable,
     {}},
    {"blame",
     R"help(Balanced code below which ranks wait, most waiting first: the load is uneven inside it.

  viewer-cli run1.db blame
  viewer-cli run1.db blame --without-startup
  viewer-cli run1.db blame --format json
)help",
     "  --without-startup       shares are of the waiting outside MPI_Init and MPI_Finalize; seconds stay\n",
     kTable,
     {}},
    {"suspects",
     R"help(Code whose uneven work explains the waiting, with the ranks that do more than the others; what explains most first.

  viewer-cli run1.db suspects
  viewer-cli run1.db suspects --format json
)help",
     {},
     kTable,
     {}},
    {"waits",
     R"help(Who waited where, because of whom, by pattern; the longest first. With a trace (hpcrun-lite --trace) from
time stamps, in messages, collectives and one-sided communication; without one the waits of one-sided
communication only, approximated. Waits of threads for each other are in either. late-sender-wrong-order,
late-complete and early-fence are parts of late-sender, early-wait and wait-at-fence. A row is a pattern at
a call path, with its ranks; shares are of all waiting. Indirect: the rank that was waited for had been kept
waiting itself.

  viewer-cli run1.db waits
  viewer-cli run1.db waits --by-rank
  viewer-cli run1.db waits --format csv
)help",
     R"help(  --by-rank               text: a row for each rank; json and csv have that always
  --without-startup       text: without waits in MPI_Init and MPI_Finalize; shares are of the others
)help",
     kTable,
     {}},
    {"causes",
     R"help(What code on which ranks made others wait; what cost most first. Direct cost is waiting for that code
itself, indirect cost what those waits made others wait in turn. All costs and the unexplained
waits add up to the waiting for late ranks in `waits`. A row is a call path, with its ranks. Needs a
trace (hpcrun-lite --trace).

  viewer-cli run1.db causes
  viewer-cli run1.db causes --by-rank
  viewer-cli run1.db causes --format json
)help",
     kByRank,
     kTable,
     {}},
    {"critical-path",
     R"help(The critical path: from the last rank in MPI_Finalize backwards, at each wait over to what was waited for.
Only what lies on it can make the run shorter. "Above the mean" is how much longer code takes there than on
an average rank: what balancing it can save at most (json: imbalance_s). Needs a trace (hpcrun-lite --trace).

  viewer-cli run1.db critical-path
  viewer-cli run1.db critical-path --format json
)help",
     {},
     kTable,
     {}},
    {"hotspots",
     R"help(Procedures with at least 1 % of the time (prof-mpi --hotspot-threshold) that took longer on one rank than on
another that waited for it, and what that cost; only direct waits count. Needs a trace (hpcrun-lite --trace).

  viewer-cli run1.db hotspots
  viewer-cli run1.db hotspots --format json
)help",
     kByRank,
     kTable,
     {}},
    {"variation",
     R"help(How long each iteration took on each rank, its MPI calls left out, and which took far longer than the median.
Iterations are those that the program marks (culprit_iteration(n)), else those of the loop, or invocations of
the procedure, with the most time among those that begin again and again. Needs a trace (hpcrun-lite --trace).

  viewer-cli run1.db variation
  viewer-cli run1.db variation --finer 1
  viewer-cli run1.db variation --procedure relax
  viewer-cli run1.db variation --metric perf::PAGE-FAULTS
)help",
     R"help(  --finer N               segments of a procedure N levels below (default: 0)
  --procedure NAME        invocations of this procedure: one of those, or one that was named to
                          prof-mpi --segment NAME
  --metric EVENT          what was counted of this event outside MPI, instead of the time: one that was
                          sampled besides REALTIME (hpcrun-lite -e EVENT)
)help",
     kTable,
     {}},
    {"communication",
     R"help(MPI calls by function, then by call path: how many, their time (all, mean, longest), the mean size of their
messages, the rate at which they move bytes; then which rank sends how much to which, by communicator. A
message counts at the call that sends it and at the call in which it arrives; a rank's part in a collective
counts as one. With a trace (hpcrun-lite --trace) exact; without one calls, messages and bytes are counted; times
are those of samples, but for the longest call of those that wait, and one-sided operations have no
partners. csv has the call paths, json all.

  viewer-cli run1.db communication
  viewer-cli run1.db communication --format json
)help",
     "  --without-startup       without MPI_Init and MPI_Finalize; shares are of the rest of the run\n",
     kTable,
     {}},
    {"efficiency",
     R"help(How efficiently the ranks' time is used: parallel efficiency = load balance x communication efficiency
(POP metrics). With a trace (hpcrun-lite --trace) communication = serialization x transfer; a profile cannot
divide it further, these two are null. Where processes have several threads also how well these use the time
outside MPI: serial parts x load balance x contention for locks x overhead of OpenMP. json and csv have each
marked iteration.

  viewer-cli run1.db efficiency
  viewer-cli run1.db efficiency --format csv     a row for each figure
)help",
     {},
     kTable,
     {}},
    {"what-if",
     R"help(The run replayed with the time of some code changed: how long it would take, which waits would get
shorter, and which longer. Needs the measurement directory, with time lines (hpcrun-lite --trace): a database
holds sums, a replay each call.

  viewer-cli run1 what-if --balance main/solve/smooth    the same time on all ranks
  viewer-cli run1 what-if --speedup smooth=2             half of its time
  viewer-cli run1 what-if --remove write_checkpoint
  viewer-cli run1 what-if --speedup smooth=1.5 --ranks 3,7 --remove log_state

usage: viewer-cli DIR what-if --balance PATH|--speedup PATH=FACTOR|--remove PATH... [options]
)help",
     R"help(  --balance PATH          each rank spends the mean of all ranks' time there, over the run; repeatable, as these:
  --speedup PATH=FACTOR   its time is divided by FACTOR
  --remove PATH           it takes no time
  --each                  --balance: even in each interval between MPI calls, not only over the run
  --ranks LIST            change the work of these ranks only, e.g. 0-3,8 (default: all)
)help",
     kTable,
     R"help(PATH: frame names joined by /, as for `threads`, or an id of `view --ids`; with all that it calls, outside MPI.
Calls of MPI keep their own cost, waits are found anew. DIR.db works where the directory DIR lies beside it.
)help"},
    {"diff",
     R"help(Two runs compared, code by code: before and after a change, or on few and on many ranks.

  viewer-cli before.db diff after.db
  viewer-cli before.db diff after.db --metric idleness --focus solve
  viewer-cli on4.db diff on16.db                 scaling: actual against ideal
  viewer-cli on4.db diff on16.db --scaling weak --format json
  viewer-cli before.db diff after.db --browse    in the browser; also: viewer-cli before.db after.db
  viewer-cli before.db diff after.db --derive 'waiting = $idleness / $REALTIME' --metric waiting

usage: viewer-cli DB|DIR diff DB2|DIR2 [options]
)help",
     R"help(  --metric METRIC         what to compare, a :sum or :mean, or a formula (default: REALTIME:sum (I))
  --derive NAME=FORMULA   as for `view`, of sums and means; --metric NAME compares it
  --ranks LIST            these ranks of both runs only, e.g. 0-3,8 (default: all; imbalance needs all)
  --role NAME             threads of this role only (default: all; :mean: main)
  --scaling strong|weak   the ideal where the numbers of ranks differ: strong, the same time summed over all
                          ranks; weak, the same time per rank (default: strong; weak if total work grew with the
                          ranks; the text says which and why)
  --depth N               levels below the root (default: all)
  --min PERCENT           leave out branches where nothing changed by as much of the larger total
                          (default: 1 for text, else 0); of a formula, branches with less of the time
  --focus REGEX           only paths through a frame whose name matches (RE2 syntax)
  --inside-waits          text: show what lies inside MPI calls and other waits too
  --all                   text: leave nothing out (--inside-waits --min 0)
  --browse                in the browser, where there is a terminal
)help",
     kTable,
     R"help(Code is matched along call paths, by name, file and load module. Lines may shift; call sites and source lines
are not distinguished. Levels that only one run has (loops, inlined procedures, wrappers) are looked through: they
keep what is left to them, and what both runs have below them is compared. Procedures that contain much the
same are taken as renamed. Changes of all code add up to the change of the whole.

change is DB2 - DB, ratio DB2 / DB. Scaling loss is what DB2 has beyond the ideal, as a share of its total.
)help"},
    {"export",
     R"help(Writes the run as one page that browsers open (html), or its calling context tree for other tools.

{examples}
usage: viewer-cli DB|DIR export FORMAT [options]
)help",
     R"help(  -o, --output FILE       (default: standard output)
  --metric METRIC         what collapsed, speedscope and firefox weigh frames by, and pprof shows first
                          (default: REALTIME)
  --derive NAME=FORMULA   as for `view`: a further column of csv and json
  --no-source             html: without the source texts that the database holds
)help",
     {},
     R"help(html is less than 5 MB, however large the run: it has the heaviest rows, and says what it leaves out. It needs no
network and no server. collapsed counts whole microseconds (or the metric's own unit), the rank first: rank_3;main;solve 1200.
pprof holds all metrics, labelled by rank, thread and role: pprof -tagfocus 'rank=^3$', -tagroot rank; it has no
loops. Hatchet's formats hold all metrics, by scope: procedures, inlined code and loops.

otf2 and perfetto hold each event of a run that was measured with --trace, firefox samples and waits (without
a trace the profile alone). They read the measurement directory, which must still be there. otf2 is a directory,
which -o names and which must not exist.
)help"},
    {"info",
     R"help(What was run, where, when and how, and how good the data is.

  viewer-cli run1.db info
  viewer-cli run1.db info --format json
)help",
     {},
     kNoTable,
     {}},
    {"stuck",
     R"help(Is the job stuck? Which ranks wait for which, in what call, where, and since when. DIR is the measurement
directory of a job that runs now: stuck looks at it twice, a second apart. Or of a job that was killed: stuck
shows it as it was at its end. Finds deadlocks, ranks that are missing in a collective, different collectives or
roots, messages without a partner, deadlocks of threads on mutexes, processes that died or are stopped, and
ranks that compute while all others wait. The job is not disturbed: stuck only reads files.

  viewer-cli run1 stuck
  viewer-cli run1 stuck --format json

usage: viewer-cli DIR stuck [options]
)help",
     R"help(  --after SECONDS         report a rank that made no MPI call for this long while all others wait (default: 10)
)help",
     kNoTable,
     {}},
    {"stacks",
     R"help(Where processes are right now: the call stacks of all their threads, with inlined code and lines, as one tree
with the ranks in each place. They need no preparation: any program, with or without MPI, measured or not.
Looks three times, 0.3 s apart: a thread stands where all looks show it at one place, else it moves. Each thread
is stopped for a fraction of a millisecond, and goes on whatever happens to viewer-cli.

  viewer-cli stacks 4711                        one process
  viewer-cli stacks $(pgrep -x lmp)             several; their ranks are those of their environment
  viewer-cli stacks --job $(pgrep -n mpirun)    all ranks of a job, on all its hosts
  viewer-cli run1 stacks                        the processes of a measurement that runs
  viewer-cli stacks 4711 --looks 1 --format json

usage: viewer-cli stacks PID...|DIR [options]
       viewer-cli stacks --job PID [options]
)help",
     R"help(  --job PID               the ranks below this launcher (mpirun, mpiexec, srun), its daemon, or a script that started
                          it; the launcher starts viewer-cli on the job's other hosts
  --job NAME              the ranks on this host of openmpi:ID, hydra:HOST:PORT or slurm:JOB.STEP
  --here                  look at this host alone
  --looks N               (default: 3)
  --every SECONDS         from look to look (default: 0.3)
  --inside-waits          text: show what lies inside MPI calls too
  --all                   text: leave nothing out (--inside-waits, start-up frames, every place of every thread)
)help",
     kNoTable,
     R"help(You may look at processes of your own; where the system forbids that, the error says what to do. The exit
status is 1 where no process could be looked at, 3 where some processes or hosts could not.
)help"},
}};

/// `text` with what stands for the exports' names, or for examples of them, written out.
std::string with_exports(std::string_view text) {
  std::string names, examples, result(text);
  for (const auto& [name, use] : exports()) {
    names.append(names.empty() ? "" : ", ").append(name);
    examples +=
        fmt::format("  {:<62} {}\n", fmt::format("viewer-cli run1.db export {} -o run1.{}", name, use.ending),
                    use.readers);
  }
  for (const auto& [place, list] : {std::pair("{names}", names), std::pair("{examples}", examples)}) {
    if (const std::size_t at = result.find(place); at != std::string::npos)
      result.replace(at, std::string_view(place).size(), list);
  }
  return result;
}

/// Where the words of an entry begin, two blanks or more behind its name; 0: the line is none.
std::size_t words_of_entry(std::string_view line) {
  const std::size_t name = line.find_first_not_of(' ');
  if (name == 0 || name == std::string_view::npos) return 0;
  const std::size_t gap = line.find("  ", name);
  return gap == std::string_view::npos ? 0 : line.find_first_not_of(' ', gap);
}

/// The lines of a help with those joined that are one entry, or one paragraph.
std::vector<std::string> joined_lines(std::string_view help) {
  constexpr std::size_t kContinued = 20;  // blanks in front of the further lines of an entry
  std::vector<std::string> lines;
  while (!help.empty()) {
    const std::string_view line = help.substr(0, help.find('\n'));
    help.remove_prefix(std::min(line.size() + 1, help.size()));
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    const std::string_view before = lines.empty() ? std::string_view{} : std::string_view(lines.back());
    const bool of_entry = begin >= kContinued && words_of_entry(before) > 0;
    const bool of_paragraph = begin == 0 && !line.empty() && !before.empty() && before.front() != ' ';
    if (of_entry || of_paragraph) {
      lines.back().append(1, ' ').append(line.substr(begin));
    } else {
      lines.emplace_back(line);
    }
  }
  return lines;
}

}  // namespace

std::string fit_help(std::string_view help, std::size_t width, bool unicode) {
  constexpr std::size_t kWidest = 110;
  constexpr std::size_t kLeastRoom = 40;
  width = std::min(width, kWidest);
  std::string text;
  for (std::string& line : joined_lines(help)) {
    const std::string arrow = guides(true).arrow;
    if (const std::size_t at = line.find(arrow); at != std::string::npos)
      line.replace(at, arrow.size(), guides(unicode).arrow);
    const std::size_t words = words_of_entry(line);
    const bool wraps = words > 0 ? words + kLeastRoom <= width : !line.starts_with(' ');
    text += wraps ? line.substr(0, words) + wrap(line.substr(words), width, words, words) : line;
    text += '\n';
  }
  return text;
}

std::string help_text(std::string_view command) {
  const auto* const found = std::ranges::find(kCommandHelps, command, &CommandHelp::name);
  if (found == kCommandHelps.end()) return with_exports(kOverview);
  std::string text = with_exports(found->what);
  text.append("\noptions\n").append(found->options);
  if (!found->formats.empty())
    text.append("  --format ").append(found->formats).append("  (default: text)\n");
  if (!found->notes.empty()) text.append("\n").append(found->notes);
  return text;
}

}  // namespace culprit::viewer
