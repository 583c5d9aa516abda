#pragma once

#include <llama.h>

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "core/deleter.h"
#include "core/llama/sampling/candidates.h"
#include "core/llama/sampling/stages/mirostat.h"

// llama.cpp's samplers beside ours.
namespace aana::test {

using Upstream = std::unique_ptr<llama_sampler, Deleter<llama_sampler_free>>;
using Probabilities = std::map<llama::TokenId, double>;

std::vector<llama_token_data> ToUpstream(std::span<const float> logits);

// Returns the tokens that upstream's samplers leave, with the probabilities that their logits then have.
Probabilities Apply(const std::vector<llama_sampler*>& samplers, std::span<const float> logits);
Probabilities ProbabilitiesOf(const llama::Candidates& candidates);

// Expects the same tokens with the same probabilities. Upstream sums floats, so unlikely tokens at the very end of a
// sum may be on one side only; the probabilities are those among the tokens that both have.
void ExpectSame(const Probabilities& ours, const Probabilities& theirs);

// Our mirostat and upstream's, which both learn from the same tokens.
class Mirostats {
 public:
  Mirostats(const llama::MirostatParams& params, int32_t n_vocabulary, float temperature);

  // Lets both select from the logits. Expects the same tokens, and both learn from the one that upstream draws.
  void Select(std::span<const float> logits);

 private:
  llama::Mirostat ours_;
  Upstream theirs_;
  Upstream temperature_;
  float value_;
};

}  // namespace aana::test
