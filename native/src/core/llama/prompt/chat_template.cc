#include "core/llama/prompt/chat_template.h"

#include <chat.h>
#include <llama.h>
#include <log.h>

#include <mutex>
#include <stdexcept>
#include <utility>

namespace aana::llama {
namespace {

// `common` writes to the standard streams by a thread of its own; what matters comes as an exception.
void QuietCommonLog() {
  static std::once_flag once;
  std::call_once(once, [] { common_log_set_verbosity_thold(LOG_LEVEL_OUTPUT); });
}

// common_chat_templates_init loses the reason when a template does not parse; this throws it.
void Parse(const std::string& source) { common_chat_template(source, "", ""); }

}  // namespace

struct ChatTemplate::Templates {
  common_chat_templates_ptr value;
};

ChatTemplate::ChatTemplate(const llama_model* model, const std::string& override_source) {
  QuietCommonLog();
  const char* own = llama_model_chat_template(model, nullptr);
  const std::string source = !override_source.empty() ? override_source : own ? own : "";
  if (source.empty()) {
    reason_ = "the model has no chat template: give one";
    return;
  }
  try {
    if (source != "chatml") Parse(source);
    auto value = common_chat_templates_init(model, override_source);
    templates_.reset(new Templates{std::move(value)});
  } catch (const std::exception& error) {
    if (!override_source.empty()) throw std::runtime_error(std::string("the chat template cannot be parsed: ") + error.what());
    reason_ = std::string("the model's chat template cannot be parsed, give another one: ") + error.what();
  }
}

ChatTemplate::~ChatTemplate() = default;

std::string ChatTemplate::Apply(std::span<const ChatMessage> messages) const {
  if (!templates_) throw TemplateError(reason_);
  common_chat_templates_inputs inputs;
  inputs.add_generation_prompt = true;
  // Only the text is wanted; the default also builds a parser for tool calls, which fails for some templates.
  inputs.force_pure_content = true;
  for (const auto& message : messages) {
    common_chat_msg entry;
    entry.role = message.role;
    entry.content = message.content;
    inputs.messages.push_back(std::move(entry));
  }
  try {
    return common_chat_templates_apply(templates_->value.get(), inputs).prompt;
  } catch (const std::exception& error) {
    throw TemplateError(std::string("the chat template refuses the messages: ") + error.what());
  }
}

}  // namespace aana::llama
