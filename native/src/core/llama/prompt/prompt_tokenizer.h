#pragma once

#include <llama.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/llama/model/model.h"
#include "core/llama/prompt/chat_template.h"
#include "core/llama/prompt/control_texts.h"
#include "core/llama/prompt/prompt.h"

namespace aana::llama {

// Turns prompts into tokens. Any thread.
class PromptTokenizer {
 public:
  // Both must outlive this.
  PromptTokenizer(const Model& model, const ChatTemplate& chat_template);

  struct Tokens {
    std::vector<llama_token> tokens;
    // False: the beginning of the prompt alone has more than `n_most` tokens, and the rest was not read.
    bool is_complete = true;
  };
  // Throws TemplateError when the template does not take a dialog, std::invalid_argument or std::length_error when the text cannot be read.
  Tokens Read(const Prompt& prompt, size_t n_most) const;

 private:
  std::vector<PromptPart> PartsOf(const Prompt& prompt) const;

  const Model& model_;
  const ChatTemplate& chat_template_;
  const ControlTexts control_texts_;
};

}  // namespace aana::llama
