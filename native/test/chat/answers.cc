#include <algorithm>
#include <string>
#include <vector>

#include "core/llama/answer/answer_parser.h"
#include "helpers.h"
#include "templates.h"
#include "tests.h"

namespace aana::test {

using namespace aana::llama;

std::string Read(const ChatPrompt& prompt, const std::string& text, size_t size) {
  if (!prompt.format) return "|" + text;
  AnswerParser parser(prompt.format->syntax);
  std::string content;
  std::string reasoning;
  std::vector<std::string> calls;
  const auto add = [&](const AnswerDelta& delta) {
    content += delta.content;
    reasoning += delta.reasoning;
    for (const auto& call : delta.calls) {
      if (call.index == calls.size()) calls.push_back(call.name + "(");
      calls[call.index] += call.arguments;
    }
  };
  for (size_t at = 0; at < text.size(); at += size) add(parser.Push(text.substr(at, size), 1));
  add(parser.Finish());
  auto result = reasoning + "|" + content;
  for (const auto& call : calls) result += "|" + call + ")";
  return result;
}

namespace {

ChatPrompt Apply(const char* source, const Dialog& dialog) {
  return ChatTemplate(nullptr, source).Apply(dialog, dialog);
}

// However the text is cut into pieces.
void ExpectAnswer(const ChatPrompt& prompt, const std::string& text, const std::string& expected) {
  for (const size_t size : {text.size() + 1, size_t{1}, size_t{3}, size_t{7}}) {
    const auto read = Read(prompt, text, size);
    Expect(read == expected, "in pieces of " + std::to_string(size) + " it is [" + read + "]");
  }
}

}  // namespace

void TestAnswers() {
  const std::string call = "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>";
  const std::string read_call = "weather({\"city\": \"Paris\"})";

  Test("the answer to a plain dialog has no format",
       [] { Expect(!Apply(kPlainTemplate, Asking()).format, "it has one"); });
  Test("reasoning that the model marks is split off", [] {
    const auto prompt = Apply(kThinkingTemplate, Asking());
    ExpectAnswer(prompt, "<think>\nI think so.\n</think>\n\nYes <b>.", "I think so.|Yes <b>.");
    ExpectAnswer(prompt, "Yes.", "|Yes.");
    ExpectAnswer(prompt, "<think>\nI think", "I think|");
  });
  Test("reasoning that the prompt begins is split off", [] {
    const auto prompt = Apply(kOpenedTemplate, Asking());
    ExpectAnswer(prompt, "I think so.\n</think>\n\nYes.", "I think so.|Yes.");
    ExpectAnswer(prompt, "I think", "I think|");
  });
  Test("reasoning stays in the text on request", [] {
    auto dialog = Asking();
    dialog.is_reasoning_split = false;
    Expect(!Apply(kThinkingTemplate, dialog).format, "it has a format");
    Expect(!Apply(kOpenedTemplate, dialog).format, "it has a format");
  });
  Test("an answer whose reasoning is switched off is text", [] {
    auto dialog = Asking();
    dialog.template_arguments = {{"enable_thinking", "false"}};
    const auto prompt = Apply(kThinkingTemplate, dialog);
    ExpectHas(prompt.text, "<think>\n\n</think>\n\n");
    ExpectAnswer(prompt, "Yes.", "|Yes.");
  });
  Test("an answer that a prefix begins has no reasoning, and its deltas lack the prefix", [] {
    auto dialog = Asking();
    dialog.prefix = "My answer:";
    const auto thinking = Apply(kThinkingTemplate, dialog);
    Expect(thinking.text.ends_with("My answer:"), thinking.text);
    ExpectAnswer(thinking, " Yes.", "| Yes.");
    const auto opened = Apply(kOpenedTemplate, dialog);
    Expect(opened.text.ends_with("</think>\n\nMy answer:"), opened.text);
    ExpectAnswer(opened, " Yes.", "| Yes.");
  });
  Test("channels are split", [] {
    const auto prompt = Apply(kChannelTemplate, Asking());
    ExpectAnswer(prompt,
                 "<|channel|>analysis<|message|>I think so.<|end|><|start|>assistant<|channel|>final<|message|>Yes.",
                 "I think so.|Yes.");
    Expect(!prompt.format->shown_tokens.empty(), "no token is shown");
  });
  Test("calls of tools are split off", [&] {
    const auto prompt = Apply(kThinkingTemplate, AskingWithTools());
    ExpectAnswer(prompt, call, "||" + read_call);
    ExpectAnswer(prompt, "<think>\nI need it.\n</think>\n\nI look:\n" + call, "I need it.|I look:\n|" + read_call);
    ExpectAnswer(prompt, "No call.", "|No call.");
  });
  Test("calls of tools are split off where the template knows no tools", [&] {
    ExpectAnswer(Apply(kPlainTemplate, AskingWithTools()), "I look.\n" + call, "|I look.\n|" + read_call);
    ExpectAnswer(Apply(kOpenedTemplate, AskingWithTools()), "I need it.\n</think>\n\n" + call,
                 "I need it.||" + read_call);
  });
  Test("a call of an unknown tool, and marks in a text, stay text", [&] {
    for (const auto* source : {kThinkingTemplate, kPlainTemplate}) {
      const auto prompt = Apply(source, AskingWithTools());
      const std::string unknown = "<tool_call>\n{\"name\": \"fly\", \"arguments\": {}}\n</tool_call>";
      ExpectAnswer(prompt, unknown, "|" + unknown);
      ExpectAnswer(prompt, "Use <tool_call> for it.", "|Use <tool_call> for it.");
    }
    const auto prompt = Apply(kThinkingTemplate, AskingWithTools());
    ExpectAnswer(prompt, "<think>\nHm.\n</think>\n\n<tool_call>fly", "Hm.|<tool_call>fly");
    ExpectAnswer(prompt, "<think>\nHm.\n</think>\n\nUse <tool_call> here.", "Hm.|Use <tool_call> here.");
  });
  Test("tokens of the reasoning are counted", [] {
    AnswerParser parser(Apply(kThinkingTemplate, Asking()).format->syntax);
    for (const char* piece : {"<think>", "\n", "I", " think", "\n</think>", "\n\n", "Yes", "."}) parser.Push(piece, 1);
    parser.Finish();
    Expect(parser.n_reasoning() >= 5 && parser.n_reasoning() <= 6, std::to_string(parser.n_reasoning()));
  });
  Test("a long answer is not parsed again for each of its pieces", [] {
    AnswerParser parser(Apply(kThinkingTemplate, Asking()).format->syntax);
    std::string text;
    size_t n_silent = 0;
    for (int i = 0; i < 20'000; i++) {
      const auto delta = parser.Push("word ", 1);
      n_silent += delta.content.empty() ? 1 : 0;
      text += delta.content;
    }
    text += parser.Finish().content;
    Expect(text.size() == 100'000, std::to_string(text.size()));
    Expect(n_silent > 15'000, std::to_string(n_silent));
  });
}

}  // namespace aana::test
