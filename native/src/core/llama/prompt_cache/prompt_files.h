#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/llama/prompt_cache/state_bytes.h"
#include "core/llama/sampling/params.h"

namespace aana::llama {

// Consecutive tokens of a prompt, and what a model computed for them.
struct PromptBlock {
  std::string key;     // of what else the state depends on: the model, the adapter, the tenant
  uint64_t first = 0;  // the position of the first of these tokens
  std::vector<TokenId> tokens;
  StateBytes state;
};

// A folder with a file for each block. Several processes can use it at the same time, also for several models: `model`
// is the model of this one. Files are named by numbers. A file appears as a whole, and is found damaged by its
// checksums. Files with other names are left alone. All functions may throw std::filesystem::filesystem_error or
// std::runtime_error, which name the file.
class PromptFiles {
 public:
  // Makes the folder, which is for this user only, and removes what writers that were ended have left. All files
  // together have at most `max_bytes`.
  PromptFiles(std::filesystem::path folder, const std::string& model, uint64_t max_bytes);

  // Returns the numbers of the model's files; nothing when the folder is gone.
  std::vector<uint64_t> List() const;
  // Returns the state of these tokens. Empty when the file is gone, has other tokens or another key, or is damaged. A
  // damaged file is deleted. No more memory is taken than for a file of `max_bytes`.
  std::optional<StateBytes> Read(uint64_t number, const std::string& key, uint64_t first,
                                 std::span<const TokenId> tokens) const;
  void Write(uint64_t number, const PromptBlock& block) const;
  // Deletes files, those that were used the longest ago first, until so many bytes can be added.
  void MakeRoom(uint64_t n_bytes) const;
  // Notes that these files were used, the first one last, so that the last one is deleted first.
  void Touch(std::span<const uint64_t> numbers) const;

  // The size of the file.
  static uint64_t SizeOf(const PromptBlock& block);
  uint64_t max_bytes() const { return max_bytes_; }

 private:
  std::filesystem::path PathOf(uint64_t number) const;

  std::filesystem::path folder_;
  std::string prefix_;  // of the names of the model's files
  uint64_t max_bytes_;
};

}  // namespace aana::llama
