#include "tree/tree_text.hpp"

#include "text/guides.hpp"
#include "text/node_label.hpp"
#include "text/prose.hpp"
#include "text/shorten.hpp"
#include "views/start_up.hpp"
#include "views/visible.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

namespace culprit::viewer {

namespace {

using database::ContextKind;

class TreeText {
 public:
  TreeText(std::ostream& out, const Screen& screen, const ViewRequest& request, bool ids)
      : out_(out),
        screen_(screen),
        view_(*request.view),
        numbers_(screen, request),
        ids_(ids),
        signs_(guides(screen.unicode)) {
    for (const database::ModuleInfo& module : request.figures->experiment().modules) {
      if (module.no_unwind && module.bridged > 0) bare_modules_.insert(module.path);
    }
  }

  /// Whether any frame was marked as one whose callers are inferred.
  [[nodiscard]] bool inferred() const { return inferred_; }

  void header(const std::string& title) { numbers_.write_header(out_, screen_, title); }

  /// `before`: the guides that stand in front of every line of these nodes.
  void nodes(const std::vector<views::ShownNode>& list, const std::string& before, bool roots) {
    // An only child needs no guide and no indentation: long chains stay at the left.
    std::map<std::string_view, std::size_t> of_name;
    for (const views::ShownNode& node : list) ++of_name[name_among_siblings(view_, node)];
    const bool chain = list.size() == 1 || (roots && view_.name() == "calling-context");
    for (std::size_t index = 0; index < list.size(); ++index) {
      const bool last = index + 1 == list.size();
      const std::string_view name = name_among_siblings(view_, list[index]);
      const Line line{&list[index], !roots && view_.name() == "callers", !name.empty() && of_name[name] > 1};
      write(line, roots || chain ? before : before + (last ? signs_.last : signs_.middle));
      const std::string below = roots || chain ? before : before + (last ? signs_.nothing : signs_.through);
      nodes(list[index].children, roots && list.size() > 1 ? below + signs_.nothing : below, false);
    }
  }

  void path(const std::vector<views::VisibleNode>& steps) {
    for (const views::VisibleNode& step : steps) write({&step, false, false}, "");
  }

 private:
  struct Line {
    const views::VisibleNode* node;
    bool caller;  ///< a caller in the view of callers
    bool alike;   ///< a sibling has the same name
  };

  /// Code of a module without unwind information: who called it was inferred.
  [[nodiscard]] bool is_bare(const views::Frame& frame) const {
    return frame.kind == ContextKind::procedure && bare_modules_.contains(frame.module);
  }

  void write(const Line& line, const std::string& before) {
    const views::VisibleNode& shown = *line.node;
    const std::string numbers = numbers_.row(shown);
    const std::size_t taken = numbers_.width() + columns(before);
    const std::size_t room = std::max(screen_.width > taken ? screen_.width - taken : 0, kShortestName);
    const std::string id = ids_ ? "  [" + view_.id(shown.node) + ']' : std::string{};
    std::string name = row_label(view_, shown);
    if (is_bare(view_.frame(shown.node))) {
      name = "~ " + name;
      inferred_ = true;
    }
    if (line.caller) name = signs_.arrow + name;
    const std::size_t for_name = room > columns(id) ? room - columns(id) : kShortestName;
    const FittedLabel fitted =
        fit_label(name, remarks_of(view_, shown, signs_.arrow), for_name, screen_.unicode, line.alike);
    out_ << numbers << screen_.dim(before) << fitted.name;
    if (!fitted.remark.empty()) out_ << "  " << screen_.dim(fitted.remark);
    out_ << screen_.dim(id);
    out_ << '\n';
  }

  std::ostream& out_;
  const Screen& screen_;
  views::View& view_;
  NumberColumns numbers_;
  bool ids_;
  Guides signs_;
  std::set<std::string, std::less<>> bare_modules_;  // paths
  bool inferred_ = false;
};

std::string title_of(const ViewRequest& request) {
  const std::string name(request.view->name());
  std::uint64_t threads = 0;
  for (std::size_t role = 0; role < request.figures->threads().size(); ++role) {
    if (!request.options.sort.role || *request.options.sort.role == role)
      threads += request.figures->threads()[role];
  }
  return name + ", " + counted(threads, "thread");
}

std::string branches(std::uint64_t number, const std::string& why, const std::string& option) {
  const std::string noun = number == 1 ? " branch " : " branches ";
  return keep(grouped(static_cast<double>(number)) + noun + why + " (" + option + ')');
}

}  // namespace

void write_left_out(std::ostream& out, const Screen& screen, const views::Shown& shown,
                    const std::string& small, double min_percent) {
  std::vector<std::string> parts;
  const auto add = [&](std::uint64_t number, const std::string& why, const std::string& option) {
    if (number != 0) parts.push_back(branches(number, why, option));
  };
  add(shown.below_minimum, small + ' ' + grouped(min_percent, min_percent < 1 ? 2 : 0) + " %", "--min 0");
  add(shown.below_depth, "deeper", "--depth");
  add(shown.out_of_focus, "out of focus", "--focus");
  add(shown.wait_internals, "inside MPI and other waits", "--inside-waits");
  if (shown.folded != 0)
    parts.push_back(keep("the insides of " + counted(shown.folded, "folded row") + " (--all)"));
  if (shown.statements != 0) parts.push_back(keep(counted(shown.statements, "source line") + " (--lines)"));
  if (shown.start_up != 0) parts.push_back(keep(counted(shown.start_up, "start-up frame") + " (--all)"));
  if (parts.empty()) return;
  out << '\n' << screen.dim(wrap("Left out: " + enumerate(parts) + '.', screen.width, 2)) << '\n';
}

void write_tree(std::ostream& out, const Screen& screen, const ViewRequest& request,
                const views::Shown& shown, bool ids) {
  TreeText text(out, screen, request, ids);
  text.header(title_of(request));
  text.nodes(shown.roots, "", true);
  if (shown.roots.empty()) out << "(nothing to show)\n";
  if (text.inferred())
    out << '\n' << screen.dim("~ callers were inferred: its module has no unwind information") << '\n';
  write_left_out(out, screen, shown, "under", request.options.min_percent);
  if (request.without_startup)
    out << '\n'
        << screen.dim(wrap(
               "Shares are of the run without MPI_Init and MPI_Finalize; these have none, nor has what takes "
               "longer than that run, with them in it.",
               screen.width))
        << '\n';
}

void write_path(std::ostream& out, const Screen& screen, const ViewRequest& request,
                const std::vector<views::VisibleNode>& steps, bool ids) {
  TreeText text(out, screen, request, ids);
  text.header("hot path");
  text.path(steps);
}

namespace {

constexpr std::size_t kShareWidth = 5;  // "100.0"
constexpr std::size_t kNarrow = 100;    // below: no own time
constexpr std::size_t kWide = 130;      // from here: shares of idleness and blame too

}  // namespace

void HeadedColumns::add(const std::string& above, const std::string& below, std::size_t digits) {
  widths_.push_back(std::max({columns(above), columns(below), digits}));
  above_ += align_right(above, widths_.back()) + kColumnGap;
  below_ += align_right(below, widths_.back()) + kColumnGap;
  width_ = columns(below_);
}

void HeadedColumns::write_header(std::ostream& out, const Screen& screen, const std::string& title) const {
  out << screen.bold(above_.substr(0, above_.find_last_not_of(' ') + 1)) << '\n'
      << screen.bold(below_ + title) << '\n';
}

std::string HeadedColumns::aligned(std::size_t column, const std::string& text) const {
  return align_right(text, widths_[column]);
}

NumberColumns::NumberColumns(const Screen& screen, const ViewRequest& request)
    : screen_(screen), request_(request) {
  for (const views::Column& column : request.columns) {
    const double whole = views::total(*request.figures, column);
    totals_.push_back(std::isnan(whole) ? 0 : whole);
    wholes_.push_back(request.whole(column));
  }
  // Times side by side are written in one unit with as many decimals, so that they compare at a glance.
  double longest = 0;
  for (std::size_t metric = 0; metric < totals_.size(); ++metric) {
    if (request.columns[metric].unit == "s") longest = std::max(longest, totals_[metric]);
  }
  for (std::size_t metric = 0; metric < totals_.size(); ++metric) {
    const std::string& unit = request.columns[metric].unit;
    scales_.push_back(scale_for(unit == "s" ? longest : totals_[metric], unit, screen.unicode));
  }
  if (request.defaults != 0) choose_default();
  choose_given();
}

void NumberColumns::add(std::size_t metric, bool share, const std::string& above, const std::string& below) {
  HeadedColumns::add(above, below, share ? kShareWidth : columns(scales_[metric].write(totals_[metric])));
  parts_.push_back({metric, share});
}

void NumberColumns::choose_default() {
  const bool time = request_.columns[0].name.event == "REALTIME";
  add(0, false, time ? "time" : request_.columns[0].name.event, scales_[0].unit);
  add(0, true, "", "%");
  if (screen_.width >= kNarrow) add(1, true, "self", "%");
  for (std::size_t metric = 2; metric < request_.defaults; ++metric) {
    if (totals_[metric] == 0) continue;
    add(metric, false, request_.columns[metric].blame ? "blame" : "wait", scales_[metric].unit);
    if (screen_.width >= kWide) add(metric, true, "", "%");
  }
}

void NumberColumns::choose_given() {
  for (std::size_t metric = request_.defaults; metric < request_.columns.size(); ++metric) {
    const views::Column& column = request_.columns[metric];
    if (column.derived) {
      add(metric, false, column.title, "");
      continue;
    }
    std::string scope(views::to_string(column.name.statistic));
    scope += column.name.inclusive ? " (I)" : " (E)";
    const std::string& unit = scales_[metric].unit;
    if (unit != "count" && unit != "threads") scope.append(1, ' ').append(unit);
    add(metric, false, column.name.event, scope);
    if (column.additive() && screen_.width >= kNarrow) add(metric, true, "", "%");
  }
}

std::string NumberColumns::cell(const Part& part, double value, const views::Frame& frame) const {
  if (std::isnan(value)) return "n/a";
  if (value == 0) return "";
  if (!part.share) return scales_[part.metric].write(value);
  const double whole = wholes_[part.metric];
  if (whole <= 0) return "";
  if (request_.without_startup && !views::is_part_without_start_up(frame, value, whole)) return "-";
  return grouped(value / whole * kPercent, 1);
}

std::string NumberColumns::row(const views::VisibleNode& row) const {
  std::string line;
  const views::Frame frame = request_.view->frame(row.node);
  for (std::size_t column = 0; column < parts_.size(); ++column) {
    const Part& part = parts_[column];
    const double value =
        views::visible_value(*request_.view, row, request_.columns[part.metric], request_.options.fold_calls);
    const std::string text = aligned(column, cell(part, value, frame));
    const bool additive = request_.columns[part.metric].additive();
    const double share = additive && totals_[part.metric] > 0 ? value / totals_[part.metric] : 0;
    line += screen_.heat(share, text) + kColumnGap;
  }
  return line;
}

}  // namespace culprit::viewer
