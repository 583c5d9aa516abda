#pragma once

#include <string>
#include <vector>

#include "../check.h"
#include "core/llama/answer/answer_parser.h"
#include "core/llama/prompt/chat_template.h"

namespace aana::test {

inline llama::Dialog Asking(std::string text = "Hello") { return {.messages = {{"user", std::move(text)}}}; }

inline const llama::Tool kWeather{
    "weather", "Tells the weather.",
    R"({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})"};

inline llama::Dialog AskingWithTools(llama::ToolChoice choice = llama::ToolChoice::kAuto) {
  auto dialog = Asking("How is the weather in Paris?");
  dialog.tools = {kWeather, {"now", "", R"({"type": "object", "properties": {}})"}};
  dialog.tool_choice = choice;
  return dialog;
}

inline void ExpectText(const std::string& actual, const std::string& expected) {
  Expect(actual == expected, "it is [" + actual + "]");
}
inline void ExpectHas(const std::string& text, const std::string& part) {
  Expect(text.find(part) != std::string::npos, "no [" + part + "] in [" + text + "]");
}

// The answer as `reasoning|content|name(arguments)…`, from pieces of `size` bytes.
std::string Read(const llama::ChatPrompt& prompt, const std::string& text, size_t size);

}  // namespace aana::test
