#pragma once

#include "views/visible.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::viewer {

inline constexpr std::size_t kShortestName = 16;  ///< columns that a name keeps however deep it stands

/// What a row is called: its node's label; of rows that no sample met `31 MPI_Isend, 2 MPI_Irecv`.
std::string row_label(const views::View& view, const views::VisibleNode& row);

/// What may stand behind a row's name, in a dimmer tone, the longest first: what it folds, where it is
/// called, or defined, or which module it is in.
std::vector<std::string> remarks_of(const views::View& view, const views::VisibleNode& row,
                                    const std::string& arrow);

/// The library whose insides a row folds: `std::`, or Python's interpreter; empty where it folds none.
std::string_view folded_library(const views::View& view, const views::VisibleNode& row);

/// What a row folds that has rows of its own on demand: `recursion folded (u)`; empty where that is nothing.
std::string folded_phrase(const views::View& view, const views::VisibleNode& row);

struct FittedLabel {
  std::string name, remark;
};

/// A name and its remark, fitted into one line of `room` columns: parameters and template arguments go before
/// the remark does, the remark before the name loses its middle. `alike`: a sibling has the same name, which
/// the remark distinguishes: it stays, shortened where it must be.
FittedLabel fit_label(const std::string& name, const std::vector<std::string>& remarks, std::size_t room,
                      bool unicode, bool alike = false);

/// By what fit_label() takes siblings as alike: empty for what has no name of its own.
std::string_view name_among_siblings(const views::View& view, const views::VisibleNode& row);

}  // namespace culprit::viewer
