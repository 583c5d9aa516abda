#include "core/llama/prompt/prompt_tokenizer.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/llama/prompt/dialog_texts.h"
#include "core/llama/text/bytes_per_token.h"

namespace aana::llama {
namespace {

// Dialogs with more messages are compared with the limit before the template is applied, which takes up to a
// millisecond for each message.
constexpr size_t kManyMessages = 128;
// Messages by which the dialogs differ that tell what the template writes for each.
constexpr size_t kMeasuredMessages = 16;

// The first `n_bytes` of the parts, cut between two characters.
std::vector<PromptPart> FirstBytes(const std::vector<PromptPart>& parts, size_t n_bytes) {
  std::vector<PromptPart> first;
  for (const auto& part : parts) {
    size_t n_taken = std::min(n_bytes, part.text.size());
    while (n_taken > 0 && n_taken < part.text.size() && (static_cast<unsigned char>(part.text[n_taken]) & 0xC0) == 0x80)
      n_taken--;
    if (part.media) continue;
    if (n_taken == 0) break;
    first.push_back({part.text.substr(0, n_taken), part.has_control_tokens});
    n_bytes -= n_taken;
  }
  return first;
}

// Takes the images and sounds out of a dialog. A text of `mark` says where each was.
template <class Mark>
std::vector<Media> TakeMedia(Dialog& dialog, Mark mark) {
  std::vector<Media> media;
  for (auto& message : dialog.messages) {
    for (auto& part : message.parts) {
      if (!part.media) continue;
      part.text = mark(media.size());
      media.push_back(*part.media);
    }
  }
  return media;
}

size_t BytesOf(const std::vector<PromptPart>& parts) {
  size_t n_bytes = 0;
  for (const auto& part : parts) n_bytes += part.text.size();
  return n_bytes;
}

}  // namespace

PromptTokenizer::PromptTokenizer(const Model& model, const ChatTemplate& chat_template, const Projector* projector)
    : model_(model), chat_template_(chat_template), control_texts_(model.vocab()), projector_(projector) {}

PromptTokenizer::Tokens PromptTokenizer::Read(const Prompt& prompt, size_t n_most) const {
  if (const auto* given = std::get_if<TokenPrompt>(&prompt)) {
    for (const auto token : given->tokens) {
      if (token < 0 || token >= model_.n_vocab()) {
        throw std::invalid_argument("the model has no token " + std::to_string(token) + "; the last one is " +
                                    std::to_string(model_.n_vocab() - 1));
      }
    }
    return {given->tokens, true};
  }
  if (const size_t n_least = LeastTokens(prompt); n_least > n_most)
    return {.tokens = {}, .is_complete = false, .n_least = n_least};
  auto parts = PartsOf(prompt);
  if (BytesOf(parts.parts) / kBytesPerToken > n_most) {
    auto tokens = model_.Tokenize(FirstBytes(parts.parts, n_most * kBytesPerToken));
    // The cut may make one token into several.
    const size_t n_tokens = tokens.size();
    if (n_tokens > n_most + kBytesPerToken)
      return {.tokens = std::move(tokens), .is_complete = false, .n_least = n_tokens};
  }
  if (const size_t n_least = LeastTokens(parts.media); n_least > n_most)
    return {.tokens = {}, .is_complete = false, .n_least = n_least};
  if (!parts.media.empty()) return ReadMedia(std::move(parts));
  return {model_.Tokenize(parts.parts), true, std::move(parts.format)};
}

size_t PromptTokenizer::LeastTokens(const Prompt& prompt) const {
  const auto* dialog = std::get_if<Dialog>(&prompt);
  return dialog && dialog->messages.size() > kManyMessages ? dialog->messages.size() * LeastPerMessage() : 0;
}

size_t PromptTokenizer::LeastPerMessage() const {
  // Roles in different orders, because some templates join messages of one role. What a template refuses says nothing.
  static const std::vector<std::vector<std::string>> kOrders = {
      {"user", "assistant"}, {"user"}, {"assistant"}, {"system"}, {"tool"}, {"user", "assistant", "tool"}};
  std::call_once(is_measured_, [this] {
    const auto measure = [this](const std::vector<std::string>& roles, size_t n_messages) {
      Dialog dialog;
      // The first message may decide whether the template takes the others.
      dialog.messages.push_back({"user", "a"});
      for (size_t i = 0; i < n_messages; i++) dialog.messages.push_back({roles[(i + 1) % roles.size()], "a"});
      return model_.TokenizeInner(PartsOf(dialog).parts).size();
    };
    size_t n_least = SIZE_MAX;
    for (const auto& roles : kOrders) {
      const size_t n_messages = kMeasuredMessages * roles.size();
      try {
        const size_t n_few = measure(roles, n_messages);
        const size_t n_many = measure(roles, 2 * n_messages);
        n_least = std::min(n_least, (n_many - std::min(n_few, n_many)) / n_messages);
      } catch (const TemplateError&) {
        continue;
      }
    }
    // The text itself, a token of which may be missing.
    if (n_least != SIZE_MAX && n_least > 1) n_least_per_message_ = n_least - 1;
  });
  return n_least_per_message_;
}

size_t PromptTokenizer::LeastTokens(const std::vector<Media>& media) const {
  size_t n_least = 0;
  for (const auto& one : media) {
    if (const auto* sound = std::get_if<Sound>(&one))
      n_least += sound->samples->size() / kSoundWindow * projector_->n_window_tokens();
  }
  return n_least;
}

PromptTokenizer::Tokens PromptTokenizer::ReadMedia(Parts parts) const {
  const auto prompt = std::make_shared<const MediaPrompt>(std::move(parts.parts), std::move(parts.media));
  auto [tokens, images] = projector_->Read(*prompt);
  return {std::move(tokens), true, std::move(parts.format), std::move(images), prompt};
}

std::vector<llama_token> PromptTokenizer::ControlTokens(const std::vector<std::string>& texts) const {
  std::vector<llama_token> found;
  for (const auto& text : texts) {
    if (const auto token = model_.FindToken(text)) found.push_back(*token);
  }
  return found;
}

PromptTokenizer::Parts PromptTokenizer::PartsOf(const Prompt& prompt) const {
  if (const auto* text = std::get_if<std::string>(&prompt)) return {{{*text, true}}, nullptr, {}};
  const auto& dialog = std::get<Dialog>(prompt);
  auto texts = TextsOf(dialog);
  const auto mark = ControlTexts::ChooseMark(texts);
  auto marked = WithTexts(dialog, [&](std::string_view text) { return control_texts_.Mark(text, mark); });
  texts.push_back(mark);
  std::string media_mark;
  auto media = TakeMedia(marked, [&](size_t number) {
    if (media_mark.empty()) media_mark = ControlTexts::ChooseMark(texts);
    return media_mark + std::to_string(number) + media_mark;
  });
  if (!media.empty() && !projector_)
    throw std::invalid_argument("the model reads no images and no audio, because it has no projector");
  auto [text, format] = chat_template_.Apply(dialog, marked);
  if (media.empty()) return {control_texts_.Split(text, mark), std::move(format), {}};
  return {Split(text, mark, media_mark, media.size()), std::move(format), std::move(media)};
}

std::vector<PromptPart> PromptTokenizer::Split(std::string_view text, std::string_view mark,
                                               std::string_view media_mark, size_t n_media) const {
  std::vector<PromptPart> parts;
  std::vector<size_t> n_uses(n_media);
  const auto add = [&](std::string_view piece) {
    for (auto& part : control_texts_.Split(piece, mark)) parts.push_back(std::move(part));
  };
  size_t at = 0;
  for (size_t found = text.find(media_mark); found != std::string_view::npos; found = text.find(media_mark, at)) {
    add(text.substr(at, found - at));
    const size_t begin = found + media_mark.size();
    size_t number = n_media;
    const auto digits = std::from_chars(text.data() + begin, text.data() + text.size(), number);
    const auto end = static_cast<size_t>(digits.ptr - text.data());
    if (digits.ec != std::errc() || number >= n_media || text.substr(end, media_mark.size()) != media_mark) {
      throw TemplateError("its chat template changes the places of images or audio");
    }
    n_uses[number]++;
    parts.push_back({.media = number});
    at = end + media_mark.size();
  }
  add(text.substr(at));
  if (std::ranges::count(n_uses, 1) != static_cast<std::ptrdiff_t>(n_media))
    throw TemplateError("its chat template leaves out an image or audio, or writes it twice");
  return parts;
}

}  // namespace aana::llama
