#pragma once

#include "views/view.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace culprit::viewer {

inline constexpr std::size_t kShortestName = 16;  ///< columns that a name keeps however deep it stands

/// What may stand behind a node's name, in a dimmer tone, the longest first: where it is called, or defined,
/// or which module it is in. `call`: the site that is folded into its line.
std::vector<std::string> remarks_of(const views::View& view, views::NodeId node,
                                    std::optional<views::NodeId> call, const std::string& arrow);

struct FittedLabel {
  std::string name, remark;
};

/// A name and its remark, fitted into one line of `room` columns: parameters and template arguments go before
/// the remark does, the remark before the name loses its middle.
FittedLabel fit_label(const std::string& name, const std::vector<std::string>& remarks, std::size_t room,
                      bool unicode);

}  // namespace culprit::viewer
