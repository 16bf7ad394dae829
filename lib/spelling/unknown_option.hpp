#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace culprit::spelling {

/// Why `app` refused a command line, in one line without its tool's name. An option that it does not have is
/// reported with the one of its own that was most likely meant: `--sotr: no such option (did you mean --sort?
/// ...)`. `help` is the command that lists the options, such as `viewer-cli --help`.
std::string explain(const CLI::App& app, const CLI::ParseError& error, const std::string& help);

}  // namespace culprit::spelling
