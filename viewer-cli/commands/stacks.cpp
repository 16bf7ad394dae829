// Sentences (who is where), then the prefix tree. A row of the tree is a chain of functions that the same
// threads passed through.
#include "commands/stacks.hpp"

#include "commands/stacks_elsewhere.hpp"
#include "commands/stacks_json.hpp"
#include "print/output.hpp"
#include "print/text.hpp"
#include "stacks/job.hpp"
#include "stacks/looks.hpp"
#include "stacks/tree.hpp"
#include "stacks/whereabouts.hpp"
#include "text/guides.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

using stacks::Observation;
using stacks::TreeNode;
using Root = stacks::Path::Root;

constexpr std::size_t kMostSentences = 12;
constexpr std::size_t kWidestName = 60;

/// A line of the program; those of MPI and of the system say nothing to its author.
std::string own_place(const stacks::Frame& frame) {
  return stacks::is_of_system(frame) ? "" : stacks::place_of(frame);
}

class StacksText {
 public:
  StacksText(std::ostream& out, const Screen& screen, const Observation& observation)
      : out_(out), screen_(screen), observation_(observation), guides_(guides(screen.unicode)) {}

  void sentences(bool all);
  void tree(const std::vector<TreeNode>& roots);

 private:
  struct Row {
    std::string guide, chain, who;
  };

  void gather(const std::vector<TreeNode>& nodes, const std::string& before, bool top);
  [[nodiscard]] std::string label(const TreeNode& node) const;
  [[nodiscard]] std::string who(const TreeNode& node) const;
  void write_rows();

  std::ostream& out_;
  const Screen& screen_;
  const Observation& observation_;
  Guides guides_;
  std::vector<Row> rows_;
};

void StacksText::sentences(bool all) {
  const std::vector<stacks::Whereabouts> groups = stacks::find_whereabouts(observation_);
  const std::size_t shown = all || groups.size() <= kMostSentences ? groups.size() : kMostSentences - 1;
  for (std::size_t i = 0; i < shown; ++i) {
    stacks::Whereabouts group = groups[i];
    for (std::string* const name : {&group.in, &group.under})
      *name = shorten_name(without_parameters(*name), kWidestName, screen_.unicode);
    out_ << "- " << wrap(stacks::in_words(observation_, group), screen_.width, 2, 2) << '\n';
  }
  if (shown < groups.size())
    out_ << "- and " << counted(groups.size() - shown, "place") << " more, in the tree\n";
}

std::string StacksText::label(const TreeNode& node) const {
  const std::string name = shorten_name(without_parameters(node.frame.name), kWidestName, screen_.unicode);
  return node.frame.inlined ? name + " (inlined)" : name;
}

/// `ranks 0-3`; those that were here in some looks only are named after the others.
std::string StacksText::who(const TreeNode& node) const {
  std::vector<std::size_t> stand, pass;
  std::size_t least = observation_.looks, most = 0;
  for (const TreeNode::Visitor& visitor : node.visitors) {
    if (visitor.looks >= observation_.looks) {
      stand.push_back(visitor.location);
    } else {
      pass.push_back(visitor.location);
      least = std::min(least, visitor.looks);
      most = std::max(most, visitor.looks);
    }
  }
  std::string text = stand.empty() ? "" : stacks::names_of(observation_, stand);
  if (pass.empty()) return text;
  if (!text.empty()) text += "; ";
  return text + stacks::names_of(observation_, pass) + " in " +
         (least == most ? std::to_string(most) : "some") + " of " + std::to_string(observation_.looks) +
         " looks";
}

/// A chain ends where threads part, come or go. Recursion is shown by its depth.
void StacksText::gather(const std::vector<TreeNode>& nodes, const std::string& before, bool top) {
  const std::string arrow = screen_.unicode ? " › " : " > ";
  const std::string times = screen_.unicode ? " × " : " x ";
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool last = i + 1 == nodes.size();
    const TreeNode* node = &nodes[i];
    std::string chain = label(*node), place = own_place(node->frame), previous = chain;
    std::size_t repeated = 1;
    const auto close = [&] {
      if (repeated > 1) chain += times + std::to_string(repeated);
      repeated = 1;
    };
    while (node->children.size() == 1 && node->children.front().visitors == node->visitors) {
      node = &node->children.front();
      const std::string next = label(*node);
      if (const std::string here = own_place(node->frame); !here.empty()) place = here;
      if (next == previous) {
        ++repeated;
        continue;
      }
      close();
      chain += arrow + next;
      previous = next;
    }
    close();
    if (!place.empty()) chain += " (" + place + ')';
    rows_.push_back({before + (top ? "" : last ? guides_.last : guides_.middle), chain, who(*node)});
    gather(node->children, before + (top ? "" : last ? guides_.nothing : guides_.through), false);
  }
}

void StacksText::write_rows() {
  constexpr std::size_t kIndent = 4, kGap = 2;
  const std::size_t room = screen_.width * 2 / 3;  // wider chains have their threads in a line of their own
  std::size_t width = 0;
  for (const Row& row : rows_) {
    const std::size_t wide = columns(row.guide) + columns(row.chain);
    if (wide <= room) width = std::max(width, wide);
  }
  for (const Row& row : rows_) {
    const std::size_t wide = columns(row.guide) + columns(row.chain);
    out_ << screen_.dim(row.guide);
    if (wide <= width) {
      out_ << row.chain << std::string(width - wide + kGap, ' ') << screen_.bold(row.who) << '\n';
      continue;
    }
    const std::size_t guide = columns(row.guide);
    out_ << wrap(row.chain, std::max(screen_.width, guide + kWidestName), guide + kIndent, guide) << '\n'
         << std::string(guide + kIndent, ' ') << screen_.bold(row.who) << '\n';
  }
  rows_.clear();
}

/// The roots themselves say nothing, but that of paths that are incomplete.
void StacksText::tree(const std::vector<TreeNode>& roots) {
  for (const TreeNode& root : roots) {
    out_ << '\n';
    if (root.root == Root::partial)
      out_ << screen_.dim("Stacks whose outer frames could not be found:") << '\n';
    gather(root.children, "", true);
    write_rows();
  }
}

std::uint64_t longest_stop_ns(const Observation& observation) {
  const auto longest = std::ranges::max_element(observation.stops_ns);
  return longest == observation.stops_ns.end() ? 0 : *longest;
}

bool is_number(std::string_view word) {
  return !word.empty() &&
         std::ranges::all_of(word, [](unsigned char each) { return std::isdigit(each) != 0; });
}

/// A directory may have a number for its name: `./4711`.
stacks::Job find_job(const Invocation& invocation) {
  if (invocation.stacks.launcher > 0)
    return stacks::job_below(invocation.stacks.launcher, invocation.stacks.here);
  if (const auto name = stacks::parse_job_name(invocation.stacks.name)) return stacks::job_named(*name);
  const std::vector<std::string>& subjects = invocation.stacks.subjects;
  if (subjects.size() == 1 && !is_number(subjects[0])) {
    std::error_code error;
    if (!std::filesystem::is_directory(subjects[0], error))
      throw std::runtime_error(
          print::spelled(subjects[0]) +
          ": neither a process nor a measurement directory (give numbers of processes: pgrep "
          "-a NAME finds them)");
    return stacks::job_of_measurement(subjects[0], invocation.stacks.here);
  }
  std::vector<pid_t> pids;
  for (const std::string& word : subjects) {
    pid_t pid = 0;
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), pid);
    if (failed != std::errc() || end != word.data() + word.size() || pid <= 0)
      throw UsageError("stacks: '" + print::spelled(word) +
                       "' is no process (give numbers of processes, or one measurement directory)");
    pids.push_back(pid);
  }
  return stacks::job_of_processes(pids);
}

/// Other hosts are looked at meanwhile.
Observation look_everywhere(stacks::Job& job, const Invocation& invocation) {
  LooksElsewhere elsewhere(job, invocation);
  Observation observation;
  observation.looks = invocation.stacks.looks;
  if (!job.targets.empty())
    observation =
        stacks::look(job.targets, {.looks = invocation.stacks.looks, .every_s = invocation.every_s});
  observation.unseen.insert(observation.unseen.begin(), job.unseen.begin(), job.unseen.end());
  const std::size_t here = observation.unseen.size();
  elsewhere.join(observation);
  std::set<std::int32_t> ranks;
  for (const stacks::Location& each : observation.locations) ranks.insert(each.rank);
  ranks.erase(-1);
  const bool failed = observation.unseen.size() > here;  // which says why ranks are missing
  std::string note = failed ? "" : stacks::missing_note(job, ranks, elsewhere.any());
  if (!note.empty() && observation.unseen.empty()) job.notes.push_back(std::move(note));
  return observation;
}

void complain_of(const Observation& observation, const stacks::Job& job) {
  constexpr std::size_t kMostListed = 20;
  std::vector<std::string> complaints = observation.unseen;
  complaints.insert(complaints.end(), observation.missed.begin(), observation.missed.end());
  complaints.insert(complaints.end(), job.notes.begin(), job.notes.end());
  const std::size_t listed = std::min(complaints.size(), kMostListed);
  for (std::size_t i = 0; i < listed; ++i) print::complain("viewer-cli", "stacks: " + complaints[i]);
  if (listed < complaints.size())
    print::complain("viewer-cli", "stacks: and " + std::to_string(complaints.size() - listed) + " more");
}

std::size_t hosts_of(const Observation& observation) {
  std::set<std::string_view> hosts;
  for (const stacks::Location& each : observation.locations) hosts.insert(each.host);
  return hosts.size();
}

}  // namespace

void write_stacks(std::ostream& out, const Screen& screen, const Observation& observation,
                  const Invocation& invocation) {
  const stacks::TreeOptions options{
      .by_line = false, .inside = invocation.inside_waits || invocation.all, .start_up = invocation.all};
  StacksText text(out, screen, observation);
  text.sentences(invocation.all);
  text.tree(stacks::unite(observation, options));
  const std::string looks = observation.looks == 1
                                ? "one look"
                                : counted(observation.looks, "look") + ", " +
                                      duration(invocation.every_s, screen.unicode) + " apart";
  const std::uint64_t longest = longest_stop_ns(observation);
  const std::string stop = longest == 0 ? ""
                                        : "; no thread was stopped for longer than " +
                                              duration(seconds_of(longest), screen.unicode);
  const std::string processes =
      observation.processes == 1 ? "1 process" : std::to_string(observation.processes) + " processes";
  const std::size_t hosts = hosts_of(observation);
  const std::string on = hosts < 2 ? "" : " on " + std::to_string(hosts) + " hosts";
  out << '\n'
      << screen.dim(wrap(processes + on + ", " + counted(observation.locations.size(), "thread") + ", " +
                             looks + stop + '.',
                         screen.width))
      << '\n';
}

int run_stacks(std::ostream& out, const Screen& screen, const Invocation& invocation) {
  constexpr int kFailure = 1, kDegraded = 3;
  stacks::Job job;
  try {
    job = find_job(invocation);
  } catch (const UsageError&) {
    throw;
  } catch (const stacks::NobodyHere& nobody) {
    if (invocation.stacks.here && invocation.format == Format::json) out << write(stacks_json({}));
    throw CommandError(std::string("stacks: ") + nobody.what());
  } catch (const std::runtime_error& error) {
    throw CommandError(std::string("stacks: ") + error.what());
  }
  const Observation observation = look_everywhere(job, invocation);
  complain_of(observation, job);
  if (observation.locations.empty()) return kFailure;
  print::TextStream text(out, screen.colour);
  if (invocation.format == Format::json) {
    text << write(stacks_json(observation));
  } else {
    write_stacks(text, screen, observation, invocation);
  }
  text.flush();
  return observation.unseen.empty() ? 0 : kDegraded;
}

}  // namespace culprit::viewer
