#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "core/llama/prompt/chat_format.h"
#include "core/llama/prompt/prompt.h"

struct llama_model;

namespace aana::llama {

// A dialog that a model's chat template does not take.
class TemplateError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A dialog as a text, up to where the model goes on.
struct ChatPrompt {
  std::string text;
  // Null: the answer is a text and nothing else.
  std::shared_ptr<const ChatFormat> format;
};

// A Jinja chat template. Uses llama.cpp's `common` library, whose interface changes with every release.
class ChatTemplate {
 public:
  // `override_source` replaces the model's own template; with it there may be no model. Throws std::runtime_error when
  // it cannot be parsed.
  ChatTemplate(const llama_model* model, const std::string& override_source);
  ~ChatTemplate();
  ChatTemplate(const ChatTemplate&) = delete;
  ChatTemplate& operator=(const ChatTemplate&) = delete;

  // Returns the text of the dialog `marked` and the format of the answer to `dialog`, which is the same dialog without
  // marks. Any thread. Throws TemplateError when there is no template or it refuses the dialog.
  ChatPrompt Apply(const Dialog& dialog, const Dialog& marked) const;

 private:
  struct Templates;
  ChatPrompt ApplyChecked(Dialog dialog, Dialog marked) const;

  std::unique_ptr<Templates> templates_;
  // Why there is no template.
  std::string reason_;
};

}  // namespace aana::llama
