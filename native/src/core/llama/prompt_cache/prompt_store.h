#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/llama/model/adapter_use.h"
#include "core/llama/model/model.h"
#include "core/llama/prompt_cache/prompt_cache.h"

namespace aana::llama {

// The prompt cache of one loaded model: its keys name the model's files, the form of the context, the adapter and the
// tenant.
class PromptStore {
 public:
  // Throws LoadError when the folder cannot be used.
  PromptStore(const Model& model, const Context& context, const LoadOptions& options);

  // Fetches the saved prompt that has most of `tokens`, if it has much more of them than the `n_there` that are there.
  // False when there is none.
  bool Fetch(const AdapterUse& adapter, const std::string& tenant, std::span<const llama_token> tokens, size_t n_there,
             PromptCache::OnFetched on_fetched);
  // Saves these tokens with what `state` returns, if that is worth it.
  void Save(const AdapterUse& adapter, const std::string& tenant, const std::vector<llama_token>& tokens,
            const std::function<StateBytes(uint64_t max_bytes)>& state);

 private:
  std::string KeyOf(const AdapterUse& adapter, const std::string& tenant) const;

  std::vector<std::string> adapters_;  // what identifies them
  std::string model_;                  // the same of the model and its context
  PromptCache cache_;
};

}  // namespace aana::llama
