#include "text/node_label.hpp"

#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "views/joining.hpp"

#include <algorithm>

namespace culprit::viewer {
namespace {

using database::ContextKind;

constexpr std::size_t kLeastOfAlike = 8;    // what a name keeps beside a remark that must stay
constexpr std::size_t kEnoughForName = 32;  // a longer name may lose its middle to keep its remark

/// Where a node is called, or defined, or which module it is in.
std::vector<std::string> places_of(const views::View& view, const views::VisibleNode& row,
                                   const std::string& arrow) {
  const views::Frame frame = view.frame(row.node);
  const std::string where = place(frame);
  if (frame.kind == ContextKind::inlined) {
    if (where.empty()) return {"(inlined)"};
    return {"(inlined, " + where + ')', "(inlined)"};
  }
  const std::string module(views::base_name(frame.module));
  // Each load module may have one of these.
  const bool unknown_file = frame.kind == ContextKind::file && frame.file.empty() && frame.name.empty();
  if (unknown_file && !module.empty()) return {module};
  if (frame.kind != ContextKind::procedure && frame.kind != ContextKind::region) return {};
  if (row.call) {
    const std::string site = place(view.frame(*row.call));
    if (!site.empty()) return {arrow + site};
  }
  if (!where.empty()) return {where};
  if (module.empty() || views::is_named_for_module(frame)) return {};
  return {module};
}

/// The end of a text in at most `width` columns: of a place, its line.
std::string end_of(const std::string& text, std::size_t width, bool unicode) {
  if (columns(text) <= width) return text;
  const std::string gap = unicode ? "…" : "...";
  std::size_t at = text.size();
  for (std::size_t kept = columns(gap); kept < width && at > 0; ++kept) {
    --at;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U) --at;  // within a code point
  }
  return gap + text.substr(at);
}

}  // namespace

std::string row_label(const views::View& view, const views::VisibleNode& row) {
  if (!row.fold) return label(view.frame(row.node));
  if (row.fold->unsampled.empty())
    return label(view.frame(row.node)) +
           (row.fold->loops > 0 ? ", " + std::to_string(row.fold->loops) + " deep" : "");
  std::vector<std::pair<std::string, std::size_t>> names;  // as they come
  for (const views::VisibleNode& each : row.fold->unsampled) {
    const std::string name = without_parameters(label(view.frame(each.node)));
    const auto known =
        std::find_if(names.begin(), names.end(), [&](const auto& one) { return one.first == name; });
    if (known == names.end()) {
      names.emplace_back(name, 1);
    } else {
      ++known->second;
    }
  }
  std::stable_sort(names.begin(), names.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [name, times] : names) {
    if (!text.empty()) text += ", ";
    if (times > 1) text.append(std::to_string(times)).append(1, ' ');
    text += name;
  }
  return text;
}

std::vector<std::string> remarks_of(const views::View& view, const views::VisibleNode& row,
                                    const std::string& arrow) {
  if (row.fold && !row.fold->unsampled.empty()) return {"too short to sample"};
  std::vector<std::string> remarks = places_of(view, row, arrow);
  if (!row.fold || row.fold->recursion == 0) return remarks;
  const std::string folded = "recursion, " + counted(row.fold->recursion, "level");
  for (std::string& remark : remarks) remark.insert(0, folded + "  ");
  remarks.push_back(folded);
  return remarks;
}

std::string_view folded_library(const views::View& view, const views::VisibleNode& row) {
  if (!row.fold || !row.fold->library) return {};
  const views::Frame frame = view.frame(row.node);
  const bool python = frame.module == database::kPythonModule || views::is_interpreter(frame);
  return python ? "Python's interpreter" : "std::";
}

std::string folded_phrase(const views::View& view, const views::VisibleNode& row) {
  if (const std::string_view library = folded_library(view, row); !library.empty())
    return std::string(library) + " folded (u)";
  return row.fold && row.fold->recursion > 0 ? "recursion folded (u)" : "";
}

std::string_view name_among_siblings(const views::View& view, const views::VisibleNode& row) {
  if (row.fold && !row.fold->unsampled.empty()) return {};
  const views::Frame frame = view.frame(row.node);
  return views::is_procedure(frame.kind) ? frame.name : std::string_view();
}

FittedLabel fit_label(const std::string& name, const std::vector<std::string>& remarks, std::size_t room,
                      bool unicode, bool alike) {
  const std::string plain = without_parameters(name);
  for (const std::string& remark : remarks) {
    if (alike && &remark != &remarks.front()) break;  // the others do not say where
    const std::size_t taken = columns(remark) + 2;
    if (room < taken + kShortestName) continue;
    const std::size_t left = room - taken;
    if (columns(plain) <= left || left >= kEnoughForName) return {shorten_name(name, left, unicode), remark};
  }
  const std::size_t all = std::max(room, kShortestName);
  if (!alike || remarks.empty()) return {shorten_name(name, all, unicode), {}};
  const std::size_t for_name = std::min(columns(plain), kLeastOfAlike);
  const std::string remark = end_of(remarks.front(), all - for_name - 2, unicode);
  return {shorten_name(name, all - columns(remark) - 2, unicode), remark};
}

}  // namespace culprit::viewer
