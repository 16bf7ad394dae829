#pragma once

#include "findings/diagnosis.hpp"
#include "text/screen.hpp"

#include <ostream>
#include <string>

namespace culprit::viewer {

/// The diagnosis in plain words. `database` is the name that the user gave, for the commands that it
/// suggests. `without_startup`: figures without MPI_Init and MPI_Finalize.
void write_report(std::ostream& out, const Screen& screen, const views::Figures& figures,
                  const std::string& database, bool without_startup = false);

}  // namespace culprit::viewer
