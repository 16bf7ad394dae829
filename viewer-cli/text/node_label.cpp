#include "text/node_label.hpp"

#include "text/shorten.hpp"

#include <algorithm>

namespace culprit::viewer {
namespace {

using database::ContextKind;

constexpr std::size_t kEnoughForName = 32;  // a longer name may lose its middle to keep its remark

}  // namespace

std::vector<std::string> remarks_of(const views::View& view, views::NodeId node,
                                    std::optional<views::NodeId> call, const std::string& arrow) {
  const views::Frame frame = view.frame(node);
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
  if (call) {
    const std::string site = place(view.frame(*call));
    if (!site.empty()) return {arrow + site};
  }
  if (!where.empty()) return {where};
  if (module.empty() || views::is_named_for_module(frame)) return {};
  return {module};
}

FittedLabel fit_label(const std::string& name, const std::vector<std::string>& remarks, std::size_t room,
                      bool unicode) {
  const std::string plain = without_parameters(name);
  for (const std::string& remark : remarks) {
    const std::size_t taken = columns(remark) + 2;
    if (room < taken + kShortestName) continue;
    const std::size_t left = room - taken;
    if (columns(plain) <= left || left >= kEnoughForName) return {shorten_name(name, left, unicode), remark};
  }
  return {shorten_name(name, std::max(room, kShortestName), unicode), {}};
}

}  // namespace culprit::viewer
