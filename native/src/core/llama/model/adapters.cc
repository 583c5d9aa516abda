#include "core/llama/model/adapters.h"

#include <gguf.h>

#include <cmath>
#include <memory>
#include <stdexcept>

#include "core/deleter.h"
#include "core/llama/gguf/gguf_check.h"
#include "core/llama/model/load_error.h"
#include "core/llama/model/purpose.h"

namespace aana::llama {
namespace {

using Header = std::unique_ptr<gguf_context, Deleter<gguf_free>>;

// Empty when the key is missing. Throws LoadError when its value is no text.
std::string TextOf(const Header& header, const std::string& path, const char* key) {
  const auto id = gguf_find_key(header.get(), key);
  if (id < 0) return "";
  if (gguf_get_kv_type(header.get(), id) != GGUF_TYPE_STRING)
    throw LoadError("adapter file " + path + ": " + key + " is not a text");
  return gguf_get_val_str(header.get(), id);
}

// Types of numbers that matrices can have. ggml ends the process for others, such as integers.
bool CanMultiply(ggml_type type) {
  return type == GGML_TYPE_F32 || type == GGML_TYPE_F16 || type == GGML_TYPE_BF16 || ggml_is_quantized(type);
}

// llama.cpp ends the process for some of these.
void CheckAdapter(const Model& model, const std::string& path) {
  CheckGguf(path, "adapter file");
  const Header header(gguf_init_from_file(path.c_str(), {.no_alloc = true, .ctx = nullptr}));
  if (!header) throw LoadError("adapter file " + path + " has a broken or truncated GGUF header");
  if (TextOf(header, path, "general.type") != "adapter" || TextOf(header, path, "adapter.type") != "lora") {
    throw LoadError("file " + path + " is not a LoRA adapter");
  }
  const auto wanted = MetadataOf(model.get(), "general.architecture").value_or("");
  const auto architecture = TextOf(header, path, "general.architecture");
  if (architecture != wanted) {
    throw LoadError("adapter file " + path + " is for a model of the architecture " + architecture + ", not " + wanted);
  }
  const auto alpha = gguf_find_key(header.get(), "adapter.lora.alpha");
  if (alpha >= 0 && gguf_get_kv_type(header.get(), alpha) != GGUF_TYPE_FLOAT32) {
    throw LoadError("adapter file " + path + ": adapter.lora.alpha is not a 32-bit float");
  }
  if (alpha >= 0 && !std::isfinite(gguf_get_val_f32(header.get(), alpha))) {
    throw LoadError("adapter file " + path + ": adapter.lora.alpha is not a finite number");
  }
  for (int64_t i = 0; i < gguf_get_n_tensors(header.get()); i++) {
    const auto type = gguf_get_tensor_type(header.get(), i);
    if (CanMultiply(type)) continue;
    throw LoadError("adapter file " + path + ": the tensor " + gguf_get_tensor_name(header.get(), i) +
                    " has the type " + ggml_type_name(type) + ", which no matrix of an adapter can have");
  }
  if (gguf_find_key(header.get(), "adapter.alora.invocation_tokens") >= 0) {
    throw LoadError("adapter file " + path +
                    " is an activated LoRA, which begins within a prompt; such adapters are not supported");
  }
  if (gguf_get_n_tensors(header.get()) == 0) throw LoadError("adapter file " + path + " has no tensors");
}

}  // namespace

Adapters::Adapters(const Model& model, const std::vector<std::string>& paths) {
  for (const auto& path : paths) {
    CheckAdapter(model, path);
    auto* adapter = llama_adapter_lora_init(model.get(), path.c_str());
    if (!adapter) throw LoadError("adapter file " + path + " does not fit the model");
    adapters_.push_back(adapter);
  }
}

void Adapters::Apply(llama_context* context, const AdapterUse& use) const {
  if (adapters_.empty()) return;
  auto* adapter = use.index < 0 ? nullptr : adapters_.at(static_cast<size_t>(use.index));
  float scale = use.scale;
  if (llama_set_adapters_lora(context, &adapter, adapter ? 1 : 0, &scale) != 0) {
    throw std::runtime_error("llama.cpp cannot compute with adapter " + std::to_string(use.index));
  }
}

}  // namespace aana::llama
