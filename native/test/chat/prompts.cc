#include <string>

#include "core/llama/prompt/dialog_texts.h"
#include "core/llama/tools/tool_prompt.h"
#include "helpers.h"
#include "templates.h"
#include "tests.h"

namespace aana::test {

using namespace aana::llama;

namespace {

std::string Marked(std::string_view text) {
  std::string marked(text);
  for (size_t at = marked.find("<x>"); at != std::string::npos; at = marked.find("<x>", at + 3))
    marked.replace(at, 3, "<M>");
  return marked;
}

Dialog WithResult() {
  auto dialog = AskingWithTools();
  dialog.messages.push_back(
      {.role = "assistant", .content = "", .tool_calls = {{"call00001", "weather", R"({"city": "Paris"})"}}});
  dialog.messages.push_back({.role = "tool", .content = "sunny", .tool_call_id = "call00001"});
  return dialog;
}

}  // namespace

void TestPrompts() {
  Test("a template writes tools, calls and results", [] {
    const auto prompt = ChatTemplate(nullptr, kThinkingTemplate).Apply(WithResult(), WithResult());
    for (const char* part :
         {"\"name\": \"weather\"", "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Paris\"}}",
          "<tool_response>\nsunny"})
      ExpectHas(prompt.text, part);
  });
  Test("tools, calls and results are text for a template that knows none", [] {
    const auto prompt = ChatTemplate(nullptr, kPlainTemplate).Apply(WithResult(), WithResult());
    ExpectHas(prompt.text, "<|im_start|>system\n# Tools");
    ExpectHas(prompt.text, "{\"name\":\"now\",\"parameters\"");
    ExpectHas(prompt.text,
              "<|im_start|>assistant\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": "
              "\"Paris\"}}\n</tool_call><|im_end|>");
    ExpectHas(prompt.text, "<|im_start|>user\n<tool_response>\nsunny\n</tool_response><|im_end|>");
  });
  Test("instructions for tools follow the system message, and results of several calls are one message", [] {
    auto dialog = WithResult();
    dialog.messages.insert(dialog.messages.begin(), {"system", "Be brief."});
    dialog.messages.push_back({.role = "tool", .content = "warm"});
    const auto written = WithToolsAsText(dialog);
    Expect(written.messages.size() == 4, std::to_string(written.messages.size()));
    Expect(written.messages.front().content.starts_with("Be brief.\n\n# Tools"), written.messages.front().content);
    ExpectText(written.messages.back().content,
               "<tool_response>\nsunny\n</tool_response>\n<tool_response>\nwarm\n</tool_response>");
  });
  Test("every text of a dialog can be changed, in JSON without breaking it", [] {
    Dialog dialog = WithResult();
    dialog.prefix = "<x>1";
    dialog.messages[0].content = "<x>2";
    dialog.messages[1].reasoning = "<x>3";
    dialog.messages[1].tool_calls[0].arguments = R"({"city": "a\u003cx>4", "<x>5": [1.50, null]})";
    dialog.messages[2].content = "<x>6";
    dialog.tools[0].description = "<x>7";
    dialog.tools[0].parameters = R"({"properties": {"<x>8": {"enum": ["<x>9"]}}})";
    dialog.template_arguments = {{"date", "\"<x>10\""}};
    const auto changed = WithTexts(dialog, Marked);
    ExpectText(changed.prefix, "<M>1");
    ExpectText(changed.messages[0].content, "<M>2");
    ExpectText(changed.messages[1].reasoning, "<M>3");
    ExpectText(changed.messages[1].tool_calls[0].arguments, R"({"city":"a<M>4","<M>5":[1.5,null]})");
    ExpectText(changed.messages[2].content, "<M>6");
    ExpectText(changed.tools[0].description, "<M>7");
    ExpectText(changed.tools[0].parameters, R"({"properties":{"<M>8":{"enum":["<M>9"]}}})");
    ExpectText(changed.template_arguments[0].second, "\"<M>10\"");
    ExpectText(changed.tools[1].parameters, dialog.tools[1].parameters);
  });
  Test("marks are in the text of the prompt and not in its format", [] {
    auto dialog = AskingWithTools(ToolChoice::kRequired);
    dialog.tools[0].parameters = R"({"type": "object", "properties": {"<x>": {"enum": ["<x>"]}}, "required": ["<x>"]})";
    for (const auto* source : {kThinkingTemplate, kPlainTemplate, kOpenedTemplate}) {
      const auto prompt = ChatTemplate(nullptr, source).Apply(dialog, WithTexts(dialog, Marked));
      ExpectHas(prompt.text, "\"<M>\"");
      ExpectHas(prompt.format->grammar, "<x>");
      Expect(prompt.format->grammar.find("<M>") == std::string::npos, prompt.format->grammar);
    }
  });
  Test("dialogs that differ in tools, choice or arguments do not share a format", [] {
    const ChatTemplate chat_template(nullptr, kThinkingTemplate);
    const auto format = [&](const Dialog& dialog) { return chat_template.Apply(dialog, dialog).format; };
    const auto first = format(AskingWithTools());
    auto other = AskingWithTools();
    other.messages[0].content = "And in Rome?";
    Expect(format(other) == first, "the same tools have another format");
    Expect(format(AskingWithTools(ToolChoice::kRequired)) != first, "a forced call has the same format");
    other.tools[0].name = "rain";
    Expect(format(other) != first, "other tools have the same format");
    other = AskingWithTools();
    other.template_arguments = {{"enable_thinking", "false"}};
    Expect(format(other) != first, "another prompt's end has the same format");
  });
}

}  // namespace aana::test
