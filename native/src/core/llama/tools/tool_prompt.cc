#include "core/llama/tools/tool_prompt.h"

#include <json.h>

#include <utility>

namespace aana::llama {
namespace {

std::string Describe(const Tool& tool) {
  common_json described{{"name", tool.name}};
  if (!tool.description.empty()) described["description"] = tool.description;
  described["parameters"] = common_json::parse(tool.parameters);
  return described.dump();
}

std::string Instructions(const std::vector<Tool>& tools) {
  std::string text = "# Tools\n\nYou can call these functions. Each line describes one of them in JSON:\n";
  for (const auto& tool : tools) text += Describe(tool) + "\n";
  return text + "\nTo call a function, write its name and its arguments as JSON between " + kCallStart + " and " +
         kCallEnd + ":\n" + kCallStart +
         "\n{\"name\": \"<name of the function>\", \"arguments\": <object with the arguments>}\n" + kCallEnd +
         "\nThe user answers with the result between <tool_response> and </tool_response>.";
}

std::string Written(const ToolCall& call) {
  const auto name = common_json::make(call.name).dump();
  return std::string(kCallStart) + "\n{\"name\": " + name + ", \"arguments\": " + call.arguments + "}\n" + kCallEnd;
}

void Append(std::string& text, const std::string& more, const char* separator) {
  if (!text.empty() && !more.empty()) text += separator;
  text += more;
}

// Adds a text to the end of a message, whose content is a text or parts.
void Append(ChatMessage& message, const std::string& text, const char* separator) {
  if (message.parts.empty()) return Append(message.content, text, separator);
  if (!text.empty()) message.parts.push_back({separator + text});
}

// Adds the result of a tool, which may have images, to a message of the user.
void AppendResult(ChatMessage& message, const ChatMessage& result) {
  Append(message, "<tool_response>\n" + result.content, "\n");
  if (!result.parts.empty()) {
    if (message.parts.empty()) message.parts.push_back({std::exchange(message.content, {})});
    message.parts.insert(message.parts.end(), result.parts.begin(), result.parts.end());
  }
  Append(message, "\n</tool_response>", "");
}

}  // namespace

Dialog WithToolsAsText(const Dialog& dialog) {
  Dialog result = dialog;
  result.messages.clear();
  result.tools.clear();
  if (!dialog.tools.empty()) result.messages.push_back({"system", Instructions(dialog.tools)});
  bool follows_result = false;
  for (const auto& message : dialog.messages) {
    const bool is_result = message.role == "tool";
    if (message.role == "system" && result.messages.size() == 1 && &message == &dialog.messages.front()) {
      const auto instructions = std::exchange(result.messages.front(), message).content;
      Append(result.messages.front(), instructions, "\n\n");
    } else if (is_result) {
      // Many templates want the roles in turns.
      if (!follows_result) result.messages.push_back({"user", {}});
      AppendResult(result.messages.back(), message);
    } else {
      auto copy = message;
      for (const auto& call : std::exchange(copy.tool_calls, {})) Append(copy, Written(call), "\n");
      result.messages.push_back(std::move(copy));
    }
    follows_result = is_result;
  }
  return result;
}

}  // namespace aana::llama
