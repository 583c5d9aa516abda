#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/llama/prompt_cache/state_bytes.h"
#include "core/llama/sampling/params.h"

namespace aana::llama {

// Tokens and what a model computed for them.
struct SavedPrompt {
  std::string key;  // of what else the state depends on: the model, the adapter, the tenant
  std::vector<TokenId> tokens;
  StateBytes state;
};

// A file of a folder, without its state.
struct PromptFile {
  std::string name;
  std::string key;
  std::vector<TokenId> tokens;
};

// A folder with a file for each saved prompt. Several processes can use it at the same time, also for several models:
// `model` is the model of this one. A file appears as a whole, and is found damaged by its checksums. Files with other
// names are left alone. All functions may throw std::filesystem::filesystem_error or std::runtime_error, which name the
// file.
class PromptFiles {
 public:
  // Makes the folder, which is for this user only, and removes what writers that were ended have left. All files
  // together have at most `max_bytes`.
  PromptFiles(std::filesystem::path folder, const std::string& model, uint64_t max_bytes);

  // Returns the files of the model. Those that are damaged are deleted.
  std::vector<PromptFile> List() const;
  // Returns the names of the model's files.
  std::vector<std::string> Names() const;
  // Empty when the file is gone or damaged; then it is deleted.
  std::optional<PromptFile> ReadHead(const std::string& name) const;
  std::optional<SavedPrompt> Read(const std::string& name) const;
  // Returns the name of the file; empty when it would have more than all files may have. The files that were used the
  // longest ago are deleted before.
  std::string Write(const SavedPrompt& prompt);
  // Notes that a file was used.
  void Touch(const std::string& name) const;
  void Remove(const std::string& name) const;

  uint64_t max_bytes() const { return max_bytes_; }

 private:
  std::optional<SavedPrompt> ReadOrRemove(const std::string& name, bool with_state) const;
  void MakeRoom(uint64_t n_bytes, const std::string& except) const;

  std::filesystem::path folder_;
  std::string prefix_;  // of the names of the model's files
  uint64_t max_bytes_;
  uint64_t n_written_ = 0;
};

}  // namespace aana::llama
