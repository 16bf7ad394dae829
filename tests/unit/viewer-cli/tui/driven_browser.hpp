#pragma once

#include "browsed_example.hpp"
#include "tui/browser.hpp"
#include "views/source.hpp"

#include <functional>
#include <memory>
#include <string>

namespace culprit::viewer::tui::testing {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The browser on the example, without a terminal: keys go in, screens come out.
class DrivenBrowser {
 public:
  /// `change`: what is different from the example.
  explicit DrivenBrowser(int width = 80, int height = 24, bool unicode = true,
                         const std::function<void(database::Example&)>& change = {});

  /// Types letters; `\n`, `\t`, `\x1b` and `\b` are Enter, Tab, Escape and Backspace.
  void type(const std::string& letters);
  void press(Key key);
  void click(int row, int column);

  /// The screen after everything that takes long is done.
  [[nodiscard]] std::string screen();
  [[nodiscard]] std::string line(int row);
  /// The first line that contains a text; -1: none.
  [[nodiscard]] int row_of(const std::string& text);
  /// What the cursor's line says.
  [[nodiscard]] std::string selected();
  [[nodiscard]] Canvas canvas();

  [[nodiscard]] Browser& browser() { return *browser_; }
  [[nodiscard]] Workspace& workspace() { return *workspace_; }
  [[nodiscard]] const Findings& findings() { return findings_->wait(); }
  [[nodiscard]] const database::Experiment& experiment() const { return example_.experiment; }

 private:
  int width_, height_;
  database::Example example_;
  std::unique_ptr<views::DatabaseSource> source_;
  std::unique_ptr<Workspace> workspace_;
  std::unique_ptr<FindingsTask> findings_;
  std::unique_ptr<Browser> browser_;
};

}  // namespace culprit::viewer::tui::testing
