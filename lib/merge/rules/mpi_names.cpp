// Finds the C name MPI_X behind the names of its bindings and stubs (docs/algorithms.md 1, 5.1), by their
// spelling alone.
#include "merge/rules/mpi_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace culprit::merge {
namespace {

bool strip_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool strip_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

/// MPI's C names are MPI_ and one capital followed by small letters: comm_rank → MPI_Comm_rank.
std::string c_name(std::string_view lower_case_rest) {
  if (lower_case_rest.empty() || std::isalpha(static_cast<unsigned char>(lower_case_rest[0])) == 0) return {};
  std::string name = "MPI_" + std::string(lower_case_rest);
  name[4] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[4])));
  return name;
}

}  // namespace

std::string mpi_name(std::string_view procedure) {
  strip_suffix(procedure, "@plt");
  std::string_view c = procedure;
  strip_prefix(c, "P");
  const bool c_binding = c.starts_with("MPI_") && c.size() > 5 && std::isupper(c[4]) != 0 &&
                         std::islower(static_cast<unsigned char>(c[5])) != 0;
  if (c_binding) strip_suffix(c, "_c");
  const std::string folded = lower(c_binding ? c : procedure);
  std::string_view rest = folded;
  const bool open_mpi = strip_prefix(rest, "ompi_");
  if (!open_mpi && !strip_prefix(rest, "mpi_") && !strip_prefix(rest, "pmpi_") &&
      !strip_prefix(rest, "pmpir_") && !strip_prefix(rest, "mpir_")) {
    return {};
  }
  bool fortran = false;
  constexpr std::array<std::string_view, 7> kFortranSuffixes = {
      "_f08ts_large_", "_f08ts_", "_f08_", "_f08", "_f", "__", "_"};
  for (const std::string_view suffix : kFortranSuffixes) {
    if (strip_suffix(rest, suffix)) {
      fortran = true;
      break;
    }
  }
  // ompi_x and mpir_x are internal functions of the libraries; only their Fortran entry points stand for
  // MPI_X.
  const bool internal = open_mpi || folded.starts_with("mpir_") || folded.starts_with("pmpir_");
  if (internal && !fortran) return {};
  return c_name(rest);
}

}  // namespace culprit::merge
