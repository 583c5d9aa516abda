#pragma once

#include <memory>
#include <string>
#include <vector>

namespace aana::llama {

class AnswerSyntax;

// How the model writes its answer to a dialog.
struct ChatFormat {
  // Takes an answer apart.
  std::shared_ptr<const AnswerSyntax> syntax;
  // Of calls of tools, in GBNF. Empty: none.
  std::string grammar;
  // The grammar begins with one of the triggers, and without one it cannot be used. Else it begins at the first token,
  // and then it also describes `grammar_prefix`, the end of the prompt.
  bool is_grammar_lazy = false;
  std::string grammar_prefix;
  std::vector<std::string> grammar_triggers;
  // The mark at the end of reasoning that the prompt has begun; empty: it has begun none.
  std::string open_reasoning_end;
  // Texts of control tokens that are part of the answer's text.
  std::vector<std::string> shown_tokens;
  // Texts that end the answer.
  std::vector<std::string> stops;
};

}  // namespace aana::llama
