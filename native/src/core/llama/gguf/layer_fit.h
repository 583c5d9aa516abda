#pragma once

#include <llama.h>

#include <string>
#include <utility>
#include <vector>

namespace aana::llama {

// How much of a model fits on the GPUs, measured by llama.cpp without loading the weights. The parameters of the load
// point into it.
class LayerFit {
 public:
  // `context` are the parameters of the context that needs room too.
  LayerFit(std::string path, const llama_context_params& context) : path_(std::move(path)), context_(context) {}

  // Sets what of the model lies on the GPUs of `params`, so that 1 GiB of each stays free. Where no GPU is or nothing
  // fits, all of it lies in the memory of the processor.
  void Apply(llama_model_params& params);

 private:
  std::string path_;
  llama_context_params context_;
  std::vector<float> tensor_split_;
  std::vector<llama_model_tensor_buft_override> overrides_;
};

}  // namespace aana::llama
