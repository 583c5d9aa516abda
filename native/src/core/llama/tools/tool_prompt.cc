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
      auto instructions = std::move(result.messages.front().content);
      result.messages.front() = message;
      Append(result.messages.front().content, instructions, "\n\n");
    } else if (is_result) {
      const auto text = "<tool_response>\n" + message.content + "\n</tool_response>";
      // Many templates want the roles in turns.
      if (follows_result)
        Append(result.messages.back().content, text, "\n");
      else
        result.messages.push_back({"user", text});
    } else {
      auto copy = message;
      for (const auto& call : std::exchange(copy.tool_calls, {})) Append(copy.content, Written(call), "\n");
      result.messages.push_back(std::move(copy));
    }
    follows_result = is_result;
  }
  return result;
}

}  // namespace aana::llama
