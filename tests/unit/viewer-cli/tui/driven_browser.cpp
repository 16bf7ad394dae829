#include "driven_browser.hpp"

#include <filesystem>

#include <unistd.h>

namespace culprit::viewer::tui::testing {

DrivenBrowser::DrivenBrowser(int width, int height, bool unicode,
                             const std::function<void(database::Example&)>& change)
    : width_(width), height_(height), example_(make_browsed_example()) {
  if (change) change(example_);
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("browsed-" + std::to_string(::getpid()) + ".db");
  database::write_example(example_, path);
  source_ = std::make_unique<views::DatabaseSource>(path);
  std::filesystem::remove(path);  // it stays mapped
  workspace_ = std::make_unique<Workspace>(*source_, path.string(), unicode);
  findings_ = std::make_unique<FindingsTask>(*source_, std::string(), unicode);
  findings_->wait();
  browser_ = std::make_unique<Browser>(*workspace_, *findings_);
}

void DrivenBrowser::press(Key key) {
  browser_->handle({key, 0, 0, 0, 0});
  while (browser_->work()) continue;
}

void DrivenBrowser::click(int row, int column) {
  (void)canvas();  // what is clicked at was seen before
  browser_->handle({Key::click, 0, 0, row, column});
  while (browser_->work()) continue;
}

void DrivenBrowser::type(const std::string& letters) {
  for (const char32_t letter : decode(letters)) {
    switch (letter) {
      case U'\n':
        press(Key::enter);
        break;
      case U'\t':
        press(Key::tab);
        break;
      case U'\x1b':
        press(Key::escape);
        break;
      case U'\b':
        press(Key::backspace);
        break;
      default:
        browser_->handle({Key::letter, letter, 0, 0, 0});
        while (browser_->work()) continue;
    }
  }
}

Canvas DrivenBrowser::canvas() {
  Canvas first(height_, width_);
  browser_->draw(first);  // tells the panes their sizes
  while (browser_->work()) continue;
  Canvas drawn(height_, width_);
  browser_->draw(drawn);
  return drawn;
}

std::string DrivenBrowser::screen() {
  const Canvas drawn = canvas();
  std::string text;
  for (int row = 0; row < height_; ++row) text += drawn.line(row) + '\n';
  return text;
}

std::string DrivenBrowser::line(int row) {
  return canvas().line(row);
}

int DrivenBrowser::row_of(const std::string& text) {
  const Canvas drawn = canvas();
  for (int row = 0; row < height_; ++row) {
    if (drawn.line(row).find(text) != std::string::npos) return row;
  }
  return -1;
}

std::string DrivenBrowser::selected() {
  const Canvas drawn = canvas();
  for (int row = 1; row < height_ - 1; ++row) {
    if (drawn.at(row, 0).selected) return drawn.line(row);
  }
  return {};
}

}  // namespace culprit::viewer::tui::testing
