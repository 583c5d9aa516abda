#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/llama/model/grammar_finder.h"
#include "core/llama/model/model.h"
#include "core/llama/sampling/params.h"
#include "core/llama/sampling/token_rules.h"

namespace aana::llama {

// Finds what the texts in sampling parameters are in the tokens of a model. One thread.
class RuleFinder {
 public:
  // The model must outlive it.
  explicit RuleFinder(const Model& model);

  // Only requests with the same `cache_key` share what was found. Throws SamplingError (fault kCaller), which names the
  // parameter, for a token that the vocabulary does not have, and for a text that has no tokens.
  TokenRules Find(const SamplingParams& params, const std::string& cache_key);

 private:
  std::vector<std::vector<TokenId>> FindBadSequences(const std::vector<std::string>& words);
  std::shared_ptr<const DryBreakers> FindDryBreakers(const std::vector<std::string>& texts,
                                                     const std::string& cache_key);
  std::vector<TokenId> CutTail(const std::string& tail) const;
  // The bytes of each token, made when they are needed first.
  const std::vector<std::string>& pieces();
  // The tokens that are exactly these bytes.
  std::span<const TokenId> TokensOf(const std::string& piece);

  const Model& model_;
  GrammarFinder grammars_;
  std::vector<TokenId> end_tokens_;
  std::vector<TokenId> suppressed_;
  std::vector<std::string> pieces_;
  std::unordered_map<std::string_view, std::vector<TokenId>> tokens_by_piece_;  // the keys are in pieces_
  // Those of the last request with DRY: most requests have the same.
  std::vector<std::string> dry_texts_;
  std::string dry_cache_key_;
  std::shared_ptr<const DryBreakers> dry_breakers_;
};

}  // namespace aana::llama
