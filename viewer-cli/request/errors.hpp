#pragma once

#include <stdexcept>

// How a command ends that cannot be done.
namespace culprit::viewer {

/// Wrong usage: exit status 2. what() is the line to print, without the tool's name.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A command cannot be done on this database: exit status 1. what() is `what: object: why (what to do)`.
class CommandError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace culprit::viewer
