#include "core/llama/prompt/prompt_tokenizer.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "core/llama/prompt/dialog_texts.h"

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
  if (const auto* given = std::get_if<TokenPrompt>(&prompt)) {
    for (const auto token : given->tokens) {
      if (token < 0 || token >= model_.n_vocab()) {
        throw std::invalid_argument("the model has no token " + std::to_string(token) + "; the last one is " + std::to_string(model_.n_vocab() - 1));
      }
    }
    return {given->tokens, true};
  }
  const auto [parts, format] = PartsOf(prompt);
  if (BytesOf(parts) / kBytesPerToken > n_most) {
    auto tokens = model_.Tokenize(FirstBytes(parts, n_most * kBytesPerToken));
    // The cut may make one token into several.
    if (tokens.size() > n_most + kBytesPerToken) return {std::move(tokens), false};
  }
  return {model_.Tokenize(parts), true, format};
}

std::vector<llama_token> PromptTokenizer::ControlTokens(const std::vector<std::string>& texts) const {
  std::vector<llama_token> found;
  for (const auto& text : texts) {
    if (const auto token = model_.FindToken(text)) found.push_back(*token);
  }
  return found;
}

PromptTokenizer::Parts PromptTokenizer::PartsOf(const Prompt& prompt) const {
  if (const auto* text = std::get_if<std::string>(&prompt)) return {{{*text, true}}, nullptr};
  const auto& dialog = std::get<Dialog>(prompt);
  const auto mark = ControlTexts::ChooseMark(TextsOf(dialog));
  const auto marked = WithTexts(dialog, [&](std::string_view text) { return control_texts_.Mark(text, mark); });
  auto [text, format] = chat_template_.Apply(dialog, marked);
  return {control_texts_.Split(text, mark), std::move(format)};
}

}  // namespace aana::llama
