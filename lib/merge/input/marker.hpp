#pragma once

#include <filesystem>
#include <string>

namespace culprit::merge {

/// The run that the marker of a measurement directory names; empty where there is none that can be read.
std::string marked_run(const std::filesystem::path& directory);

/// What is wrong with the marker of the directory where `run` is merged: file: why (what to do). Empty where
/// nothing is.
std::string marker_problem(const std::filesystem::path& directory, const std::string& run);

}  // namespace culprit::merge
