#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/llama/vision/image.h"

namespace aana::llama {

// A call of a tool by the assistant.
struct ToolCall {
  std::string id;  // may be empty
  std::string name;
  std::string arguments;  // JSON
};

// A text, an image or a sound in a message.
struct ContentPart {
  std::string text;
  std::optional<Media> media = {};
};

struct ChatMessage {
  std::string role;
  std::string content;
  std::string reasoning = {};  // of the assistant
  std::string name = {};
  std::string tool_call_id = {};  // of the call that a message of the role `tool` answers
  std::vector<ToolCall> tool_calls = {};
  std::vector<ContentPart> parts = {};  // the content of a message with media, in the place of `content`
};

// Names of the rules for the arguments of a tool.
struct ArgumentRules {
  std::string all;                                          // of the JSON object with all arguments
  std::vector<std::pair<std::string, std::string>> values;  // of the JSON value of each argument
  std::vector<std::pair<std::string, std::string>>
      texts;            // of arguments that are texts of a restricted form, without quotes
  std::string outline;  // a JSON schema with the names and types of the arguments
};

// A function that the model may call.
struct Tool {
  std::string name;
  std::string description;
  std::string parameters;  // a JSON schema
  ArgumentRules rules = {};
};

enum class ToolChoice { kAuto, kRequired };

// Messages that the chat template turns into a text. Control tokens come from the template alone: in the messages, the
// tools, the template's arguments and the prefix they are text.
struct Dialog {
  std::vector<ChatMessage> messages;
  // Begins the answer.
  std::string prefix = {};
  std::vector<Tool> tools = {};
  // Rules in GBNF that the tools name. Empty: llama.cpp makes rules from the schemas of the tools.
  std::string argument_rules = {};
  ToolChoice tool_choice = ToolChoice::kAuto;
  // The tool that must be called. Empty: any.
  std::string required_tool = {};
  // Default: whether the template can write several calls.
  std::optional<bool> parallel_tool_calls = {};
  // Arguments of the template, as JSON.
  std::vector<std::pair<std::string, std::string>> template_arguments = {};
  // Reasoning is split off from the answer.
  bool is_reasoning_split = true;
  // Only dialogs with the same key share what was found for their tools.
  std::string cache_key = {};
};

// The numbers of tokens, which nothing is added to.
struct TokenPrompt {
  std::vector<int32_t> tokens;
};

// A text, whose control tokens are read as such, a dialog, or tokens.
using Prompt = std::variant<std::string, Dialog, TokenPrompt>;

// A stretch of a prompt's text, or an image or a sound.
struct PromptPart {
  std::string text = {};
  // The text of a control token is read as that token.
  bool has_control_tokens = false;
  std::optional<size_t> media = {};  // its number among the media of the prompt

  bool operator==(const PromptPart&) const = default;
};

}  // namespace aana::llama
