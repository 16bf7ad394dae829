#pragma once

#include "tui/widgets/host.hpp"
#include "tui/widgets/search_prompt.hpp"
#include "views/outline.hpp"
#include "views/search.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace culprit::viewer::tui {

/// Nodes that are gone through at once: a few milliseconds.
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

  void ask() {
    began_at_ = tree_.here();
    host_.ask(search_prompt(text_, {[this](const std::string& text) { look_for(text); }, [this] { arrive(); },
                                    [this] { again(false); },
                                    [this, at = began_at_] {
                                      look_for("");
                                      tree_.go_to(at);
                                    }}));
  }

  /// Starts to look; work() goes on and jumps to the first match from where the cursor was.
  void look_for(const std::string& pattern) {
    text_ = pattern;
    finder_.reset();
    wanted_ = false;
    if (pattern.empty()) return;
    try {
      finder_.emplace(tree_.begin(pattern));
      wanted_ = true;
    } catch (const views::BadPattern& bad) {
      host_.tell(bad.what());
    }
  }

  /// True: there is more to do.
  bool work() {
    if (!wanted_) return false;
    if (finder_->step(kSearchStep)) return true;
    wanted_ = false;
    jump();
    return false;
  }

  /// At the match, whatever is left to look through.
  void arrive() {
    while (work()) continue;
  }

  void again(bool backwards) {
    if (!finder_ && text_.empty()) {
      host_.tell("Nothing to search for yet (/)");
      return;
    }
    if (!finder_) look_for(text_);
    if (!finder_) return;
    wanted_ = false;
    while (finder_->step(kSearchStep)) continue;
    const Item* found = tree_.find(*finder_, tree_.here(), backwards);
    if (found == nullptr) {
      found = tree_.find(*finder_, nullptr, backwards);
      host_.tell(found == nullptr ? nothing_matches()
                 : backwards      ? "Top reached: begun again"
                                  : "End reached: begun again");
    }
    tree_.go_to(found);
  }

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
  void jump() {
    const Item* found = nullptr;
    if (began_at_ != nullptr && finder_->matches(began_at_->node)) found = began_at_;
    if (found == nullptr) found = tree_.find(*finder_, began_at_, false);
    if (found == nullptr) found = tree_.find(*finder_, nullptr, false);
    if (found == nullptr) host_.tell(nothing_matches());
    tree_.go_to(found == nullptr ? began_at_ : found);
  }
  [[nodiscard]] std::string nothing_matches() const { return "Nothing matches '" + text_ + "'"; }

  Host& host_;
  Tree tree_;
  std::string text_;
  std::optional<views::Search> finder_;
  Item* began_at_ = nullptr;
  bool wanted_ = false;  ///< to be jumped to when it is found
};

}  // namespace culprit::viewer::tui
