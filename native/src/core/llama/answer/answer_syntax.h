#pragma once

#include <chat.h>

#include <string>

namespace aana::llama {

// A parser of llama.cpp for answers, for the files that use `common`.
class AnswerSyntax {
 public:
  common_chat_parser_params parser;
  std::string reasoning_end;  // the mark; may be empty
};

}  // namespace aana::llama
