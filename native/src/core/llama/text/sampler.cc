#include "core/llama/text/sampler.h"

#include <algorithm>

namespace aana::llama {
namespace {

// Tokens back that the repetition penalty looks at.
constexpr int32_t kPenaltyWindow = 64;

}  // namespace

Sampler::Sampler(const SamplingParams& params, const llama_vocab* vocab, std::span<const llama_token> prompt)
    : chain_(llama_sampler_chain_init(llama_sampler_chain_default_params())) {
  auto* chain = chain_.get();
  if (params.repetition_penalty > 0.0F && params.repetition_penalty != 1.0F) {
    const int32_t n_vocab = llama_vocab_n_tokens(vocab);
    llama_sampler_chain_add(chain, llama_sampler_init_penalties(n_vocab, kPenaltyWindow, params.repetition_penalty, 0.0F, 0.0F));
    const auto n_recent = std::min<size_t>(prompt.size(), kPenaltyWindow);
    for (const auto token : prompt.last(n_recent)) llama_sampler_accept(chain, token);
  }
  if (params.temperature <= 0.0F) {
    llama_sampler_chain_add(chain, llama_sampler_init_greedy());
    return;
  }
  if (params.top_k > 0) llama_sampler_chain_add(chain, llama_sampler_init_top_k(params.top_k));
  if (params.top_p < 1.0F) llama_sampler_chain_add(chain, llama_sampler_init_top_p(params.top_p, 1));
  if (params.min_p > 0.0F) llama_sampler_chain_add(chain, llama_sampler_init_min_p(params.min_p, 1));
  llama_sampler_chain_add(chain, llama_sampler_init_temp(params.temperature));
  llama_sampler_chain_add(chain, llama_sampler_init_dist(params.seed));
}

llama_token Sampler::Sample(llama_context* context, int32_t index) { return llama_sampler_sample(chain_.get(), context, index); }

}  // namespace aana::llama
