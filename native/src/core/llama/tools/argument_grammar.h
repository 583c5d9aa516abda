#pragma once

#include <optional>
#include <string>

#include "core/llama/prompt/prompt.h"

namespace aana::llama {

// Returns the grammar of a parser that llama.cpp has made for calls, in which the arguments follow the rules of the
// tools. `parser` is its JSON. Returns nothing where the parser divides the arguments in a way for which there are no
// rules.
std::optional<std::string> ArgumentGrammar(const std::string& parser, bool is_lazy, const Dialog& dialog);

}  // namespace aana::llama
