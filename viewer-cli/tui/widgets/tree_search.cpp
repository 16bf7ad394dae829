#include "tui/widgets/tree_search.hpp"

namespace culprit::viewer::tui {

void TreeSearch::ask() {
  began_at_ = tree_.here();
  const auto entered = [this, last = text_](const std::string& text) {
    if (!text.empty()) return arrive();  // the next key is for the match
    look_for(last);
    if (!last.empty()) again(false);
  };
  const auto give_up = [this, at = began_at_] {
    look_for("");
    tree_.go_to(at);
  };
  host_.ask({"/", {}, [this](const std::string& text) { look_for(text); }, entered, give_up});
}

void TreeSearch::look_for(const std::string& pattern) {
  text_ = pattern;
  finder_.reset();
  wanted_ = false;
  if (pattern.empty()) return;
  try {
    finder_.emplace(tree_.begin(pattern));
    wanted_ = true;
  } catch (const views::BadPattern& bad) {
    host_.notify(bad.what());
  }
}

bool TreeSearch::work() {
  if (!wanted_) return false;
  if (finder_->step(kSearchStep)) return true;
  wanted_ = false;
  jump();
  return false;
}

void TreeSearch::again(bool backwards) {
  if (!finder_ && text_.empty()) {
    host_.notify("Nothing to search for yet (/)");
    return;
  }
  if (!finder_) look_for(text_);
  if (!finder_) return;
  wanted_ = false;
  while (finder_->step(kSearchStep)) continue;
  const Item* found = tree_.find(*finder_, tree_.here(), backwards);
  if (found == nullptr) {
    found = tree_.find(*finder_, nullptr, backwards);
    host_.notify(found == nullptr ? nothing_matches()
                 : backwards      ? "Top reached: begun again"
                                  : "End reached: begun again");
  }
  tree_.go_to(found);
}

void TreeSearch::jump() {
  const Item* found = nullptr;
  if (began_at_ != nullptr && finder_->matches(began_at_->node)) found = began_at_;
  if (found == nullptr) found = tree_.find(*finder_, began_at_, false);
  if (found == nullptr) found = tree_.find(*finder_, nullptr, false);
  if (found == nullptr) host_.notify(nothing_matches());
  tree_.go_to(found == nullptr ? began_at_ : found);
}

}  // namespace culprit::viewer::tui
