#include "core/llama/tools/call_grammar.h"

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

std::string Grammar(const char* source, Dialog dialog) {
  return ChatTemplate(nullptr, source).Apply(dialog, dialog).format->grammar;
}

std::string Throws(const char* source, const Dialog& dialog) {
  try {
    return "no error, but " + Grammar(source, dialog);
  } catch (const TemplateError& error) {
    return error.what();
  }
}

}  // namespace

void TestCallGrammar() {
  Test("calls that are forced come at once, after reasoning", [] {
    ExpectText(RootOf(Grammar(kPlainTemplate, AskingWithTools(ToolChoice::kRequired))),
               "root ::= \"<|im_start|>assistant\\n\" space tool-calls");
    ExpectText(RootOf(Grammar(kTaggedTemplate, AskingWithTools(ToolChoice::kRequired))),
               "root ::= \"<|im_start|>assistant\\n\" space tool-call-root");
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
    const auto format = [](const char* source) {
      return ChatTemplate(nullptr, source).Apply(Asking(), Asking()).format;
    };
    ExpectText(format(kOpenedTemplate)->open_reasoning_end, "</think>");
    ExpectText(format(kThinkingTemplate)->open_reasoning_end, "");
    ExpectText(GrammarAfter("</think>", "start ::= \"a\"", "start"),
               "start ::= \"a\"\nbehind-the-mark ::= \"</think>\" [ \\n]{0,4} start\n");
  });
  Test("arguments follow the rules of the caller, in one object or one by one", [] {
    auto dialog = AskingWithTools(ToolChoice::kRequired);
    dialog.tools[0].parameters =
        R"({"type": "object", "properties": {"a_city": {"type": "string"}, "days": {"type": "integer"}}})";
    dialog.tools[0].rules = {"args-all",
                             {{"a_city", "args-city"}, {"days", "args-days"}},
                             {{"a_city", "args-text"}},
                             R"({"type": "object"})"};
    dialog.tools[1].rules = {"args-none", {}, {}, R"({"type": "object"})"};
    dialog.argument_rules =
        "args-all ::= \"{}\"\nargs-none ::= \"{ }\"\nargs-city ::= \"1\"\nargs-days ::= \"2\"\nargs-text ::= \"3\"\n";
    for (const auto* source : {kThinkingTemplate, kPlainTemplate}) {
      const auto grammar = Grammar(source, dialog);
      ExpectHas(grammar, "\"weather\"");
      ExpectHas(grammar, " args-all");
      ExpectHas(grammar, " args-none");
      ExpectHas(grammar, "args-all ::= \"{}\"\n");
      Expect(grammar.find("json") == std::string::npos && grammar.find("-schema") == std::string::npos, grammar);
    }
    const auto tagged = Grammar(kTaggedTemplate, dialog);
    ExpectHas(tagged, "a_city");
    ExpectHas(tagged, " args-days");
    ExpectHas(tagged, " args-text \"\\n</parameter>");
    Expect(tagged.find("-schema") == std::string::npos, tagged);
  });
  Test("a schema that llama.cpp does not take is no hindrance to rules of the caller", [] {
    auto dialog = AskingWithTools(ToolChoice::kRequired);
    dialog.tools.pop_back();
    dialog.tools[0].parameters = R"({"type": "object", "properties": {"a": true, "b": {"$ref": "#"}}})";
    for (const auto* source : {kThinkingTemplate, kPlainTemplate, kTaggedTemplate}) {
      ExpectHas(Throws(source, dialog), "schema must be an object");
      auto bound = dialog;
      bound.tools[0].rules = {
          "args-all", {{"a", "args-a"}}, {}, R"({"type": "object", "properties": {"a": {"type": "integer"}}})"};
      bound.argument_rules = "args-all ::= \"{}\"\nargs-a ::= \"1\"\n";
      ExpectHas(Grammar(source, bound), source == kTaggedTemplate ? " args-a" : " args-all");
    }
  });
  Test("a grammar of another form stays as it is", [] {
    for (const std::string grammar : {"", "root ::= \"a\"", "a ::= root", "root ::= until-1? other"}) {
      ExpectText(CallGrammar(grammar, true, false), grammar);
    }
  });
}

}  // namespace aana::test
