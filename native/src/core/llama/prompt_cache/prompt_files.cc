#include "core/llama/prompt_cache/prompt_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#ifndef _WIN32
#include <unistd.h>
#endif

#include "core/engine_log.h"
#include "core/checksum.h"

namespace aana::llama {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".prompt";
constexpr std::string_view kUnfinishedEnding = ".prompt.tmp";
constexpr std::array<char, 8> kMagic{'a', 'a', 'n', 'a', 'p', 'r', '0', '2'};
constexpr uint64_t kMostKeyBytes = 1U << 16;
constexpr uint64_t kMostFileTokens = 1U << 26;
// A writer that runs has changed its file more recently.
constexpr auto kAbandonedAfter = std::chrono::minutes(10);

// The beginning of a file. The key, the tokens and the state follow.
struct Head {
  std::array<char, 8> magic = kMagic;
  uint64_t n_key = 0;
  uint64_t first = 0;
  uint64_t n_tokens = 0;
  uint64_t n_state = 0;
  uint64_t sum = 0;  // of the numbers above, the key, the tokens and the state

  uint64_t n_bytes() const { return sizeof(Head) + n_key + n_tokens * sizeof(TokenId) + n_state; }
};

Head HeadOf(const PromptBlock& block) {
  Head head;
  head.n_key = block.key.size();
  head.first = block.first;
  head.n_tokens = block.tokens.size();
  head.n_state = block.state.size;
  uint64_t sum = Checksum(&head, offsetof(Head, sum));
  sum = Checksum(block.key.data(), block.key.size(), sum);
  sum = Checksum(block.tokens.data(), block.tokens.size() * sizeof(TokenId), sum);
  head.sum = Checksum(block.state.bytes.get(), block.state.size, sum);
  return head;
}

std::string Hex(uint64_t number) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

constexpr size_t kDigits = 16;

// Names are two numbers of 16 digits and the suffix. Files with other names may belong to somebody else.
bool IsPromptFile(const fs::directory_entry& entry) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  const auto name = entry.path().filename().string();
  std::error_code error;
  return name.size() == 2 * kDigits + 1 + kSuffix.size() && name.ends_with(kSuffix) &&
         name.find_first_not_of(kHexDigits) == kDigits && name[kDigits] == '-' &&
         name.find_first_not_of(kHexDigits, kDigits + 1) == 2 * kDigits + 1 &&
         entry.symlink_status(error).type() == fs::file_type::regular;
}

// Why a file is not what it should be.
struct Damage {
  std::string why;
};

PromptBlock ReadFrom(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const auto read = [&](void* to, uint64_t n) {
    if (!file.read(static_cast<char*>(to), static_cast<std::streamsize>(n)))
      throw Damage{"it is truncated or cannot be read"};
  };
  Head head;
  read(&head, sizeof head);
  if (head.magic != kMagic) throw Damage{"it is no saved prompt of this version"};
  const bool is_plausible =
      head.n_key <= kMostKeyBytes && head.n_tokens <= kMostFileTokens && head.n_state <= SIZE_MAX / 2;
  if (!is_plausible || fs::file_size(path) != head.n_bytes()) throw Damage{"its length is wrong"};
  PromptBlock block;
  block.key.resize(head.n_key);
  block.first = head.first;
  block.tokens.resize(head.n_tokens);
  block.state = StateBytes(head.n_state);
  read(block.key.data(), head.n_key);
  read(block.tokens.data(), head.n_tokens * sizeof(TokenId));
  read(block.state.bytes.get(), head.n_state);
  if (HeadOf(block).sum != head.sum) throw Damage{"its checksum is wrong"};
  return block;
}

}  // namespace

PromptFiles::PromptFiles(fs::path folder, const std::string& model, uint64_t max_bytes)
    : folder_(std::move(folder)), prefix_(Hex(Checksum(model.data(), model.size())) + "-"), max_bytes_(max_bytes) {
  if (fs::create_directories(folder_)) fs::permissions(folder_, fs::perms::owner_all);
  const auto now = fs::file_time_type::clock::now();
  for (const auto& entry : fs::directory_iterator(folder_)) {
    std::error_code error;
    const bool is_unfinished = entry.path().filename().string().ends_with(kUnfinishedEnding);
    if (is_unfinished && entry.last_write_time(error) + kAbandonedAfter < now) fs::remove(entry.path(), error);
  }
#ifndef _WIN32
  if (access(folder_.c_str(), R_OK | W_OK | X_OK) != 0) {
    throw fs::filesystem_error("cannot write", folder_, std::error_code(errno, std::generic_category()));
  }
#endif
}

fs::path PromptFiles::PathOf(uint64_t number) const { return folder_ / (prefix_ + Hex(number) + std::string(kSuffix)); }

std::vector<uint64_t> PromptFiles::List() const {
  std::vector<uint64_t> numbers;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    const auto name = entry.path().filename().string();
    if (name.starts_with(prefix_) && IsPromptFile(entry))
      numbers.push_back(std::stoull(name.substr(prefix_.size(), kDigits), nullptr, 16));
  }
  return numbers;
}

std::optional<PromptBlock> PromptFiles::Read(uint64_t number) const {
  const auto path = PathOf(number);
  std::error_code error;
  // Another process may have deleted it. Opening a pipe would wait for a writer.
  if (fs::symlink_status(path, error).type() != fs::file_type::regular) return std::nullopt;
  try {
    return ReadFrom(path);
  } catch (const Damage& damage) {
    Log(LogLevel::kWarn, "the saved prompt " + path.string() + " is deleted: " + damage.why);
    fs::remove(path, error);
    return std::nullopt;
  }
}

uint64_t PromptFiles::SizeOf(const PromptBlock& block) {
  return sizeof(Head) + block.key.size() + block.tokens.size() * sizeof(TokenId) + block.state.size;
}

void PromptFiles::Write(uint64_t number, const PromptBlock& block) {
  const auto head = HeadOf(block);
  if (head.n_key > kMostKeyBytes) throw std::runtime_error("the name of a user is too long for a file of prompts");
#ifdef _WIN32
  const auto process = std::string("0");
#else
  const auto process = std::to_string(getpid());
#endif
  const auto path = PathOf(number);
  auto unfinished = path;
  unfinished += "." + process + "-" + std::to_string(n_written_++) + std::string(kUnfinishedEnding);
  std::error_code error;
  try {
    std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
    fs::permissions(unfinished, fs::perms::owner_read | fs::perms::owner_write);
    file.write(reinterpret_cast<const char*>(&head), sizeof head);
    file.write(block.key.data(), static_cast<std::streamsize>(head.n_key));
    file.write(reinterpret_cast<const char*>(block.tokens.data()),
               static_cast<std::streamsize>(head.n_tokens * sizeof(TokenId)));
    file.write(reinterpret_cast<const char*>(block.state.bytes.get()), static_cast<std::streamsize>(head.n_state));
    file.close();
    if (!file)
      throw std::runtime_error("the prompt could not be written to " + unfinished.string() + ": the disk may be full");
    fs::rename(unfinished, path);
  } catch (...) {
    fs::remove(unfinished, error);
    throw;
  }
}

void PromptFiles::MakeRoom(uint64_t n_bytes) const {
  struct File {
    fs::path path;
    uint64_t n_bytes;
    fs::file_time_type used_at;
  };
  std::vector<File> files;
  uint64_t n_all = n_bytes;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    std::error_code error;
    if (!IsPromptFile(entry)) continue;
    const auto size = entry.file_size(error);
    if (error) continue;
    files.push_back({entry.path(), size, entry.last_write_time(error)});
    n_all += size;
  }
  std::ranges::sort(files, {}, &File::used_at);
  for (const auto& file : files) {
    if (n_all <= max_bytes_) return;
    std::error_code error;
    fs::remove(file.path, error);
    n_all -= file.n_bytes;
  }
}

void PromptFiles::Touch(std::span<const uint64_t> numbers) const {
  auto used_at = fs::file_time_type::clock::now();
  for (const auto number : numbers) {
    std::error_code error;
    fs::last_write_time(PathOf(number), used_at, error);
    used_at -= std::chrono::microseconds(1);
  }
}

}  // namespace aana::llama
