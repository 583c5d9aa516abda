#include "core/llama/prompt/prompt_tokenizer.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace aana::llama {
namespace {

// Texts of more bytes than this for each token of the limit are read in part first. English has about 4, code less.
constexpr size_t kBytesPerToken = 16;

// The first `n_bytes` of the parts, cut between two characters.
std::vector<PromptPart> FirstBytes(const std::vector<PromptPart>& parts, size_t n_bytes) {
  std::vector<PromptPart> first;
  for (const auto& part : parts) {
    size_t n_taken = std::min(n_bytes, part.text.size());
    while (n_taken > 0 && n_taken < part.text.size() && (static_cast<unsigned char>(part.text[n_taken]) & 0xC0) == 0x80) n_taken--;
    if (n_taken == 0) break;
    first.push_back({part.text.substr(0, n_taken), part.has_control_tokens});
    n_bytes -= n_taken;
  }
  return first;
}

size_t BytesOf(const std::vector<PromptPart>& parts) {
  size_t n_bytes = 0;
  for (const auto& part : parts) n_bytes += part.text.size();
  return n_bytes;
}

}  // namespace

PromptTokenizer::PromptTokenizer(const Model& model, const ChatTemplate& chat_template)
    : model_(model), chat_template_(chat_template), control_texts_(model.vocab()) {}

PromptTokenizer::Tokens PromptTokenizer::Read(const Prompt& prompt, size_t n_most) const {
  const auto parts = PartsOf(prompt);
  if (BytesOf(parts) / kBytesPerToken > n_most) {
    auto tokens = model_.Tokenize(FirstBytes(parts, n_most * kBytesPerToken));
    // The cut may make one token into several.
    if (tokens.size() > n_most + kBytesPerToken) return {std::move(tokens), false};
  }
  return {model_.Tokenize(parts), true};
}

std::vector<PromptPart> PromptTokenizer::PartsOf(const Prompt& prompt) const {
  if (const auto* text = std::get_if<std::string>(&prompt)) return {{*text, true}};
  const auto& dialog = std::get<Dialog>(prompt);
  std::vector<std::string_view> texts{dialog.prefix};
  for (const auto& message : dialog.messages) texts.push_back(message.content);
  const auto mark = ControlTexts::ChooseMark(texts);
  auto marked = dialog.messages;
  for (auto& message : marked) message.content = control_texts_.Mark(message.content, mark);
  return control_texts_.Split(chat_template_.Apply(marked) + control_texts_.Mark(dialog.prefix, mark), mark);
}

}  // namespace aana::llama
