#include "core/llama/prompt/call_grammar.h"

#include <string>

#include "helpers.h"
#include "templates.h"
#include "tests.h"

namespace aana::test {

using namespace aana::llama;

namespace {

std::string RootOf(const std::string& grammar) {
  const size_t begin = grammar.find("root ::= ");
  return grammar.substr(begin, grammar.find('\n', begin) - begin);
}

std::string Grammar(const char* source, Dialog dialog) { return ChatTemplate(nullptr, source).Apply(dialog, dialog).format->grammar; }

}  // namespace

void TestCallGrammar() {
  Test("calls that are forced come at once, after reasoning", [] {
    ExpectText(RootOf(Grammar(kPlainTemplate, AskingWithTools(ToolChoice::kRequired))), "root ::= \"<|im_start|>assistant\\n\" space tool-calls");
    const auto thinking = RootOf(Grammar(kThinkingTemplate, AskingWithTools(ToolChoice::kRequired)));
    ExpectHas(thinking, "\"</think>\"");
    Expect(thinking.ends_with(")? tool-calls"), thinking);
  });
  Test("without parallel calls there is one", [] {
    auto dialog = AskingWithTools(ToolChoice::kRequired);
    dialog.parallel_tool_calls = false;
    ExpectHas(RootOf(Grammar(kThinkingTemplate, dialog)), ")? tool-call");
    Expect(RootOf(Grammar(kThinkingTemplate, dialog)).find("tool-calls") == std::string::npos, "several calls");
  });
  Test("a tool that must be called is the only one in the grammar, and all are in the prompt", [] {
    auto dialog = AskingWithTools(ToolChoice::kRequired);
    dialog.required_tool = "now";
    for (const auto* source : {kThinkingTemplate, kPlainTemplate}) {
      const auto prompt = ChatTemplate(nullptr, source).Apply(dialog, dialog);
      ExpectHas(prompt.format->grammar, "\"now\"");
      Expect(prompt.format->grammar.find("weather") == std::string::npos, prompt.format->grammar);
      ExpectHas(prompt.text, "Tells the weather.");
    }
  });
  Test("the grammar of calls that are not forced begins after a mark", [] {
    for (const auto* source : {kThinkingTemplate, kPlainTemplate}) {
      const auto dialog = AskingWithTools();
      const auto format = ChatTemplate(nullptr, source).Apply(dialog, dialog).format;
      Expect(format->is_grammar_lazy && format->grammar_triggers.size() == 1, "it has no trigger");
      ExpectText(format->grammar_triggers[0], "<tool_call>");
    }
  });
  Test("a grammar of the caller can begin after reasoning that the prompt has begun", [] {
    const auto format = [](const char* source) { return ChatTemplate(nullptr, source).Apply(Asking(), Asking()).format; };
    ExpectText(format(kOpenedTemplate)->open_reasoning_end, "</think>");
    ExpectText(format(kThinkingTemplate)->open_reasoning_end, "");
    ExpectText(GrammarAfter("</think>", "start ::= \"a\"", "start"), "start ::= \"a\"\nbehind-the-mark ::= \"</think>\" [ \\n]{0,4} start\n");
  });
  Test("a grammar of another form stays as it is", [] {
    for (const std::string grammar : {"", "root ::= \"a\"", "a ::= root", "root ::= until-1? other"}) {
      ExpectText(CallGrammar(grammar, true, false), grammar);
    }
  });
}

}  // namespace aana::test
