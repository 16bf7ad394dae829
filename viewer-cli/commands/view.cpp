#include "commands/view.hpp"

#include "request/view_request.hpp"
#include "tree/tree_text.hpp"
#include "tree/view_json.hpp"

namespace culprit::viewer {

void run_view(std::ostream& out, const Screen& screen, const views::Source& source,
              const Invocation& invocation) {
  const ViewRequest request = make_view_request(source, invocation);
  views::Shown shown;
  try {
    shown = views::show(*request.view, request.options, whole_of(request));
  } catch (const views::BadFocus& bad) {
    throw UsageError("--focus: " + std::string(bad.what()));
  }
  switch (invocation.format) {
    case Format::text:
      write_tree(out, screen, request, shown, invocation.ids);
      break;
    case Format::json:
      write_view_json(out, request, shown);
      break;
    case Format::csv:
      write_view_csv(out, request, shown);
      break;
  }
}

}  // namespace culprit::viewer
