#pragma once

#include <llama.h>

#include <memory>
#include <span>

#include "core/deleter.h"
#include "core/llama/request.h"

namespace aana::llama {

// Picks the tokens of one request: penalties, top-k, top-p, min-p, temperature, then a draw; the likeliest token at temperature 0.
class Sampler {
 public:
  // The repetition penalty looks at the prompt's last tokens too.
  Sampler(const SamplingParams& params, const llama_vocab* vocab, std::span<const llama_token> prompt);

  // The next token from the logits of the batch's token `index` in the last decode of `context`.
  llama_token Sample(llama_context* context, int32_t index);

 private:
  std::unique_ptr<llama_sampler, Deleter<llama_sampler_free>> chain_;
};

}  // namespace aana::llama
