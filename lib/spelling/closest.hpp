#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace culprit::spelling {

/// How many letters have to be put in, taken away, replaced or exchanged with their neighbour to make `b` of
/// `a`, regardless of case (the optimal string alignment distance, over bytes).
std::size_t distance(std::string_view a, std::string_view b);

/// The one of `known` that whoever wrote `word` most likely meant: the nearest one, if no more than a third
/// of its letters differ; else the only one that begins like `word`, of three letters or more. Nothing where
/// none is near. Of several equally near ones the first.
std::optional<std::string> closest(std::string_view word, std::span<const std::string> known);

/// `did you mean NAME? ` with the closest one, for the front of an error's parenthesis; empty where none is
/// near.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

/// Why `app` refused a command line, in one line without its tool's name. An option that it does not have is
/// reported with the one of its own that was most likely meant: `--sotr: no such option (did you mean --sort?
/// ...)`. `help` is the command that lists the options, such as `viewer-cli --help`.
std::string explain(const CLI::App& app, const CLI::ParseError& error, const std::string& help);

}  // namespace culprit::spelling
