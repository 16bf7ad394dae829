#include "closing.hpp"

#include "files/at_death.hpp"
#include "files/write_failure.hpp"
#include "print/output.hpp"
#include "print/text.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <system_error>

#include <fmt/core.h>

namespace culprit::prof_mpi {
namespace {

constexpr std::size_t kProblemsListed = 20;

void say(const std::string& line) {
  print::complain("prof-mpi", line);
}

/// What does not make the result worse than it says it is.
void print_remarks(const database::Quality& quality) {
  if (quality.slowed > 0) {
    say(
        fmt::format("sampling cost more than it may (a tenth of a thread's time, a twentieth of the "
                    "processors): {} {} sampled more slowly, at times at 1/{} of the rate; times stay right",
                    quality.slowed, quality.slowed == 1 ? "thread was" : "threads were",
                    std::uint64_t{1} << std::min<std::uint64_t>(quality.most_halvings, 63)));
  }
  if (quality.full > 0) {
    say(print::counted(quality.full, "sample") + " had no room for " +
        (quality.full == 1 ? "its call path and is" : "their call path and are") + " shown at a caller");
  }
  if (quality.clock_error_ns == database::kClocksNotCompared) {
    say("the hosts did not compare their clocks: their times of day replace that (measure with --trace into "
        "a "
        "directory that all hosts share)");
  }
  if (quality.clock_violations > 0) {
    const bool one = quality.clock_violations == 1;
    say(fmt::format(
        "{} {} received before {} sent; shifted later, {} still {}", quality.clock_violations,
        one ? "message was" : "messages were", one ? "it was" : "they were",
        quality.clock_violations_left == 0 ? "none" : std::to_string(quality.clock_violations_left),
        quality.clock_violations_left == 1 ? "is" : "are"));
  }
}

/// Of a run whose programs were deleted or built anew.
void print_unread_modules(const std::vector<std::string>& modules) {
  const std::size_t listed = std::min(modules.size(), kProblemsListed);
  for (std::size_t i = 0; i < listed; ++i) say(modules[i]);
}

void print_vain_rules(const std::vector<std::string>& rules, bool all) {
  const std::size_t listed = all ? rules.size() : std::min(rules.size(), kProblemsListed);
  for (std::size_t i = 0; i < listed; ++i) say("idle rules: " + rules[i]);
  if (listed < rules.size()) say(fmt::format("and {} more such rules (-v lists all)", rules.size() - listed));
}

}  // namespace

int status_of(const merge::Outcome& outcome) {
  return outcome.degraded() ? kDegraded : 0;
}

void print_outcome(const merge::Outcome& outcome, const CommandLine& line, const Workers& workers) {
  const std::size_t listed =
      line.verbose ? outcome.problems.size() : std::min(outcome.problems.size(), kProblemsListed);
  for (std::size_t i = 0; i < listed; ++i) say(outcome.problems[i]);
  if (listed < outcome.problems.size())
    say(fmt::format("and {} more (-v lists all)", outcome.problems.size() - listed));
  if (line.quiet) return;
  if (outcome.private_for_inputs) {
    print::announce(
        line.options.output.string() +
        ": not everybody may read it, because not everybody may read what it was made from (chmod "
        "shares it; --no-source leaves sources out)");
  }
  print_unread_modules(outcome.unread_modules);
  print_vain_rules(outcome.vain_rules, line.verbose);
  if (!outcome.some_ranks.empty())
    print::announce("only " + outcome.some_ranks +
                    (outcome.some_ranks.starts_with("rank ") ? " was measured" : " were measured"));
  print_remarks(outcome.quality);
  const double rate = outcome.seconds > 0 ? static_cast<double>(outcome.profiles) / outcome.seconds : 0;
  print::announce(
      fmt::format("merged {}, {}, by {} of prof-mpi in {:.2f} s: {:.0f} profiles/s; {} {}",
                  print::counted(outcome.profiles, "profile"), print::counted(outcome.contexts, "context"),
                  print::counted(static_cast<std::uint64_t>(workers.count), workers.are), outcome.seconds,
                  rate, line.options.dry_run ? "would write" : "wrote", line.options.output.string()));
}

std::string cause_of(const std::exception_ptr& error, const CommandLine& line) {
  std::string cause;
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    cause = fmt::format("merge: {}: {}", line.options.measurement.string(), files::kOutOfMemory);
  } catch (const files::WriteFailure& refused) {
    cause = refused.what();
  } catch (const std::system_error& refused) {
    cause =
        fmt::format("merge: {}: {} (raise the limits of this shell, ulimit -a, or merge on another machine)",
                    line.options.measurement.string(), refused.code().message());
  } catch (const std::exception& other) {
    cause = other.what();
  } catch (...) {
    cause = fmt::format("merge: {}: failed for an unknown reason (please report it)",
                        line.options.measurement.string());
  }
  return print::spelled(cause);
}

void print_failure(const std::string& cause) {
  say(cause);
}

}  // namespace culprit::prof_mpi
