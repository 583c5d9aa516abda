#include "core/llama/prompt_cache/prompt_store.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <utility>

#include "core/llama/gguf/file_identity.h"
#include "core/llama/model/load_error.h"
#include "core/llama/model/purpose.h"
#include "core/llama/schedule/sequence_memory.h"

namespace aana::llama {
namespace {

namespace fs = std::filesystem;

// Changes when what a file means does.
constexpr int kVersion = 2;
// The files of a model; a split one has several.
std::vector<std::string> FilesOf(const Model& model, const std::string& path) {
  const int n_files = std::atoi(MetadataOf(model.get(), "split.count").value_or("").c_str());
  if (n_files <= 1) return {path};
  std::array<char, 4096> prefix{};
  for (int at = 0; at < n_files; at++) {
    if (llama_split_prefix(prefix.data(), prefix.size(), path.c_str(), at, n_files) <= 0) continue;
    std::vector<std::string> files;
    for (int i = 0; i < n_files; i++) {
      std::array<char, 4200> file{};
      llama_split_path(file.data(), file.size(), prefix.data(), i, n_files);
      files.emplace_back(file.data());
    }
    return files;
  }
  return {path};
}

std::string KvName(const LoadOptions& options) {
  const std::string keys = ggml_type_name(options.key_type);
  const std::string values = ggml_type_name(options.value_type);
  // Without flash attention the values lie in another order.
  return (keys == values ? keys : keys + "," + values) +
         (options.flash_attention == LLAMA_FLASH_ATTN_TYPE_DISABLED ? " turned" : "");
}

// Keys are kept with their positions.
std::string RopeName(const LoadOptions& options) {
  const auto& scaling = options.rope_scaling;
  if (scaling.type == LLAMA_ROPE_SCALING_TYPE_UNSPECIFIED && options.rope_frequency_base == 0) return "";
  std::string name = " rope " + std::to_string(scaling.type) + " " + std::to_string(scaling.n_original);
  for (const float number : {options.rope_frequency_base, scaling.factor, scaling.beta_fast, scaling.beta_slow})
    name += " " + std::to_string(number);
  return name;
}

std::string IdentityOf(const Model& model, const LoadOptions& options) {
  auto identity = "aana " + std::to_string(kVersion) + " llama " + std::to_string(LLAMA_STATE_SEQ_VERSION) + " kv " +
                  KvName(options) + RopeName(options) + (options.keeps_all_windows ? "" : " windows");
  for (const auto& file : FilesOf(model, options.model_path)) identity += " file " + IdentityOfFile(file);
  return identity;
}

// What the constructor of PromptStore needs, with errors that name the option.
template <class Make>
auto Checked(const LoadOptions& options, Make make) {
  try {
    return make();
  } catch (const std::exception& error) {
    throw LoadError("prompts cannot be kept in the folder " + options.prompt_cache.folder + ": " + error.what());
  }
}

}  // namespace

PromptStore::PromptStore(const Model& model, const Context& context, const LoadOptions& options)
    : model_(Checked(options, [&] { return IdentityOf(model, options); })),
      cache_(Checked(options,
                     [&] { return PromptFiles(options.prompt_cache.folder, model_, options.prompt_cache.max_bytes); }),
             static_cast<size_t>(options.prompt_cache.n_least),
             static_cast<uint32_t>(context.has_streams() ? options.n_sequences : 1), !HasWholeStates(model)) {
  for (const auto& path : options.adapters) adapters_.push_back(IdentityOfFile(path));
}

std::string PromptStore::KeyOf(const AdapterUse& adapter, const std::string& tenant) const {
  const auto used = adapter.index < 0 ? std::string("none")
                                      : adapters_.at(static_cast<size_t>(adapter.index)) + " " +
                                            std::to_string(std::bit_cast<uint32_t>(adapter.scale));
  return model_ + "\nadapter " + used + "\ntenant " + tenant;
}

bool PromptStore::Fetch(const AdapterUse& adapter, const std::string& tenant, std::span<const llama_token> tokens,
                        size_t n_there, PromptCache::OnFetched on_fetched) {
  return cache_.Fetch(KeyOf(adapter, tenant), tokens, n_there, std::move(on_fetched));
}

void PromptStore::Save(const AdapterUse& adapter, const std::string& tenant, const std::vector<llama_token>& tokens,
                       const std::function<StateBytes(uint64_t max_bytes)>& state) {
  auto key = KeyOf(adapter, tenant);
  if (!cache_.Wants(key, tokens)) return;
  auto bytes = state(cache_.max_bytes());
  if (bytes.size > 0) cache_.Save({std::move(key), tokens, std::move(bytes)});
}

}  // namespace aana::llama
