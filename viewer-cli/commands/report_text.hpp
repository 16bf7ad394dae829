#pragma once

#include "commands/replayed_savings.hpp"
#include "findings/diagnosis.hpp"
#include "text/screen.hpp"

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace culprit::viewer {

/// Where a part of the report leads, for outputs in which one can go there.
struct ReportPlace {
  enum class Kind : std::uint8_t {
    none,
    context,        ///< `scope`
    flat,           ///< `scope` of the flat tree
    waiting,        ///< the calls, by waiting
    communication,  ///< what MPI calls take, and who sends to whom
    waits,
    causes,
    critical_path,
    segment,  ///< of variation: the `scope`-th one of `rank`
  };
  Kind kind = Kind::none;
  std::uint32_t scope = 0;
  std::int32_t rank = -1;
};

/// A part of a sentence; wrap() breaks it.
struct ReportPart {
  std::string text;
  ReportPlace place = {};
};

struct ReportParagraph {
  enum class Tone : std::uint8_t { verdict, sentence, suspect, quality, warning, gap };
  Tone tone = Tone::sentence;
  std::size_t indent = 0, hanging = 0;
  /// Of a suspect: its name, its work, and what it explains. Of the verdict: what ended the run, where
  /// something did, and the rest.
  std::vector<ReportPart> parts;
};
std::string report_tone_name(ReportParagraph::Tone tone);

/// The diagnosis in plain words. `database` is the name that the user gave, for the commands that it
/// suggests. `without_startup`: figures without MPI_Init and MPI_Finalize. Names are shortened to parts of
/// `width` columns.
std::vector<ReportParagraph> report_paragraphs(const views::Figures& figures, const std::string& database,
                                               bool without_startup, std::size_t width, bool unicode);
/// Where the run has a trace: what balancing the suspects of a sentence together saves, by a replay.
ReplayedSuspects replayed_suspects(const views::Figures& figures, const std::string& database,
                                   bool without_startup);
/// The same as text. `end_told`: the user has just read what ended the run.
void write_report(std::ostream& out, const Screen& screen, const views::Figures& figures,
                  const std::string& database, bool without_startup = false, bool end_told = false);

}  // namespace culprit::viewer
