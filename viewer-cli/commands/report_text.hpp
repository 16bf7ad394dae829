#pragma once

#include "findings/diagnosis.hpp"
#include "text/screen.hpp"

#include <ostream>
#include <string>

namespace culprit::viewer {

/// The diagnosis in plain words. `database` is the name that the user gave, for the commands that it
/// suggests.
void write_report(std::ostream& out, const Screen& screen, const views::Figures& figures,
                  const std::string& database);

}  // namespace culprit::viewer
