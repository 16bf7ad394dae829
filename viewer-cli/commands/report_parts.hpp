#pragma once

#include "commands/report_writer.hpp"
#include "findings/suspect_names.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

// Parts of the report that are files of their own.
namespace culprit::viewer {

/// Of the idleness, or of the time: what less takes is not listed.
inline constexpr double kWorthListing = 0.05;

/// Who waited for whom most, why, and what the run's length depends on. Nothing where no rank waited.
/// `without_startup`: the longest wait is none in MPI_Init or MPI_Finalize.
void write_time_lines(const views::Figures& figures, bool without_startup, ReportWriter& out);

/// Where waiting is blamed, and on whom: the paragraphs on blamed contexts and their suspects
/// (docs/blame.md). What it is made of must outlive it.
class BlameParagraphs {
 public:
  struct Of {
    const views::Figures& figures;
    const std::string& database;  ///< as the user named it
    const Diagnosis& diagnosis;
    double no_processor_s = 0;          ///< waited without a processor, and for no late rank
    double perhaps_no_processor_s = 0;  ///< or perhaps for late ones
    const ReplayedSuspects& replayed;
  };
  BlameParagraphs(const Of& of, ReportWriter& out);

  /// `apart`: the first paragraph, too, is set off from what comes before. `thread_causes_named`: that says
  /// who makes threads of a process idle.
  void write(bool apart, bool thread_causes_named);
  /// After that: suspects that were said to save something together.
  [[nodiscard]] const std::vector<SuspectGroup>& groups() const { return groups_; }

 private:
  /// A suspect with what it explains here.
  struct Listed {
    SuspectFacts facts;
    double explains_s = 0;
  };

  void blame(const Blamed& blamed, bool first);
  [[nodiscard]] std::string name_of_place(const Blamed& blamed) const;
  [[nodiscard]] std::string call_in(const Blamed& blamed) const;
  [[nodiscard]] std::string how_much_happens(const Blamed& blamed, bool first) const;
  [[nodiscard]] bool is_named_already(const Blamed& blamed) const;
  void suspects(const Blamed& blamed);
  [[nodiscard]] double lacked_processors(const Blamed& blamed) const;
  [[nodiscard]] std::string unexplained_without_processor(bool some_explained, bool alone, double left_s,
                                                          double lacked_s) const;
  [[nodiscard]] std::string explained(const Listed& listed) const;
  void suspect_lines(const std::vector<Listed>& here);
  void worth(const std::vector<Listed>& here, const Blamed& blamed);
  [[nodiscard]] std::string which_of(const std::vector<Listed>& some, std::size_t listed) const;
  /// A suspect's name, leading to its code.
  [[nodiscard]] std::string linked(const database::Suspect& suspect) const;
  std::optional<ReplayedSaving> replayed_saving(const std::vector<Listed>& here, std::uint32_t role);
  void cpu(const SuspectFacts& facts, bool several);
  [[nodiscard]] bool is_of_ranks(std::uint32_t role) const;
  [[nodiscard]] const char* counted_by(std::uint32_t role) const {
    return is_of_ranks(role) ? "ranks" : "threads";
  }

  Of of_;
  const database::Contents& experiment_;
  ReportWriter& out_;
  std::vector<std::string> names_;  // of all suspects
  bool thread_causes_named_ = false;
  std::vector<SuspectGroup> groups_;
  std::set<const database::Suspect*> listed_;  // that were named
  std::set<std::uint32_t> said_why_none_;      // roles, of which a blamed context had no suspect
};

}  // namespace culprit::viewer
