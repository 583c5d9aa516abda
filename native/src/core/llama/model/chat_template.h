#pragma once

#include <memory>
#include <span>
#include <string>

struct llama_model;

namespace aana::llama {

struct ChatMessage {
  std::string role;
  std::string content;
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

  // Throws std::runtime_error when there is no template or it refuses the messages.
  std::string Apply(std::span<const ChatMessage> messages, bool add_assistant) const;

 private:
  struct Templates;
  std::unique_ptr<Templates> templates_;
  // Why the model's own template is not there.
  std::string reason_;
};

}  // namespace aana::llama
