#include "core/whisper/search/prompt.h"

#include <algorithm>
#include <span>

namespace aana {
namespace {

// Places of the model that a prefix leaves for the text after it.
constexpr size_t kLeastText = 32;

void Append(std::vector<int32_t>& tokens, std::span<const int32_t> others) {
  tokens.insert(tokens.end(), others.begin(), others.end());
}

}  // namespace

std::vector<int32_t> StartTokens(const Vocabulary& vocabulary, int32_t language, bool translate) {
  std::vector<int32_t> tokens{vocabulary.start};
  if (vocabulary.n_languages > 0)
    Append(tokens,
           std::vector{vocabulary.first_language + language, translate ? vocabulary.translate : vocabulary.transcribe});
  return tokens;
}

Prompt MakePrompt(const Vocabulary& vocabulary, const PromptParts& parts, int n_positions) {
  Prompt prompt;
  auto& tokens = prompt.tokens;
  const bool has_hotwords = !parts.hotwords.empty() && parts.prefix.empty();
  if (has_hotwords || !parts.previous.empty()) {
    size_t room = static_cast<size_t>(n_positions) / 2 - 1;
    tokens.push_back(vocabulary.previous);
    if (has_hotwords) {
      const auto kept = std::span(parts.hotwords).first(std::min(room, parts.hotwords.size()));
      Append(tokens, kept);
      room -= kept.size();
    }
    Append(tokens, std::span(parts.previous).last(std::min(room, parts.previous.size())));
  }
  prompt.start = tokens.size();
  Append(tokens, StartTokens(vocabulary, parts.language, parts.translate));
  if (parts.without_timestamps) tokens.push_back(vocabulary.no_timestamps);
  if (!parts.prefix.empty()) {
    if (!parts.without_timestamps) prompt.begun.push_back(vocabulary.first_time);
    const size_t room = static_cast<size_t>(n_positions) - tokens.size() - 1 - kLeastText;
    Append(
        prompt.begun,
        std::span(parts.prefix).first(std::min({room, static_cast<size_t>(n_positions) / 2 - 1, parts.prefix.size()})));
    Append(tokens, prompt.begun);
  }
  return prompt;
}

}  // namespace aana
