#pragma once

#include <string>
#include <variant>
#include <vector>

namespace aana::llama {

struct ChatMessage {
  std::string role;
  std::string content;
};

// Messages that the chat template turns into a text. Control tokens come from the template alone: in the messages and
// the prefix they are text.
struct Dialog {
  std::vector<ChatMessage> messages;
  // Begins the answer.
  std::string prefix;
};

// A text, whose control tokens are read as such, or a dialog.
using Prompt = std::variant<std::string, Dialog>;

// A stretch of a prompt's text.
struct PromptPart {
  std::string text;
  // The text of a control token is read as that token.
  bool has_control_tokens = false;

  bool operator==(const PromptPart&) const = default;
};

}  // namespace aana::llama
