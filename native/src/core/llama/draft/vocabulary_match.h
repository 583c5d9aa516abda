#pragma once

#include <string>

#include "core/llama/model/model.h"

namespace aana::llama {

// Throws LoadError when tokens that `draft` guesses do not mean the same for `target`. The rules are those of llama.cpp
// (common_speculative_are_compatible): the same type of vocabulary, the same tokens around a text, and the same texts
// of the tokens; one vocabulary may have a few more tokens than the other.
void RequireSameVocabulary(const Model& draft, const std::string& draft_path, const Model& target);

}  // namespace aana::llama
