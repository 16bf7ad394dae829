#pragma once

#include "tui/widgets/host.hpp"
#include "views/outline.hpp"
#include "views/search.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace culprit::viewer::tui {

/// Nodes that a search goes through at once: a few milliseconds.
inline constexpr std::size_t kSearchStep = 40'000;

/// Searching in a tree while the pattern is typed: in steps, so that keys come in between.
class TreeSearch {
 public:
  using Item = views::Outline::Item;

  /// What a tree does for it.
  struct Tree {
    std::function<views::Search(const std::string&)> begin;  ///< may throw views::BadPattern
    std::function<Item*()> here;                             ///< where the cursor is
    std::function<void(const Item*)> go_to;
    /// As Outline::find.
    std::function<Item*(const views::Search&, Item* from, bool backwards)> find;
  };

  TreeSearch(Host& host, Tree tree) : host_(host), tree_(std::move(tree)) {}

  /// Asks for a pattern as less does: it is looked for while it is typed; nothing typed means the last again.
  void ask();

  /// Starts to look; work() goes on and jumps to the first match from where the cursor was.
  void look_for(const std::string& pattern);

  /// True: there is more to do.
  bool work();

  /// At the match, whatever is left to look through.
  void arrive() {
    while (work()) continue;
  }

  void again(bool backwards);

  /// The tree is another one now: what was found is void, the text stays.
  void forget() {
    finder_.reset();
    wanted_ = false;
    forget_place();
  }
  /// Where the search began is no more.
  void forget_place() { began_at_ = nullptr; }

  [[nodiscard]] bool searching() const { return finder_ && !finder_->done(); }
  /// Null where nothing is looked for.
  [[nodiscard]] const views::Search* finder() const { return finder_ ? &*finder_ : nullptr; }

 private:
  /// To the first match from where the search began, that place included.
  void jump();
  [[nodiscard]] std::string nothing_matches() const { return "Nothing matches '" + text_ + "'"; }

  Host& host_;
  Tree tree_;
  std::string text_;
  std::optional<views::Search> finder_;
  Item* began_at_ = nullptr;
  bool wanted_ = false;  ///< to be jumped to when it is found
};

}  // namespace culprit::viewer::tui
