#include "core/llama/prompt_cache/prompt_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/checksum.h"
#include "core/deleter.h"
#include "core/engine_log.h"

namespace aana::llama {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".prompt";
constexpr std::string_view kUnfinishedEnding = ".prompt.tmp";
constexpr std::array<char, 8> kMagic{'a', 'a', 'n', 'a', 'p', 'r', '0', '2'};
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

Head HeadOf(const std::string& key, uint64_t first, std::span<const TokenId> tokens, const StateBytes& state) {
  Head head;
  head.n_key = key.size();
  head.first = first;
  head.n_tokens = tokens.size();
  head.n_state = state.size;
  uint64_t sum = Checksum(&head, offsetof(Head, sum));
  sum = Checksum(key.data(), key.size(), sum);
  sum = Checksum(tokens.data(), tokens.size_bytes(), sum);
  head.sum = Checksum(state.bytes.get(), state.size, sum);
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

using File = std::unique_ptr<std::FILE, Deleter<std::fclose>>;

// Why a file is not what it should be.
struct Damage {
  std::string why;
};

// Reads the state of these tokens from a file of `n_bytes`. Empty when it has others. The numbers of the file are
// trusted only as far as they agree with its length and with what is expected. Throws Damage.
std::optional<StateBytes> ReadFrom(std::FILE* file, uint64_t n_bytes, const std::string& key, uint64_t first,
                                   std::span<const TokenId> tokens) {
  const auto read = [&](void* to, size_t n) {
    if (std::fread(to, 1, n, file) != n) throw Damage{"it is truncated or cannot be read"};
  };
  Head head;
  read(&head, sizeof head);
  if (head.magic != kMagic) throw Damage{"it is no saved prompt of this version"};
  const bool can_be_added = std::max(head.n_key, head.n_state) <= n_bytes && head.n_tokens <= n_bytes / sizeof(TokenId);
  if (!can_be_added || head.n_bytes() != n_bytes) throw Damage{"its length is wrong"};
  if (head.n_key != key.size() || head.first != first || head.n_tokens != tokens.size()) return std::nullopt;
  std::string own_key(key.size(), '\0');
  std::vector<TokenId> own_tokens(tokens.size());
  read(own_key.data(), own_key.size());
  read(own_tokens.data(), tokens.size_bytes());
  if (own_key != key || !std::ranges::equal(own_tokens, tokens)) return std::nullopt;
  StateBytes state(head.n_state);
  read(state.bytes.get(), state.size);
  if (HeadOf(key, first, tokens, state).sum != head.sum) throw Damage{"its checksum is wrong"};
  return state;
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
  if (access(folder_.c_str(), R_OK | W_OK | X_OK) != 0)
    throw fs::filesystem_error("cannot write", folder_, std::error_code(errno, std::generic_category()));
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

std::optional<StateBytes> PromptFiles::Read(uint64_t number, const std::string& key, uint64_t first,
                                            std::span<const TokenId> tokens) const {
  const auto path = PathOf(number);
  // Another process may have deleted it. Without O_NONBLOCK, opening a pipe would wait for a writer.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return std::nullopt;
  const File file(fdopen(descriptor, "rb"));
  struct stat status{};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  try {
    if (static_cast<uint64_t>(status.st_size) > max_bytes_) throw Damage{"it is larger than all files may be"};
    return ReadFrom(file.get(), static_cast<uint64_t>(status.st_size), key, first, tokens);
  } catch (const Damage& damage) {
    Log(LogLevel::kWarn, "the saved prompt " + path.string() + " is deleted: " + damage.why);
    std::error_code error;
    fs::remove(path, error);
    return std::nullopt;
  }
}

uint64_t PromptFiles::SizeOf(const PromptBlock& block) {
  return sizeof(Head) + block.key.size() + block.tokens.size() * sizeof(TokenId) + block.state.size;
}

void PromptFiles::Write(uint64_t number, const PromptBlock& block) const {
  const auto path = PathOf(number);
  const auto head = HeadOf(block.key, block.first, block.tokens, block.state);
  // A new file with a random name: a link is not followed, and no other writer has it.
  std::string unfinished = path.string() + ".XXXXXX" + std::string(kUnfinishedEnding);
  const int descriptor = mkostemps(unfinished.data(), kUnfinishedEnding.size(), O_CLOEXEC);
  if (descriptor < 0)
    throw fs::filesystem_error("cannot make", unfinished, std::error_code(errno, std::generic_category()));
  File file(fdopen(descriptor, "wb"));
  const auto write = [&](const void* bytes, size_t n) { return std::fwrite(bytes, 1, n, file.get()) == n; };
  try {
    const bool is_written = write(&head, sizeof head) && write(block.key.data(), block.key.size()) &&
                            write(block.tokens.data(), block.tokens.size() * sizeof(TokenId)) &&
                            write(block.state.bytes.get(), block.state.size);
    if (std::fclose(file.release()) != 0 || !is_written)
      throw std::runtime_error("the prompt could not be written to " + unfinished + ": the disk may be full");
    fs::rename(unfinished, path);
  } catch (...) {
    std::error_code error;
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
