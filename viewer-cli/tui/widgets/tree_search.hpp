#pragma once

#include "tui/widgets/host.hpp"
#include "tui/widgets/search_prompt.hpp"
#include "views/pattern.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace culprit::viewer::tui {

/// Searching in a tree while the pattern is typed. `Finder` goes through the tree in steps, so that keys come
/// in between; `Place` is where the cursor may be.
template <class Finder, class Place>
class TreeSearch {
 public:
  /// What a tree does for it.
  struct Tree {
    std::function<Finder(const std::string&)> begin;  ///< may throw views::BadPattern
    std::function<Place()> here;                      ///< where the cursor is
    std::function<void(Place)> go_to;
    /// The next (previous) match; from nowhere: the first (last); nowhere: there is none.
    std::function<Place(const Finder&, Place from, bool backwards)> find;
  };

  /// `nowhere`: the place that is none; `step`: so much is gone through at once, a few milliseconds.
  TreeSearch(Host& host, Place nowhere, std::size_t step, Tree tree)
      : host_(host), nowhere_(nowhere), step_(step), tree_(std::move(tree)), began_at_(nowhere) {}

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
    if (finder_->step(step_)) return true;
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
    while (finder_->step(step_)) continue;
    Place found = tree_.find(*finder_, tree_.here(), backwards);
    if (found == nowhere_) {
      found = tree_.find(*finder_, nowhere_, backwards);
      host_.tell(found == nowhere_ ? nothing_matches()
                 : backwards       ? "Top reached: begun again"
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
  void forget_place() { began_at_ = nowhere_; }

  [[nodiscard]] bool searching() const { return finder_ && !finder_->done(); }
  /// Null where nothing is looked for.
  [[nodiscard]] const Finder* finder() const { return finder_ ? &*finder_ : nullptr; }

 private:
  /// To the first match from where the search began, that place included.
  void jump() {
    Place found = nowhere_;
    if (began_at_ != nowhere_ && finder_->matches(began_at_node())) found = began_at_;
    if (found == nowhere_) found = tree_.find(*finder_, began_at_, false);
    if (found == nowhere_) found = tree_.find(*finder_, nowhere_, false);
    if (found == nowhere_) host_.tell(nothing_matches());
    tree_.go_to(found == nowhere_ ? began_at_ : found);
  }
  [[nodiscard]] auto began_at_node() const {
    if constexpr (std::is_pointer_v<Place>) {
      return began_at_->node;
    } else {
      return began_at_;
    }
  }
  [[nodiscard]] std::string nothing_matches() const { return "Nothing matches '" + text_ + "'"; }

  Host& host_;
  Place nowhere_;
  std::size_t step_;
  Tree tree_;
  std::string text_;
  std::optional<Finder> finder_;
  Place began_at_;
  bool wanted_ = false;  ///< to be jumped to when it is found
};

}  // namespace culprit::viewer::tui
