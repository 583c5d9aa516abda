#pragma once

#include <llama.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/llama/model/model.h"
#include "core/llama/prompt/chat_template.h"
#include "core/llama/prompt/control_texts.h"
#include "core/llama/prompt/prompt.h"
#include "core/llama/vision/projector.h"

namespace aana::llama {

// Turns prompts into tokens. Any thread.
class PromptTokenizer {
 public:
  // All must outlive this. `projector` may be null.
  PromptTokenizer(const Model& model, const ChatTemplate& chat_template, const Projector* projector);

  struct Tokens {
    std::vector<llama_token> tokens;
    // False: the prompt has more than `n_most` tokens, and not all of it was read.
    bool is_complete = true;
    // Of a dialog's answer; null: the answer is a text and nothing else.
    std::shared_ptr<const ChatFormat> format = nullptr;
    std::vector<PromptImage> images = {};                       // in the order of their places, not encoded
    std::shared_ptr<const MediaPrompt> media_prompt = nullptr;  // of a prompt with images
    size_t n_least = 0;  // tokens that a prompt which is not complete has at least
  };
  static constexpr size_t kNoLimit = SIZE_MAX;
  // Throws TemplateError when the template does not take a dialog, std::invalid_argument or std::length_error when the
  // text, an image or a sound cannot be read or a token is none of the model's.
  Tokens Read(const Prompt& prompt, size_t n_most) const;
  // Returns how many tokens a dialog of many messages has at least, without its template. 0 for other prompts.
  size_t LeastTokens(const Prompt& prompt) const;
  // The tokens of a text, without those that the model wants around texts. Throws like Read.
  std::vector<llama_token> ReadInner(const std::string& text) const {
    return model_.TokenizeInner(PartsOf(text).parts);
  }
  // The bytes of a token; of a control token, its text.
  std::string TextOf(llama_token token) const { return model_.PieceOrControlText(token); }
  // The tokens of these texts, without those that are no single token.
  std::vector<llama_token> ControlTokens(const std::vector<std::string>& texts) const;

 private:
  struct Parts {
    std::vector<PromptPart> parts;
    std::shared_ptr<const ChatFormat> format;
    std::vector<Media> media;
  };
  Parts PartsOf(const Prompt& prompt) const;
  // Divides the text of a dialog at `media_mark`, which stands on both sides of the number of an image or a sound.
  std::vector<PromptPart> Split(std::string_view text, std::string_view mark, std::string_view media_mark,
                                size_t n_media) const;
  Tokens ReadMedia(Parts parts) const;
  // Returns how many tokens the sounds have at least.
  size_t LeastTokens(const std::vector<Media>& media) const;
  // Tokens that the template writes for each message at least, whatever its text is.
  size_t LeastPerMessage() const;

  const Model& model_;
  const ChatTemplate& chat_template_;
  const ControlTexts control_texts_;
  const Projector* const projector_;
  mutable std::once_flag is_measured_;
  mutable size_t n_least_per_message_ = 0;
};

}  // namespace aana::llama
