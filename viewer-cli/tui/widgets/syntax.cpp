#include "tui/widgets/syntax.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <string_view>

#include <boost/shared_ptr.hpp>
#include <srchilite/formatter.h>
#include <srchilite/formattermanager.h>
#include <srchilite/formatterparams.h>
#include <srchilite/langdefmanager.h>
#include <srchilite/langmap.h>
#include <srchilite/regexrulefactory.h>
#include <srchilite/settings.h>
#include <srchilite/sourcehighlighter.h>

namespace culprit::viewer::tui {
namespace {

/// The library's names of what it distinguishes.
constexpr std::array kElements = {
    std::pair{"keyword", Tone::code_word},      std::pair{"type", Tone::code_type},
    std::pair{"usertype", Tone::code_type},     std::pair{"classname", Tone::code_type},
    std::pair{"string", Tone::code_text},       std::pair{"regexp", Tone::code_text},
    std::pair{"specialchar", Tone::code_text},  std::pair{"number", Tone::code_number},
    std::pair{"comment", Tone::code_comment},   std::pair{"todo", Tone::code_comment},
    std::pair{"preproc", Tone::code_directive}, std::pair{"label", Tone::code_directive},
};

/// Notes where text of one kind stands.
class Noted final : public srchilite::Formatter {
 public:
  Noted(Tones& tones, Tone tone) : tones_(tones), tone_(tone) {}
  void format(const std::string& text, const srchilite::FormatterParams* where) override {
    if (where == nullptr || where->start < 0) return;
    const auto begin = static_cast<std::size_t>(where->start);
    tones_.emplace_back(begin, tone_);
    tones_.emplace_back(begin + text.size(), Tone::plain);
  }

 private:
  Tones& tones_;
  Tone tone_;
};

/// Endings of names that the library's own table leaves out.
std::string language_of(const std::string& file) {
  const std::size_t dot = file.rfind('.');
  std::string ending = dot == std::string::npos ? "" : file.substr(dot + 1);
  constexpr std::array<std::string_view, 10> fortran = {"f",   "F",   "f77", "F77", "f90",
                                                        "F90", "f95", "F95", "f03", "F03"};
  if (std::find(fortran.begin(), fortran.end(), ending) != fortran.end()) return "fortran.lang";
  constexpr std::array<std::string_view, 7> cpp = {"cu", "cuh", "ipp", "tpp", "inl", "hxx", "tcc"};
  if (std::find(cpp.begin(), cpp.end(), ending) != cpp.end()) return "cpp.lang";
  srchilite::LangMap map(srchilite::Settings::retrieveDataDir(), "lang.map");
  return map.getMappedFileNameFromFileName(file);
}

}  // namespace

struct Syntax::State {
  Tones tones;
  srchilite::RegexRuleFactory rules;
  srchilite::LangDefManager languages{&rules};
  srchilite::FormatterManager formatters{
      boost::shared_ptr<srchilite::Formatter>(new Noted(tones, Tone::plain))};
  srchilite::FormatterParams params;
  std::unique_ptr<srchilite::SourceHighlighter> highlighter;

  void start(const std::string& file) {
    for (const auto& [element, tone] : kElements)
      formatters.addFormatter(element, boost::shared_ptr<srchilite::Formatter>(new Noted(tones, tone)));
    const std::string language = language_of(file);
    if (language.empty()) return;
    highlighter = std::make_unique<srchilite::SourceHighlighter>(
        languages.getHighlightState(srchilite::Settings::retrieveDataDir(), language));
    highlighter->setFormatterManager(&formatters);
    highlighter->setFormatterParams(&params);
    highlighter->setOptimize(false);
  }
};

Syntax::Syntax(const std::string& file) : state_(std::make_unique<State>()) {
  try {
    state_->start(file);
  } catch (const std::exception&) {
    state_->highlighter.reset();  // its descriptions of languages are not installed: plain text
  }
}

Syntax::~Syntax() = default;

Tones Syntax::next(const std::string& line) {
  constexpr std::size_t kLongest = 2000;  // generated code; matching expressions against it takes too long
  if (!state_->highlighter || line.size() > kLongest) return {};
  state_->tones.clear();
  try {
    state_->highlighter->highlightParagraph(line);
  } catch (const std::exception&) {
    state_->highlighter.reset();
    return {};
  }
  return state_->tones;
}

}  // namespace culprit::viewer::tui
