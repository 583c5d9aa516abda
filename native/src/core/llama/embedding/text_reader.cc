#include "core/llama/embedding/text_reader.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <variant>

#include "core/llama/model/load_error.h"
#include "core/llama/text/bytes_per_token.h"

namespace aana::llama {
namespace {

constexpr std::string_view kQuery = "{query}";
constexpr std::string_view kDocument = "{document}";
constexpr const char* kTogether = " together with the query";

bool IsInsideCharacter(const std::string& text, size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

std::string BeginningOf(const std::string& text, size_t n_bytes) {
  n_bytes = std::min(n_bytes, text.size());
  while (n_bytes > 0 && IsInsideCharacter(text, n_bytes)) n_bytes--;
  return text.substr(0, n_bytes);
}

std::string EndOf(const std::string& text, size_t n_bytes) {
  size_t begin = text.size() - std::min(n_bytes, text.size());
  while (IsInsideCharacter(text, begin)) begin++;
  return text.substr(begin);
}

template <class... Lists>
std::vector<llama_token> Joined(const Lists&... lists) {
  std::vector<llama_token> all;
  all.reserve((lists.size() + ...));
  (all.insert(all.end(), lists.begin(), lists.end()), ...);
  return all;
}

std::string TemplateOf(const Model& model, const EmbeddingOptions& options) {
  if (options.task != EmbeddingTask::kRank) return {};
  const char* own = llama_model_chat_template(model.get(), "rerank");
  auto text = options.rank_template.empty() ? std::string(own ? own : "") : options.rank_template;
  if (!text.empty() && (text.find(kQuery) == std::string::npos || text.find(kDocument) == std::string::npos)) {
    throw LoadError("the rerank template for model file " + options.model_path +
                    " must contain {query} and {document}");
  }
  return text;
}

}  // namespace

TextReader::TextReader(const Model& model, const EmbeddingOptions& options, int32_t n_context)
    : model_(model),
      task_(options.task),
      n_context_(static_cast<size_t>(n_context)),
      control_texts_(model.vocab()),
      template_(TemplateOf(model, options)) {
  const std::array sample{PromptPart{.text = "a"}};
  const auto whole = model.Tokenize(sample);
  const auto inner = model.TokenizeInner(sample.front().text);
  const auto found = std::ranges::search(whole, inner);
  begin_.assign(whole.begin(), found.begin());
  end_.assign(found.end(), whole.end());

  const auto* vocab = model.vocab();
  if (llama_vocab_get_add_eos(vocab)) {
    between_.push_back(llama_vocab_eos(vocab) == LLAMA_TOKEN_NULL ? llama_vocab_sep(vocab) : llama_vocab_eos(vocab));
  }
  if (llama_vocab_get_add_sep(vocab)) between_.push_back(llama_vocab_sep(vocab));
  std::erase(between_, LLAMA_TOKEN_NULL);
  if (task_ == EmbeddingTask::kRank && template_.empty() && between_.empty()) {
    throw LoadError("model file " + options.model_path +
                    " names neither a rerank template nor a token between query and document");
  }
  if (begin_.size() + between_.size() + end_.size() + 1 > n_context_) {
    throw LoadError("a text of " + std::to_string(n_context) + " tokens is too short for model file " +
                    options.model_path);
  }
}

std::vector<llama_token> TextReader::Read(const EmbeddingRequest& request, size_t index) const {
  auto name =
      (task_ == EmbeddingTask::kEmbed ? "the text at index " : "the document at index ") + std::to_string(index);
  if (const auto* given = std::get_if<std::vector<int32_t>>(&request.texts[index]))
    return ReadTokens(*given, name, request.truncation);
  const Text text{std::get<std::string>(request.texts[index]), std::move(name)};
  auto tokens = task_ == EmbeddingTask::kEmbed ? ReadText(text, request.truncation)
                : template_.empty()            ? ReadPair(request.query, text, request.truncation)
                                               : ReadTemplate(request.query, text, request.truncation);
  if (tokens.empty()) throw TextError{ErrorCode::kEmptyPrompt, text.name + " is empty", 0};
  return tokens;
}

TextReader::Inner TextReader::ReadInner(const std::string& text, size_t n_room, Truncation truncation) const {
  const size_t n_bytes = (n_room + 1) * kBytesPerToken;
  if (text.size() > n_bytes) {
    auto tokens =
        model_.TokenizeInner(truncation == Truncation::kStart ? EndOf(text, n_bytes) : BeginningOf(text, n_bytes));
    // The tokens beside the cut may be others than those of the whole text.
    if (tokens.size() > n_room + kBytesPerToken) return {std::move(tokens), false};
  }
  return {model_.TokenizeInner(text), true};
}

std::vector<llama_token> TextReader::ReadTokens(const std::vector<int32_t>& tokens, const std::string& name,
                                                Truncation truncation) const {
  if (task_ != EmbeddingTask::kEmbed)
    throw TextError{ErrorCode::kFailed, name + " is a list of tokens, but a reranker reads texts", 0};
  if (tokens.empty()) throw TextError{ErrorCode::kEmptyPrompt, name + " is empty", 0};
  const int32_t n_vocab = llama_vocab_n_tokens(model_.vocab());
  const auto unknown = std::ranges::find_if(tokens, [&](int32_t token) { return token < 0 || token >= n_vocab; });
  if (unknown != tokens.end()) {
    const auto number = std::to_string(*unknown);
    throw TextError{
        ErrorCode::kFailed,
        name + " has the token " + number + ", but the tokens of the model are 0 to " + std::to_string(n_vocab - 1), 0};
  }
  std::vector<llama_token> kept(tokens);
  if (kept.size() <= n_context_) return kept;
  if (truncation == Truncation::kNone) throw TooLong(name, kept.size(), true, "");
  Truncate(kept, n_context_, truncation);
  return kept;
}

std::vector<llama_token> TextReader::ReadText(const Text& text, Truncation truncation) const {
  return Joined(begin_, ReadRest(text, begin_.size() + end_.size(), "", truncation), end_);
}

std::vector<llama_token> TextReader::ReadPair(const std::string& query, const Text& document,
                                              Truncation truncation) const {
  const size_t n_around = begin_.size() + between_.size() + end_.size();
  const auto [query_tokens, is_complete] = ReadInner(query, n_context_ - n_around, Truncation::kNone);
  const size_t n_used = query_tokens.size() + n_around;
  if (n_used > n_context_) throw TooLong("the query", n_used, is_complete, "");
  return Joined(begin_, query_tokens, between_, ReadRest(document, n_used, kTogether, truncation), end_);
}

std::vector<llama_token> TextReader::ReadRest(const Text& text, size_t n_used, const char* together,
                                              Truncation truncation) const {
  const size_t n_room = n_context_ - n_used;
  auto [tokens, is_complete] = ReadInner(text.content, n_room, truncation);
  if (tokens.size() <= n_room) return tokens;
  if (truncation == Truncation::kNone) throw TooLong(text.name, tokens.size() + n_used, is_complete, together);
  Truncate(tokens, n_room, truncation);
  return tokens;
}

void TextReader::Truncate(std::vector<llama_token>& tokens, size_t n_room, Truncation truncation) {
  if (truncation == Truncation::kEnd)
    tokens.resize(n_room);
  else
    tokens.erase(tokens.begin(), tokens.end() - static_cast<std::ptrdiff_t>(n_room));
}

std::vector<llama_token> TextReader::ReadTemplate(const std::string& query, const Text& document,
                                                  Truncation truncation) const {
  const size_t n_most = (n_context_ + 1) * kBytesPerToken;
  bool is_complete = query.size() <= n_most && document.content.size() <= n_most;
  std::string kept_query = BeginningOf(query, n_most);
  std::string kept =
      truncation == Truncation::kStart ? EndOf(document.content, n_most) : BeginningOf(document.content, n_most);
  auto tokens = FillTemplate(kept_query, kept);
  if (!is_complete && tokens.size() <= n_context_) {  // so few tokens that the rest may fit, too
    is_complete = true;
    kept_query = query;
    kept = document.content;
    tokens = FillTemplate(kept_query, kept);
  }
  if (tokens.size() <= n_context_) return tokens;
  if (truncation == Truncation::kNone) throw TooLong(document.name, tokens.size(), is_complete, kTogether);
  // The document loses the text of as many tokens as there are too many. Where tokens join others at the cut, it loses
  // more.
  while (tokens.size() > n_context_) {
    if (kept.empty()) throw TooLong("the query", tokens.size(), is_complete, "");
    const auto pieces = model_.TokenizeInner(kept);
    const size_t n_lost = std::min(tokens.size() - n_context_, pieces.size());
    const std::span<const llama_token> all(pieces);
    size_t n_bytes = n_lost == pieces.size() ? kept.size() : 0;
    for (const auto token : truncation == Truncation::kStart ? all.first(n_lost) : all.last(n_lost))
      n_bytes += std::max<size_t>(model_.Piece(token).size(), 1);
    const size_t n_kept = kept.size() - std::min(n_bytes, kept.size());
    kept = truncation == Truncation::kStart ? EndOf(kept, n_kept) : BeginningOf(kept, n_kept);
    tokens = FillTemplate(kept_query, kept);
  }
  return tokens;
}

std::vector<llama_token> TextReader::FillTemplate(std::string_view query, std::string_view document) const {
  const std::array<std::string_view, 3> texts{template_, query, document};
  const auto mark = ControlTexts::ChooseMark(texts);
  const auto marked_query = control_texts_.Mark(query, mark);
  const auto marked_document = control_texts_.Mark(document, mark);
  std::string filled;
  for (size_t at = 0; at < template_.size();) {
    const std::string_view rest = std::string_view(template_).substr(at);
    if (rest.starts_with(kQuery)) {
      filled += marked_query;
      at += kQuery.size();
    } else if (rest.starts_with(kDocument)) {
      filled += marked_document;
      at += kDocument.size();
    } else {
      filled += template_[at++];
    }
  }
  // The template has all tokens that the model wants. Another one at the end would change the score.
  return model_.TokenizeInner(control_texts_.Split(filled, mark));
}

TextError TextReader::TooLong(const std::string& name, size_t n_tokens, bool is_complete, const char* together) const {
  auto message = name + " has " + (is_complete ? "" : "more than ") + std::to_string(n_tokens) + " tokens" + together +
                 ", the limit is " + std::to_string(n_context_);
  return {ErrorCode::kPromptTooLong, std::move(message), static_cast<int32_t>(n_tokens)};
}

}  // namespace aana::llama
