#pragma once

#include <string>

namespace aana::llama {

// Tightens llama.cpp's grammar for calls of tools. With `is_forced` the calls come at once, where llama.cpp allows any
// text before them. Without `is_parallel` there is one call.
std::string CallGrammar(std::string grammar, bool is_forced, bool is_parallel);

// The rule that GrammarAfter adds.
inline constexpr const char* kAfterRule = "behind-the-mark";

// Adds a rule for `mark`, which has no quotes, with space and a text of the rule `root` behind it.
std::string GrammarAfter(const std::string& mark, const std::string& grammar, const std::string& root);

}  // namespace aana::llama
