#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/llama/grammar/grammar_cache.h"
#include "core/llama/grammar/matcher.h"
#include "core/llama/grammar/token_trie.h"
#include "core/llama/model/model.h"
#include "core/llama/sampling/params.h"

namespace aana::llama {

// Compiles the grammars of requests for a model. One thread.
class GrammarFinder {
 public:
  // The model must outlive it.
  explicit GrammarFinder(const Model& model) : model_(model) {}

  // Returns the beginning of a text under the grammar; `ends` are the tokens that end an answer. Only requests with the
  // same `cache_key` share what was compiled. Throws SamplingError (fault kCaller).
  GrammarMatcher Find(const GrammarParams& params, std::vector<TokenId> ends, const std::string& cache_key);

 private:
  static constexpr size_t kMaxGrammars = 32;
  static constexpr size_t kMaxBytes = 128U << 20;

  const Model& model_;
  std::shared_ptr<const TokenTrie> trie_;  // made for the first grammar
  GrammarCache cache_{kMaxGrammars, kMaxBytes};
};

}  // namespace aana::llama
