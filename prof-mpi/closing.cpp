#include "closing.hpp"

#include <algorithm>
#include <cstdio>
#include <new>
#include <string>
#include <system_error>

#include <fmt/core.h>

namespace culprit::prof_mpi {
namespace {

constexpr std::size_t kProblemsListed = 20;

/// What does not make the result worse than it says it is.
void tell_remarks(const database::Quality& quality) {
  if (quality.slowed > 0) {
    fmt::print(stderr,
               "prof-mpi: sampling took more than a tenth of the time on {} threads, which were sampled more "
               "slowly, down to 1/{} of the rate; times stay right\n",
               quality.slowed, std::uint64_t{1} << std::min<std::uint64_t>(quality.most_halvings, 63));
  }
  if (quality.full > 0) {
    fmt::print(stderr, "prof-mpi: {} samples met a full memory area and count for a caller\n", quality.full);
  }
  if (quality.clock_violations > 0) {
    const bool one = quality.clock_violations == 1;
    fmt::print(stderr, "prof-mpi: {} {} received before {} sent; pushed forward, {} still {}\n",
               quality.clock_violations, one ? "message was" : "messages were", one ? "it was" : "they were",
               quality.clock_violations_left == 0 ? "none" : std::to_string(quality.clock_violations_left),
               quality.clock_violations_left == 1 ? "is" : "are");
  }
}

}  // namespace

int status_of(const merge::Outcome& outcome) {
  return outcome.degraded() ? kDegraded : 0;
}

void tell(const merge::Outcome& outcome, const CommandLine& line, int ranks) {
  const std::size_t listed =
      line.verbose ? outcome.problems.size() : std::min(outcome.problems.size(), kProblemsListed);
  for (std::size_t i = 0; i < listed; ++i) fmt::print(stderr, "prof-mpi: {}\n", outcome.problems[i]);
  if (listed < outcome.problems.size()) {
    fmt::print(stderr, "prof-mpi: and {} more (-v lists all)\n", outcome.problems.size() - listed);
  }
  if (line.quiet) return;
  if (!outcome.some_ranks.empty()) fmt::print("only {} were measured\n", outcome.some_ranks);
  tell_remarks(outcome.quality);
  const double rate = outcome.seconds > 0 ? static_cast<double>(outcome.profiles) / outcome.seconds : 0;
  fmt::print("merged {} profiles, {} contexts, {} ranks, {:.2f} s: {:.0f} profiles/s; {} {}\n",
             outcome.profiles, outcome.contexts, ranks, outcome.seconds, rate,
             line.options.dry_run ? "would write" : "wrote", line.options.output.string());
  std::fflush(stdout);
}

std::string cause_of(const std::exception_ptr& error, const CommandLine& line) {
  std::string cause;
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    cause = fmt::format("merge: {}: out of memory (merge on more nodes, or with fewer ranks per node)",
                        line.options.measurement.string());
  } catch (const std::system_error& refused) {
    cause = fmt::format("write: {} (make room there, or name another place with -o)", refused.what());
  } catch (const std::exception& other) {
    cause = other.what();
  } catch (...) {
    cause = fmt::format("merge: {}: failed for an unknown reason (please report it)",
                        line.options.measurement.string());
  }
  std::replace(cause.begin(), cause.end(), '\n', ' ');
  return cause;
}

void tell_failure(const std::string& cause) {
  fmt::print(stderr, "prof-mpi: {}\n", cause);
}

}  // namespace culprit::prof_mpi
