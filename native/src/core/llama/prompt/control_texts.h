#pragma once

#include <llama.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/llama/prompt/prompt.h"

namespace aana::llama {

// The texts of a vocabulary's control tokens, such as <|im_start|>. Keeps them in users' messages apart from those of
// the chat template, which the template's output shows as the same text.
//
// A message that holds such a text gets a mark behind the text's first character before the template sees it. The
// template then passes on something that is no control token, and the mark says where it lies in the template's output,
// wherever the template put the message.
class ControlTexts {
 public:
  explicit ControlTexts(const llama_vocab* vocab);
  explicit ControlTexts(std::vector<std::string> texts);

  // Returns a mark that occurs in none of the texts: one of the characters U+FDD0 to U+FDEF, which Unicode keeps free
  // for programs. Throws std::invalid_argument when the texts have all of them.
  static std::string ChooseMark(std::span<const std::string_view> texts);

  // Returns `text` with the mark in each control text.
  std::string Mark(std::string_view text, std::string_view mark) const;
  // Divides a text with marks; the parts have no marks.
  std::vector<PromptPart> Split(std::string_view marked, std::string_view mark) const;

 private:
  // Bytes of the longest control text that `text` begins with; 0: none.
  size_t LengthAtStart(std::string_view text) const;

  std::unordered_set<std::string> texts_;
  std::vector<size_t> lengths_;  // of the texts, falling
  std::string first_bytes_;      // of the texts
};

}  // namespace aana::llama
