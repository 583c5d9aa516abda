#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/llama/sampling/candidates.h"
#include "core/llama/sampling/stages/mirostat.h"
#include "core/llama/sampling/params.h"
#include "core/llama/sampling/stages/penalties.h"
#include "core/llama/sampling/random.h"
#include "core/llama/sampling/token_rules.h"

namespace aana::llama {

// Memory for choosing a token, which the samplers of a thread share: as large as the vocabulary.
struct SamplingMemory {
  Candidates candidates;
  std::vector<float> weights;
  std::vector<size_t> lengths;
  std::vector<float> raw_logits;  // of a token whose log-probability is wanted
};

// Chooses the tokens of one request. The stages have the order of llama.cpp's chain (common/sampling.cpp): logit bias,
// penalties, DRY, top-k, typical, top-p, min-p, XTC, temperature, a draw. Tokens that must not come, such as those
// against the grammar, are taken out before top-k, so nothing brings them back. At temperature 0 the likeliest token
// after DRY is chosen. Mirostat takes the place of the stages from top-k to XTC.
class Sampler {
 public:
  // All tokens in `params`, `rules` and `prompt` are tokens of the vocabulary.
  Sampler(SamplingParams params, TokenRules rules, std::span<const TokenId> prompt);

  // The token after `history`, which is the prompt and all tokens chosen before, without those that left it. Changes
  // the logits. Throws SamplingError.
  TokenId Sample(std::span<float> logits, std::span<const TokenId> history, SamplingMemory& memory);

  // Tokens left the history, and `n_prompt` tokens of the prompt are left in it. Penalties and min_tokens still count
  // what left it.
  void NoteShift(size_t n_prompt) { n_prompt_ = n_prompt; }

  // Where the text of the sampled tokens is in its grammar; null without a grammar.
  GrammarMatcher* grammar() { return rules_.grammar ? &*rules_.grammar : nullptr; }

 private:
  // The stages up to DRY and the forbidden tokens, in place. Returns whether it took a token away.
  bool Adjust(std::span<float> logits, std::span<const TokenId> history, SamplingMemory& memory);
  // The stages after Adjust.
  TokenId Choose(std::span<const float> logits, bool has_forbidden, SamplingMemory& memory);
  TokenId ChooseInGrammar(std::span<float> logits, bool has_forbidden, SamplingMemory& memory);
  TokenId Draw(std::span<const float> logits, Largest largest, SamplingMemory& memory);
  TokenId DrawFromAll(std::span<const float> logits, Largest largest, std::vector<float>& weights);
  // The stages after Adjust up to the temperature.
  void SelectCandidates(std::span<const float> logits, Largest largest, Candidates& candidates);
  // No stage takes candidates away.
  bool DrawsFromAll(size_t n_vocab) const;
  bool HasTopK(size_t n_vocab) const { return params_.top_k > 0 && static_cast<size_t>(params_.top_k) < n_vocab; }

  SamplingParams params_;
  TokenRules rules_;
  size_t n_prompt_;
  int32_t n_sampled_ = 0;
  TokenCounts counts_;  // only with penalties
  std::optional<Mirostat> mirostat_;
  Random random_;
};

}  // namespace aana::llama
