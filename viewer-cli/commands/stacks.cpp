// Sentences (who is where), then the prefix tree. A row of the tree is a chain of functions that the same
// threads passed through.
#include "commands/stacks.hpp"

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
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

using stacks::Observation;
using stacks::TreeNode;
using Root = stacks::Path::Root;

constexpr std::size_t kMostSentences = 12;
constexpr std::size_t kWidestName = 60;

std::string_view name_of(Root root) {
  return root == Root::program ? "<program root>" : root == Root::thread ? "<thread root>" : "<partial>";
}

std::string_view kind_of(Root root) {
  return root == Root::program ? "root" : root == Root::thread ? "thread-root" : "partial";
}

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

/// A chain ends where threads part, come or go. Recursion is told by its depth.
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

Json frame_json(const TreeNode& node, bool root) {
  if (root)
    return {{"name", std::string(name_of(node.root))},
            {"file", ""},
            {"line", 0},
            {"module", ""},
            {"kind", std::string(kind_of(node.root))}};
  return {{"name", node.frame.name},
          {"file", node.frame.file},
          {"line", node.frame.line},
          {"module", node.frame.module},
          {"kind", node.frame.inlined ? "inlined" : "procedure"}};
}

Json node_json(const Observation& observation, const TreeNode& node, bool root) {
  Json locations = Json::array();
  for (const TreeNode::Visitor& visitor : node.visitors) {
    const stacks::Location& self = observation.locations[visitor.location];
    locations.push_back({{"rank", self.rank < 0 ? Json(nullptr) : Json(self.rank)},
                         {"thread", self.thread},
                         {"role", self.role},
                         {"process", self.host + ':' + std::to_string(self.pid)}});
  }
  Json children = Json::array();
  for (const TreeNode& child : node.children) children.push_back(node_json(observation, child, false));
  return {{"frame", frame_json(node, root)},
          {"locations", std::move(locations)},
          {"children", std::move(children)}};
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
  if (invocation.job > 0) return stacks::job_below(invocation.job);
  const std::vector<std::string>& subjects = invocation.subjects;
  if (subjects.size() == 1 && !is_number(subjects[0])) {
    std::error_code error;
    if (!std::filesystem::is_directory(subjects[0], error))
      throw std::runtime_error(
          print::spelled(subjects[0]) +
          ": neither a process nor a measurement directory (give numbers of processes: pgrep "
          "-a NAME finds them)");
    return stacks::job_of_measurement(subjects[0]);
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
  out << '\n'
      << screen.dim(wrap(
             processes + ", " + counted(observation.locations.size(), "thread") + ", " + looks + stop + '.',
             screen.width))
      << '\n';
}

Json stacks_json(const Observation& observation) {
  Json roots = Json::array();
  for (const TreeNode& root : stacks::unite(observation, {.by_line = true, .inside = true, .start_up = true}))
    roots.push_back(node_json(observation, root, true));
  Json stops = Json::array();
  for (const std::uint64_t stop : observation.stops_ns) stops.push_back(seconds_of(stop));
  return {{"processes", observation.processes}, {"threads", observation.locations.size()},
          {"looks", observation.looks},         {"longest_stop_s", seconds_of(longest_stop_ns(observation))},
          {"stops_s", std::move(stops)},        {"unseen", observation.unseen},
          {"roots", std::move(roots)}};
}

int run_stacks(std::ostream& out, const Screen& screen, const Invocation& invocation) {
  constexpr int kFailure = 1, kDegraded = 3;
  constexpr std::size_t kMostListed = 20;
  stacks::Job job;
  try {
    job = find_job(invocation);
  } catch (const UsageError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw CommandError(std::string("stacks: ") + error.what());
  }
  const Observation observation =
      stacks::look(job.targets, {.looks = invocation.looks, .every_s = invocation.every_s});
  std::vector<std::string> complaints = observation.unseen;
  complaints.insert(complaints.end(), observation.missed.begin(), observation.missed.end());
  complaints.insert(complaints.end(), job.notes.begin(), job.notes.end());
  const std::size_t listed = std::min(complaints.size(), kMostListed);
  for (std::size_t i = 0; i < listed; ++i) print::complain("viewer-cli", "stacks: " + complaints[i]);
  if (listed < complaints.size())
    print::complain("viewer-cli", "stacks: and " + std::to_string(complaints.size() - listed) + " more");
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
