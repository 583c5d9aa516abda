#include "core/llama/model/grammar_finder.h"

#include <utility>

#include "core/llama/sampling/sampling_error.h"

namespace aana::llama {
namespace {

// Longer ends of cut answers are refused before the answer begins.
constexpr uint32_t kMaxRuleClosingBytes = 16U << 10;

}  // namespace

GrammarMatcher GrammarFinder::Find(const GrammarParams& params, std::vector<TokenId> ends,
                                   const std::string& cache_key) {
  const auto grammar = cache_.Find(
      cache_key, params.text, params.root, [this](const std::string& text) { return model_.FindToken(text); },
      params.quotable.get());
  const auto& automaton = grammar->automaton();
  if (const auto cost = automaton.CostOf(automaton.StartOf(automaton.root()));
      params.closes && cost > kMaxRuleClosingBytes) {
    throw SamplingError(Fault::kCaller, "an answer that is cut cannot be closed: the shortest answer has " +
                                            std::to_string(cost) + " bytes, more than " +
                                            std::to_string(kMaxRuleClosingBytes));
  }
  if (!trie_) {
    std::vector<std::string> pieces;
    for (TokenId token = 0; token < model_.n_vocab(); token++) pieces.push_back(model_.Piece(token));
    trie_ = std::make_shared<const TokenTrie>(std::move(pieces));
  }
  GrammarMatcher::Tokens tokens{.trie = trie_, .ends = std::move(ends), .visible = {}};
  for (const auto token : params.visible_tokens) tokens.visible[token] = model_.PieceOrControlText(token);
  GrammarMatcher matcher(grammar, std::move(tokens), params.trigger_words);
  if (!matcher.Skip(params.prefix)) {
    throw SamplingError(Fault::kDeployment, "the grammar does not allow the text that comes before the answer");
  }
  return matcher;
}

}  // namespace aana::llama
