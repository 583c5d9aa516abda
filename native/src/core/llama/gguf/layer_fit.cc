#include "core/llama/gguf/layer_fit.h"

#include <fit.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>

#include "core/engine_log.h"

namespace aana::llama {
namespace {

constexpr size_t kMargin = size_t{1} << 30;

// It changes the logger of llama.cpp while it measures.
std::mutex measuring;

}  // namespace

void LayerFit::Apply(llama_model_params& params) {
  const std::lock_guard lock(measuring);
  tensor_split_.assign(llama_max_devices(), 0.0F);
  overrides_.assign(llama_max_tensor_buft_overrides(), {nullptr, nullptr});
  std::vector<size_t> margins(llama_max_devices(), kMargin);
  params.n_gpu_layers = llama_model_default_params().n_gpu_layers;  // it changes no other value
  params.tensor_split = nullptr;
  // The length of the context was chosen, and stays.
  constexpr auto kLeastContext = std::numeric_limits<uint32_t>::max();
  const auto status = common_fit_params(path_.c_str(), &params, &context_, tensor_split_.data(), overrides_.data(),
                                        margins.data(), kLeastContext, nullptr, GGML_LOG_LEVEL_ERROR);
  if (status == COMMON_PARAMS_FIT_STATUS_SUCCESS) {
    Log(LogLevel::kInfo, "layers on GPUs: " + (params.n_gpu_layers < 0 ? std::string("all that the model has")
                                                                       : std::to_string(params.n_gpu_layers)));
    return;
  }
  Log(LogLevel::kWarn, "no layers are put on a GPU, because how many fit could not be found");
  params.n_gpu_layers = 0;
  params.tensor_split = nullptr;
  params.tensor_buft_overrides = nullptr;
}

}  // namespace aana::llama
