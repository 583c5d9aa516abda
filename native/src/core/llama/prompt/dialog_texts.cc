#include "core/llama/prompt/dialog_texts.h"

#include <algorithm>
#include <variant>

#include "core/llama/prompt/json_strings.h"

namespace aana::llama {
namespace {

// Calls `plain` and `json` with each text of a dialog.
template <class AnyDialog, class Plain, class Json>
void ForEachText(AnyDialog& dialog, Plain plain, Json json) {
  plain(dialog.prefix);
  for (auto& message : dialog.messages) {
    for (auto* text : {&message.content, &message.reasoning, &message.name, &message.tool_call_id}) plain(*text);
    for (auto& part : message.parts) {
      if (!part.media) plain(part.text);
    }
    for (auto& call : message.tool_calls) {
      plain(call.id);
      plain(call.name);
      json(call.arguments);
    }
  }
  for (auto& tool : dialog.tools) {
    plain(tool.name);
    plain(tool.description);
    json(tool.parameters);
  }
  for (auto& [name, value] : dialog.template_arguments) json(value);
}

}  // namespace

std::vector<std::string_view> TextsOf(const Dialog& dialog) {
  std::vector<std::string_view> texts;
  const auto add = [&](const std::string& text) {
    if (!text.empty()) texts.push_back(text);
  };
  ForEachText(dialog, add, add);
  return texts;
}

bool HasMedia(const Prompt& prompt) {
  const auto* dialog = std::get_if<Dialog>(&prompt);
  return dialog &&
         std::ranges::any_of(dialog->messages, [](const ChatMessage& message) { return !message.parts.empty(); });
}

Dialog WithTexts(Dialog dialog, const std::function<std::string(std::string_view)>& change) {
  ForEachText(
      dialog, [&](std::string& text) { text = change(text); },
      [&](std::string& text) { text = ChangeStrings(text, change); });
  return dialog;
}

}  // namespace aana::llama
