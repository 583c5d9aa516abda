#include "core/llama/prompt/dialog_texts.h"

#include <json.h>

#include <algorithm>
#include <stdexcept>
#include <variant>

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

using Change = std::function<std::string(std::string_view)>;

common_json Changed(const common_json& value, const Change& change, bool& has_changed) {
  const auto changed = [&](const std::string& text) {
    auto result = change(text);
    has_changed = has_changed || result != text;
    return result;
  };
  if (value.is_string()) return common_json::make(changed(value.get<std::string>()));
  if (value.is_array()) {
    auto array = common_json::array();
    for (const auto& item : value) array.push_back(Changed(item, change, has_changed));
    return array;
  }
  if (value.is_object()) {
    auto object = common_json::object();
    for (const auto& [key, member] : value.items()) object[changed(key)] = Changed(member, change, has_changed);
    return object;
  }
  return value;
}

// Changes each string of a JSON text, names of members included. Returns the text as it is when no string changes.
std::string ChangeStrings(const std::string& json, const Change& change) {
  try {
    bool has_changed = false;
    const auto result = Changed(common_json::parse(json), change, has_changed);
    return has_changed ? result.dump() : json;
  } catch (const common_json_error& error) {
    throw std::invalid_argument(error.what());
  }
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
