#pragma once

#include "blame/blame.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace culprit::merge {

struct Options {
  std::filesystem::path measurement;                                ///< the directory
  std::filesystem::path output;                                     ///< the database file
  bool force = false;                                               ///< replace an existing database
  std::vector<std::pair<std::string, std::string>> replace_prefix;  ///< source paths, first match wins
  std::filesystem::path idle_rules;                                 ///< empty: the built-in rules
  blame::Options blame;
  bool loops = true;
  bool sources = true;                    ///< copy sources into the database
  std::filesystem::path structure_cache;  ///< where recovered structure is kept for later; empty: nowhere
  std::vector<std::string> segments;      ///< further procedures whose variation over time is wanted
  bool dry_run = false;
};

}  // namespace culprit::merge
