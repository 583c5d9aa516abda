#pragma once

#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "core/llama/prompt/prompt.h"

struct llama_model;

namespace aana::llama {

// A dialog that a model's chat template does not take.
class TemplateError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A Jinja chat template. The only user of llama.cpp's `common` library, whose interface changes with every release.
class ChatTemplate {
 public:
  // `override_source` replaces the model's own template. Throws std::runtime_error when it cannot be parsed.
  ChatTemplate(const llama_model* model, const std::string& override_source);
  ~ChatTemplate();
  ChatTemplate(const ChatTemplate&) = delete;
  ChatTemplate& operator=(const ChatTemplate&) = delete;

  bool exists() const { return templates_ != nullptr; }

  // Returns the text of the messages, up to where the assistant's answer begins. Any thread. Throws TemplateError when there is no template or it
  // refuses the messages.
  std::string Apply(std::span<const ChatMessage> messages) const;

 private:
  struct Templates;
  std::unique_ptr<Templates> templates_;
  // Why the model's own template is not there.
  std::string reason_;
};

}  // namespace aana::llama
