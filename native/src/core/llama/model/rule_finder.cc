#include "core/llama/model/rule_finder.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "core/llama/sampling/sampling_error.h"

namespace aana::llama {
namespace {

// Tokens of a breaker after its first, as in llama.cpp; a longer one is cut.
constexpr size_t kMaxBreakerTail = 20;

void CheckTokens(std::span<const TokenId> tokens, int32_t n_vocab, const std::string& name) {
  for (const auto token : tokens) {
    if (token >= 0 && token < n_vocab) continue;
    throw SamplingError(Fault::kCaller, name + " has token " + std::to_string(token) +
                                            "; the model's tokens are 0 to " + std::to_string(n_vocab - 1));
  }
}

}  // namespace

RuleFinder::RuleFinder(const Model& model) : model_(model), grammars_(model) {
  for (TokenId token = 0; token < model.n_vocab(); token++) {
    if (model.EndsGeneration(token)) end_tokens_.push_back(token);
  }
  int32_t n_suppressed = 0;
  const auto* suppressed = llama_vocab_get_suppress_tokens(model.vocab(), &n_suppressed);
  suppressed_.assign(suppressed, suppressed + n_suppressed);
}

TokenRules RuleFinder::Find(const SamplingParams& params, const std::string& cache_key) {
  const int32_t n_vocab = model_.n_vocab();
  for (const auto& [token, bias] : params.logit_bias) CheckTokens(std::span(&token, 1), n_vocab, "logit_bias");
  CheckTokens(params.stop_tokens, n_vocab, "stop_token_ids");
  TokenRules rules;
  rules.never = suppressed_;
  if (params.ignore_eos) rules.never.insert(rules.never.end(), end_tokens_.begin(), end_tokens_.end());
  if (params.min_tokens > 0) {
    rules.ends = end_tokens_;
    rules.ends.insert(rules.ends.end(), params.stop_tokens.begin(), params.stop_tokens.end());
  }
  rules.bad_sequences = FindBadSequences(params.bad_words);
  if (!params.grammar.text.empty()) {
    auto ends = end_tokens_;
    ends.insert(ends.end(), params.stop_tokens.begin(), params.stop_tokens.end());
    rules.grammar.emplace(grammars_.Find(params.grammar, std::move(ends), cache_key));
  }
  if (IsActive(params.dry)) rules.dry_breakers = FindDryBreakers(params.dry.sequence_breakers, cache_key);
  return rules;
}

std::vector<std::vector<TokenId>> RuleFinder::FindBadSequences(const std::vector<std::string>& words) {
  std::vector<std::vector<TokenId>> sequences;
  for (size_t i = 0; i < words.size(); i++) {
    const auto begin = words[i].find_first_not_of(' ');
    if (begin == std::string::npos)
      throw SamplingError(Fault::kCaller, "bad_words[" + std::to_string(i) + "] is empty");
    const auto word = words[i].substr(begin);
    const auto spaced = " " + word;
    // At the beginning of a text and after a space a word is not the same tokens as inside of one.
    for (const auto& text : {word, spaced}) {
      auto tokens = model_.TokenizeInner(text);
      if (!tokens.empty()) sequences.push_back(std::move(tokens));
      for (const auto token : TokensOf(text)) sequences.push_back({token});
    }
  }
  std::ranges::sort(sequences);
  const auto repeated = std::ranges::unique(sequences);
  sequences.erase(repeated.begin(), repeated.end());
  return sequences;
}

std::shared_ptr<const DryBreakers> RuleFinder::FindDryBreakers(const std::vector<std::string>& texts,
                                                               const std::string& cache_key) {
  if (dry_breakers_ && texts == dry_texts_ && cache_key == dry_cache_key_) return dry_breakers_;
  const auto breakers = std::make_shared<DryBreakers>();
  for (const auto& text : texts) {
    if (text.empty()) continue;
    // tails[n] follows a token that ends with the first n bytes of the breaker.
    std::vector<std::vector<TokenId>> tails(text.size());
    for (size_t n = 1; n < text.size(); n++) tails[n] = CutTail(text.substr(n));
    for (TokenId token = 0; const auto& piece : pieces()) {
      const TokenId head = token++;
      if (piece.find(text) != std::string::npos) {
        breakers->Add(std::span(&head, 1));
        continue;
      }
      // The token may have the beginning of the breaker at its end; the rest follows in other tokens.
      for (size_t length = std::min(piece.size(), text.size() - 1); length > 0; length--) {
        if (!std::string_view(piece).ends_with(std::string_view(text).substr(0, length))) continue;
        std::vector<TokenId> sequence = {head};
        sequence.insert(sequence.end(), tails[length].begin(), tails[length].end());
        breakers->Add(sequence);
      }
    }
  }
  dry_texts_ = texts;
  dry_cache_key_ = cache_key;
  dry_breakers_ = breakers;
  return dry_breakers_;
}

std::vector<TokenId> RuleFinder::CutTail(const std::string& tail) const {
  auto tokens = model_.TokenizeInner(tail);
  tokens.resize(std::min(tokens.size(), kMaxBreakerTail));
  return tokens;
}

const std::vector<std::string>& RuleFinder::pieces() {
  if (!pieces_.empty()) return pieces_;
  for (TokenId token = 0; token < model_.n_vocab(); token++) pieces_.push_back(model_.Piece(token));
  return pieces_;
}

std::span<const TokenId> RuleFinder::TokensOf(const std::string& piece) {
  if (tokens_by_piece_.empty()) {
    for (TokenId token = 0; const auto& each : pieces()) tokens_by_piece_[each].push_back(token++);
  }
  const auto found = tokens_by_piece_.find(piece);
  return found == tokens_by_piece_.end() ? std::span<const TokenId>() : found->second;
}

}  // namespace aana::llama
