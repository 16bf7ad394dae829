#pragma once

#include "tui/pages/finding_pages.hpp"
#include "tui/panes/pane.hpp"
#include "tui/widgets/host.hpp"
#include "tui/widgets/page.hpp"

namespace culprit::viewer::tui {

/// A page with links: the start screen, or all analyses side by side.
class FindingsPane final : public Pane {
 public:
  enum class Shows : std::uint8_t { start, analyses };

  FindingsPane(Workspace& workspace, Host& host, FindingsTask& task, Shows shows);

  [[nodiscard]] std::string name() const override { return shows_ == Shows::start ? "Start" : "Findings"; }
  bool handle(const Event& event) override;
  void draw(Canvas& canvas, const Area& area) override;
  [[nodiscard]] std::vector<Hint> hints() const override;
  [[nodiscard]] std::string status() const override;
  bool work() override;
  [[nodiscard]] std::string path() const override;
  [[nodiscard]] bool has_table() const override {
    return shows_ == Shows::analyses && task_.ready() != nullptr;
  }
  [[nodiscard]] std::string csv() const override;
  [[nodiscard]] std::string topic() const override;

  void choose(Finding finding);
  [[nodiscard]] Finding finding() const { return finding_; }

 private:
  bool click(const Event& event);
  bool ask_search(const Event& event);
  void find(bool backwards);
  void follow(const PageLine* line);
  void make_page(int width);
  [[nodiscard]] bool lists_ranks() const { return shows_ == Shows::analyses && has_ranks(finding_); }
  int draw_names(Canvas& canvas, const Area& area);

  Workspace& workspace_;
  Host& host_;
  FindingsTask& task_;
  Shows shows_;
  Finding finding_ = Finding::blame;
  bool by_rank_ = false;  ///< rank by rank, where has_ranks()
  PageView view_;
  int made_for_ = -1;  ///< the width that the page was made for; -1: it was not
  std::string searched_;
  Area names_;
};

}  // namespace culprit::viewer::tui
