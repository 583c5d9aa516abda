#include "core/llama/prompt/overflow.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "core/llama/common_prefix.h"
#include "core/llama/prompt/shortened_dialog.h"

namespace aana::llama {
namespace {

constexpr size_t kContextsRead = 4;
// Models put much of their attention on the first tokens, whatever they are ("attention sinks"), and break down without
// them.
constexpr size_t kAlwaysKept = 4;

Dropped Lost(size_t n_before, size_t n_after, size_t n_messages) {
  return {static_cast<int32_t>(n_before - std::min(n_before, n_after)), static_cast<int32_t>(n_messages)};
}

}  // namespace

size_t MostRead(int32_t n_context) { return kContextsRead * static_cast<size_t>(n_context); }

size_t RoomForPrompt(int32_t n_context, int32_t max_tokens) {
  return static_cast<size_t>(n_context - std::clamp(max_tokens, 1, std::max(n_context / 2, 1)));
}

PromptTokenizer::Tokens ReadShortened(const PromptTokenizer& tokenizer, const Prompt& prompt, size_t n_most,
                                      int32_t n_context, Dropped& dropped) {
  if (const size_t n_least = tokenizer.LeastTokens(prompt); n_least > MostRead(n_context))
    return {.tokens = {}, .is_complete = false, .n_least = n_least};
  auto whole = tokenizer.Read(prompt, PromptTokenizer::kNoLimit);
  const size_t n_whole = whole.tokens.size();
  if (n_whole <= n_most) return whole;
  const auto* dialog = std::get_if<Dialog>(&prompt);
  if (!dialog) {
    auto& tokens = whole.tokens;
    const size_t n_head = n_most / 2;
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(n_head),
                 tokens.end() - static_cast<std::ptrdiff_t>(n_most - n_head));
    dropped = Lost(n_whole, n_most, 0);
    return whole;
  }
  const auto count = [&](const Dialog& shorter) {
    const auto read = tokenizer.Read(shorter, n_most);
    return read.is_complete ? read.tokens.size() : PromptTokenizer::kNoLimit;
  };
  const auto shortened = Shorten(*dialog, n_most, count);
  if (!shortened) return whole;
  auto read = tokenizer.Read(shortened->dialog, PromptTokenizer::kNoLimit);
  dropped = Lost(n_whole, read.tokens.size(), shortened->n_dropped);
  return read;
}

size_t KeptTokens(const PromptTokenizer& tokenizer, const Prompt& prompt, std::span<const llama_token> tokens,
                  int32_t n_context) {
  size_t n_kept = kAlwaysKept;
  if (const auto* dialog = std::get_if<Dialog>(&prompt)) {
    // What the prompt has in common with a dialog of the same system messages and another question.
    Dialog other = *dialog;
    const auto is_system = [](const ChatMessage& message) {
      return message.role == "system" || message.role == "developer";
    };
    other.messages.erase(std::ranges::find_if_not(other.messages, is_system), other.messages.end());
    other.messages.push_back({"user", "?"});
    other.prefix.clear();
    try {
      const auto probe = tokenizer.Read(other, static_cast<size_t>(n_context));
      n_kept = std::max(n_kept, CommonPrefix(tokens, probe.tokens));
    } catch (const TemplateError&) {
      // The template takes no such dialog.
    }
  }
  return std::min({n_kept, tokens.size(), static_cast<size_t>(n_context) / 4 * 3});
}

}  // namespace aana::llama
