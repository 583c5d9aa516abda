#pragma once

#include <llama.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/llama/model/adapter_use.h"
#include "core/llama/model/model.h"

namespace aana::llama {

// The LoRA adapters of an engine, all in memory. They belong to the model, which must outlive this.
class Adapters {
 public:
  // Throws LoadError that names the file and says what is wrong with it.
  Adapters(const Model& model, const std::vector<std::string>& paths);

  // The context computes with this adapter from now on. Throws std::runtime_error.
  void Apply(llama_context* context, const AdapterUse& use) const;

 private:
  std::vector<llama_adapter_lora*> adapters_;  // llama.cpp frees them with the model
};

}  // namespace aana::llama
