#include "tree/diff_text.hpp"

#include "findings/quality.hpp"
#include "print/text.hpp"
#include "text/guides.hpp"
#include "text/node_label.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "tree/tree_text.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace culprit::viewer {

namespace {

using database::ContextKind;

constexpr double kNotable = 0.05;          // of the total: a change that is coloured
constexpr std::size_t kCodeListed = 5;     // rows of what changed most itself
constexpr double kLeastListed = 0.01;      // of the total: what such a row needs
constexpr std::size_t kSignedShare = 6;    // `-100.0`
constexpr std::size_t kFormulaDigits = 9;  // four that count, of values from 0.0001 to 10 000 000

/// The columns in front of a tree of changes.
class DiffColumns : public HeadedColumns {
 public:
  DiffColumns(const Screen& screen, const views::Difference& difference, const DiffSetting& setting)
      : screen_(screen), text_(difference, setting.scaling, screen.unicode) {
    const bool formula = difference.column().derived != nullptr;
    const std::size_t digits = formula ? kFormulaDigits : columns(text_.scale().write(text_.whole()));
    const std::string& unit = text_.scale().unit;
    add("change", unit, digits + 1);
    add("%", "", kSignedShare);
    add("before", unit, digits);
    add("after", unit, std::max(digits, kSignedShare));
    add("ratio", "", kSignedShare);
    if (!formula && views::ranks_of(setting.first) != views::ranks_of(setting.second))
      add("loss", "%", kSignedShare);
  }

  [[nodiscard]] const ChangeText& text() const { return text_; }

  [[nodiscard]] std::string row(const views::ComparedScope& scope) const {
    std::string line;
    for (std::size_t column = 0; column < columns_added(); ++column)
      line += aligned(column, text_.write(static_cast<views::Change>(column), scope)) + kColumnGap;
    if (text_.whole() <= 0 || std::abs(scope.change()) < kNotable * text_.whole()) return line;
    return scope.change() > 0 ? screen_.warning(line) : screen_.good(line);
  }

 private:
  const Screen& screen_;
  ChangeText text_;
};

class DiffTree {
 public:
  DiffTree(std::ostream& out, const Screen& screen, const views::Compared& view,
           const DiffColumns& columns_of)
      : out_(out), screen_(screen), view_(view), columns_(columns_of), signs_(guides(screen.unicode)) {}

  void nodes(const std::vector<views::ShownNode>& list, const std::string& before, bool root) {
    const bool chain = list.size() == 1 || root;
    for (std::size_t index = 0; index < list.size(); ++index) {
      const bool last = index + 1 == list.size();
      write(view_.compared(list[index].node), chain ? before : before + (last ? signs_.last : signs_.middle));
      nodes(list[index].children, chain ? before : before + (last ? signs_.nothing : signs_.through), false);
    }
  }

 private:
  void write(const views::ComparedScope& scope, const std::string& before) {
    const std::size_t taken = columns_.width() + columns(before);
    const std::size_t room = std::max(screen_.width > taken ? screen_.width - taken : 0, kShortestName);
    std::string remark;
    const std::vector<std::string> remarks = what_became_of(scope);
    if (!remarks.empty()) remark = '(' + enumerate(remarks) + ')';
    const std::size_t behind = remark.empty() ? 0 : columns(remark + kColumnGap);
    const std::size_t for_name = room > behind + kShortestName ? room - behind : room;
    out_ << columns_.row(scope) << screen_.dim(before)
         << shorten_name(label(scope.frame()), for_name, screen_.unicode);
    if (!remark.empty()) out_ << kColumnGap << screen_.dim(remark);
    out_ << '\n';
  }

  std::ostream& out_;
  const Screen& screen_;
  const views::Compared& view_;
  const DiffColumns& columns_;
  Guides signs_;
};

/// Whose figures are compared, where that is not all: ` of ranks 0-3`.
std::string threads_text(const Invocation& invocation) {
  std::string text;
  const bool several = invocation.ranks.find_first_of(",-") != std::string::npos;
  if (!invocation.ranks.empty()) text += (several ? " of ranks " : " of rank ") + invocation.ranks;
  if (!invocation.role.empty())
    text += (text.empty() ? " of" : ",") + std::string(" threads of role ") + invocation.role;
  return text;
}

void write_heading(std::ostream& out, const Screen& screen, const views::Difference& difference,
                   const DiffSetting& setting, const Invocation& invocation) {
  const double before = difference.total_a();
  const double after = difference.total_b();
  out << "before  " << run_text(print::spelled(invocation.database), setting.first, screen.unicode) << '\n'
      << "after   " << run_text(print::spelled(invocation.other), setting.second, screen.unicode) << '\n';
  const Scale scale =
      scale_for(std::max(std::abs(before), std::abs(after)), difference.column().unit, screen.unicode);
  const auto amount = [&](double value) {
    if (std::isnan(value)) return std::string("no value");
    return keep(scale.write(value) + (scale.unit.empty() ? "" : ' ' + scale.unit));
  };
  std::string text = difference.column().title + threads_text(invocation) + " went from " + amount(before) +
                     " to " + amount(after);
  if (before > 0 && before != after) text += " (" + keep(with_sign(percent((after - before) / before))) + ')';
  const std::uint32_t few = views::ranks_of(setting.first);
  const std::uint32_t many = views::ranks_of(setting.second);
  if (few != many && !difference.column().derived) {
    const bool strong = setting.scaling == views::Scaling::strong;
    text += std::string(". Compared as ") + (strong ? "strong" : "weak") + " scaling (ideal: the same time " +
            (strong ? "summed over all ranks" : "per rank") + "), as ";
    if (invocation.scaling) {
      text += "--scaling asks for";
    } else {
      text += std::string(setting.likely.of_processors ? "the time on processors outside waits is "
                                                       : "the time outside waits is ") +
              grouped(setting.likely.work_ratio, 2) + " times as much on " +
              grouped(static_cast<double>(many) / few, 2) + " times the ranks";
    }
  }
  text += '.';
  if (!difference.column().derived && difference.whole() > 0 && before != after)
    text += " The column % is of the larger total, " + amount(difference.whole()) + '.';
  out << wrap(text, screen.width) << '\n';
  for (const RunNote& note : notes_of(setting))
    out << screen.warning(wrap("Note: " + note.run + ": " + note.text, screen.width, 2)) << '\n';
  out << '\n';
}

/// What a scope changed itself: waits count with all that is inside them.
struct OwnChange {
  std::uint32_t scope = 0;
  double change = 0;
};

std::vector<OwnChange> own_changes(const views::Difference& difference) {
  std::vector<OwnChange> changes;
  for (std::uint32_t number = 0; number < difference.scopes().size(); ++number) {
    const views::ComparedScope& scope = difference.scopes()[number];
    const bool frontier = (scope.flags & database::kFrontier) != 0;
    if (!frontier && (scope.flags & database::kInWait) != 0) continue;
    changes.push_back({number, frontier ? scope.change() : scope.own_b - scope.own_a});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const OwnChange& left, const OwnChange& right) {
    return std::abs(left.change) > std::abs(right.change);
  });
  return changes;
}

/// `loop at a.c:12 in relax in main`, with as many callers.
std::string code_text(const views::Difference& difference, std::uint32_t number, std::size_t callers) {
  const std::vector<views::ComparedScope>& scopes = difference.scopes();
  std::string text = without_parameters(label(scopes[number].frame()));
  for (std::uint32_t at = scopes[number].parent; at != database::kNone && callers > 0;
       at = scopes[at].parent) {
    const ContextKind kind = scopes[at].frame().kind;
    if (kind != ContextKind::procedure && kind != ContextKind::inlined) continue;
    text += " in " + without_parameters(label(scopes[at].frame()));
    --callers;
  }
  return text;
}

/// Loops and calls that wait are named with their caller, others where two have one name; with further
/// callers until they differ.
std::vector<std::string> code_texts(const views::Difference& difference,
                                    const std::vector<OwnChange>& changes) {
  constexpr std::size_t kMostCallers = 4;
  std::vector<std::size_t> callers;
  for (const OwnChange& own : changes) {
    const views::ComparedScope& scope = difference.scopes()[own.scope];
    const bool alone = scope.frame().kind != ContextKind::loop && (scope.flags & database::kFrontier) == 0;
    callers.push_back(alone ? 0 : 1);
  }
  std::vector<std::string> texts(changes.size());
  for (std::size_t round = 0; round <= kMostCallers; ++round) {
    for (std::size_t i = 0; i < texts.size(); ++i)
      texts[i] = code_text(difference, changes[i].scope, callers[i]);
    std::vector<std::size_t> alike;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (std::ranges::count(texts, texts[i]) > 1) alike.push_back(i);
    }
    if (alike.empty()) break;
    for (const std::size_t i : alike) ++callers[i];
  }
  return texts;
}

void write_own_changes(std::ostream& out, const Screen& screen, const views::Difference& difference,
                       const ChangeText& text) {
  if (!difference.column().name.inclusive || difference.column().derived) return;
  constexpr std::size_t kAround = 7;  // columns beside the amount and the code
  std::vector<OwnChange> changes = own_changes(difference);
  if (changes.size() > kCodeListed) changes.resize(kCodeListed);
  std::erase_if(changes,
                [&](const OwnChange& own) { return std::abs(own.change) < kLeastListed * text.whole(); });
  if (changes.empty()) return;
  out << screen.bold("What changed most itself") << '\n';
  const std::vector<std::string> code = code_texts(difference, changes);
  const std::size_t width = columns(text.scale().write(text.whole())) + 1;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    out << "  " << align_right(with_sign(text.scale().write(changes[i].change)), width) << ' '
        << text.scale().unit << "  "
        << shorten_middle(code[i], screen.width - width - kAround, screen.unicode) << '\n';
  }
  out << '\n';
}

}  // namespace

void write_diff(std::ostream& out, const Screen& screen, const views::Compared& view,
                const views::Shown& shown, const DiffSetting& setting, const Invocation& invocation) {
  const views::Difference& difference = view.difference();
  write_heading(out, screen, difference, setting, invocation);
  const DiffColumns columns_of(screen, difference, setting);
  write_own_changes(out, screen, difference, columns_of.text());
  columns_of.write_header(out, screen, "calling context, " + difference.column().title);
  DiffTree(out, screen, view, columns_of).nodes(shown.roots, "", true);
  if (shown.roots.empty()) out << "(nothing to show)\n";
  write_left_out(out, screen, shown,
                 difference.column().derived ? "of less than" : "where nothing changed by",
                 invocation.min_percent.value_or(1));
}

using database::ContextKind;

std::string with_sign(const std::string& number) {
  return number.starts_with('-') ? number : '+' + number;
}

ChangeText::ChangeText(const views::Difference& difference, views::Scaling scaling, bool unicode)
    : difference_(difference),
      scaling_(scaling),
      whole_(difference.column().derived ? 0 : difference.whole()),
      scale_(scale_for(whole_, difference.column().unit, unicode)) {}

std::string ChangeText::write(views::Change which, const views::ComparedScope& scope) const {
  constexpr double kDust = 1e-9;  // of the whole: what sums of sums leave where a run has no such scope
  constexpr double kLeastShare = 0.0005;  // 0.1 % when rounded
  constexpr double kLargestRatio = 1000;  // larger ones say no more
  const auto amount = [&](double value) {
    if (std::isnan(value)) return std::string("n/a");
    return std::abs(value) <= whole_ * kDust ? "" : scale_.write(value);
  };
  const auto share = [](double value) {
    return std::abs(value) >= kLeastShare ? with_sign(grouped(value * kPercent, 1)) : "";
  };
  switch (which) {
    case views::Change::change: {
      const std::string text = scale_.write(scope.change());
      return text.find_first_of("123456789") == std::string::npos ? "" : with_sign(text);
    }
    case views::Change::percent:
      return whole_ > 0 ? share(scope.change() / whole_) : "";
    case views::Change::before:
      return amount(scope.a);
    case views::Change::after:
      return amount(scope.b);
    case views::Change::ratio: {
      const std::optional<double> ratio = views::Difference::ratio(scope);
      const bool says_much = ratio && *ratio < kLargestRatio && std::abs(scope.a) > whole_ * kDust;
      return says_much ? grouped(*ratio, 2) : "";
    }
    case views::Change::loss:
      break;
  }
  return share(difference_.scaling_loss(scope, scaling_).value_or(0));
}

std::vector<RunNote> notes_of(const DiffSetting& setting) {
  std::vector<RunNote> notes;
  for (const auto& [run, experiment] :
       {std::pair("before", &setting.first), std::pair("after", &setting.second)}) {
    if (std::string text = cut_short_text(*experiment); !text.empty())
      notes.push_back({run, std::move(text)});
  }
  return notes;
}

std::vector<std::string> what_became_of(const views::ComparedScope& scope) {
  std::vector<std::string> remarks;
  if (!scope.frame_a) {
    remarks.emplace_back("new");
  } else if (!scope.frame_b) {
    remarks.emplace_back("gone");
  } else {
    const std::string before = without_parameters(label(*scope.frame_a));
    if (scope.frame().kind != ContextKind::loop && before != without_parameters(label(*scope.frame_b)))
      remarks.push_back("was " + before);
    const bool inlined = scope.frame_b->kind == ContextKind::inlined;
    if (inlined != (scope.frame_a->kind == ContextKind::inlined))
      remarks.emplace_back(inlined ? "now inlined" : "no longer inlined");
  }
  return remarks;
}

std::string run_text(const std::string& name, const database::Contents& experiment, bool unicode) {
  const double seconds = seconds_of(experiment.run.duration_ns);
  return name + ": " +
         (experiment.run.ranks > 0 ? counted(experiment.run.ranks, "rank") : std::string("no rank")) + ", " +
         duration(seconds, unicode);
}

}  // namespace culprit::viewer
