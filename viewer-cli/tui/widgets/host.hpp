#pragma once

#include "tui/widgets/page.hpp"

#include <functional>
#include <string>
#include <vector>

namespace culprit::viewer::tui {

/// A line that the user is asked for.
struct Prompt {
  std::string label;
  std::string text;                               ///< to start with
  std::function<void(const std::string&)> typed;  ///< after every change; may be empty
  std::function<void(const std::string&)> entered;
  std::function<void()> left;  ///< given up; may be empty
};

/// Something to choose from.
struct Menu {
  struct Entry {
    std::string text, remark;
    bool checked = false;
  };
  std::string title;
  std::vector<Entry> entries;
  bool several = false;  ///< Space checks and unchecks, Enter takes what is checked
  int cursor = 0;
  std::function<void(std::size_t)> chosen;              ///< one of them
  std::function<void(const std::vector<bool>&)> taken;  ///< where `several`
};

/// What a pane may ask of the browser around it.
class Host {
 public:
  virtual ~Host() = default;

  virtual void go(const Target& target) = 0;
  /// To the pane called `name`.
  virtual void switch_to(const std::string& name) = 0;
  /// A line at the bottom until the next key.
  virtual void notify(const std::string& text) = 0;
  virtual void ask(Prompt prompt) = 0;
  virtual void choose(Menu menu) = 0;
  /// Above everything until a key is pressed.
  virtual void show(const std::string& title, Page page) = 0;
  /// The figures (columns, selection of ranks) changed: every pane forms its own anew.
  virtual void figures_changed() = 0;
};

}  // namespace culprit::viewer::tui
