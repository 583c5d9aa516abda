#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/llama/grammar/syntax.h"

namespace aana::llama {

// Returns the token that a text such as `<|im_end|>` is; empty when it is no single token.
using FindToken = std::function<std::optional<TokenId>(const std::string& text)>;

// Parses a grammar in llama.cpp's notation (GBNF), in which `%quote` also stands for a quotation. Throws SamplingError
// (fault kCaller), which names the line, for a text that is no grammar and for a grammar that is too large.
GrammarSyntax ParseGbnf(std::string_view text, const std::string& root, const FindToken& find_token);

}  // namespace aana::llama
