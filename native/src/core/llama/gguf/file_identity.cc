#include "core/llama/gguf/file_identity.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <vector>

#include "core/checksum.h"

namespace aana::llama {
namespace {

namespace fs = std::filesystem;

// Of the beginning and of the end of a file; reading a whole model would take longer than reading prompts.
constexpr size_t kCompared = 1U << 20;

}  // namespace

std::string IdentityOfFile(const std::string& path) {
  const auto n_bytes = fs::file_size(path);
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes(std::min<uintmax_t>(kCompared, n_bytes));
  const auto sum_from = [&](uintmax_t begin, uint64_t seed) {
    file.seekg(static_cast<std::streamoff>(begin));
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return Checksum(bytes.data(), static_cast<size_t>(file.gcount()), seed);
  };
  // libc++ counts in 128 bits, which std::to_string does not take.
  const auto changed_at = std::chrono::nanoseconds(fs::last_write_time(path).time_since_epoch()).count();
  return std::to_string(n_bytes) + " " + std::to_string(changed_at) + " " +
         std::to_string(sum_from(n_bytes - bytes.size(), sum_from(0, 0)));
}

}  // namespace aana::llama
