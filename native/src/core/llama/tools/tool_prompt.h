#pragma once

#include <string>

#include "core/llama/prompt/prompt.h"

namespace aana::llama {

// Around a call of a tool, where the chat template knows no tools.
inline constexpr const char* kCallStart = "<tool_call>";
inline constexpr const char* kCallEnd = "</tool_call>";

// Writes the tools, their calls and their results into the texts of the messages, for a chat template that knows none.
Dialog WithToolsAsText(const Dialog& dialog);

}  // namespace aana::llama
