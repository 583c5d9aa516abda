#include "core/llama/gguf/quantize.h"

#include <llama.h>

#include <array>
#include <stdexcept>
#include <utility>

namespace aana {
namespace {

constexpr std::array<std::pair<const char*, llama_ftype>, 15> kTypes = {{
    {"f16", LLAMA_FTYPE_MOSTLY_F16},
    {"bf16", LLAMA_FTYPE_MOSTLY_BF16},
    {"q8_0", LLAMA_FTYPE_MOSTLY_Q8_0},
    {"q6_k", LLAMA_FTYPE_MOSTLY_Q6_K},
    {"q5_k_m", LLAMA_FTYPE_MOSTLY_Q5_K_M},
    {"q5_k_s", LLAMA_FTYPE_MOSTLY_Q5_K_S},
    {"q5_1", LLAMA_FTYPE_MOSTLY_Q5_1},
    {"q5_0", LLAMA_FTYPE_MOSTLY_Q5_0},
    {"q4_k_m", LLAMA_FTYPE_MOSTLY_Q4_K_M},
    {"q4_k_s", LLAMA_FTYPE_MOSTLY_Q4_K_S},
    {"q4_1", LLAMA_FTYPE_MOSTLY_Q4_1},
    {"q4_0", LLAMA_FTYPE_MOSTLY_Q4_0},
    {"iq4_nl", LLAMA_FTYPE_MOSTLY_IQ4_NL},
    {"q3_k_m", LLAMA_FTYPE_MOSTLY_Q3_K_M},
    {"q2_k", LLAMA_FTYPE_MOSTLY_Q2_K},
}};

// Rows of tensors that are in memory at the same time.
constexpr size_t kBufferBytes = size_t{1} << 30;

}  // namespace

void QuantizeModel(const std::string& source, const std::string& target, const std::string& type, int threads) {
  auto params = llama_model_quantize_default_params();
  bool is_known = false;
  for (const auto& [name, ftype] : kTypes) {
    if (type != name) continue;
    params.ftype = ftype;
    is_known = true;
  }
  if (!is_known) throw std::runtime_error("there is no weight type " + type);
  params.nthread = threads;
  params.allow_requantize = true;
  params.max_buf_size = kBufferBytes;
  if (llama_model_quantize(source.c_str(), target.c_str(), &params) != 0) {
    throw std::runtime_error("llama.cpp cannot write the model as " + type);
  }
}

}  // namespace aana
