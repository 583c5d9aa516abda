#include "core/llama/model/shifting.h"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/llama/model/purpose.h"

namespace aana::llama {
namespace {

// Returns a number of the model's metadata, named without its architecture; 0 when there is none.
int32_t NumberOf(const llama_model* model, const std::string& name) {
  const auto key = MetadataOf(model, "general.architecture").value_or("") + "." + name;
  return static_cast<int32_t>(std::strtol(MetadataOf(model, key).value_or("").c_str(), nullptr, 10));
}

// Whether the positions turn the whole of each key.
bool TurnsWholeKeys(const llama_model* model) {
  const int32_t n_turned = NumberOf(model, "rope.dimension_count");
  const int32_t n_named = NumberOf(model, "attention.key_length");
  const int32_t n_heads = llama_model_n_head(model);
  const int32_t n_key = n_named > 0 || n_heads <= 0 ? n_named : llama_model_n_embd(model) / n_heads;
  return n_turned == 0 || n_turned == n_key;
}

}  // namespace

bool CanShift(llama_context* context, ggml_type key_type) {
  const auto* model = llama_get_model(context);
  if (llama_model_is_recurrent(model) || llama_model_is_hybrid(model)) return false;
  if (!llama_memory_can_shift(llama_get_memory(context))) return false;
  // ggml ends the process when it turns a part of a key that is not whole blocks.
  return !ggml_is_quantized(key_type) || TurnsWholeKeys(model);
}

}  // namespace aana::llama
