#include "core/llama/gguf/gguf_check.h"

#include <gguf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>
#include <system_error>

#include "core/deleter.h"
#include "core/llama/model/load_error.h"

namespace aana::llama {

void CheckGguf(const std::string& path, std::string_view what) {
  const auto file_name = std::string(what) + " " + path;
  namespace fs = std::filesystem;
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) throw LoadError(file_name + " does not exist");
  if (!fs::is_regular_file(status)) throw LoadError(file_name + " is not a file");
  const uintmax_t n_bytes = fs::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  std::array<char, 4> magic{};
  if (error || !file) throw LoadError(file_name + " cannot be read");
  if (!file.read(magic.data(), magic.size()) || std::string_view(magic.data(), magic.size()) != "GGUF") {
    throw LoadError(file_name + " is not a GGUF file");
  }

  const std::unique_ptr<gguf_context, Deleter<gguf_free>> header(
      gguf_init_from_file(path.c_str(), {.no_alloc = true, .ctx = nullptr}));
  if (!header) throw LoadError(file_name + " has a broken or truncated GGUF header");
  uint64_t n_needed = 0;
  for (int64_t i = 0; i < gguf_get_n_tensors(header.get()); i++) {
    n_needed =
        std::max<uint64_t>(n_needed, gguf_get_tensor_offset(header.get(), i) + gguf_get_tensor_size(header.get(), i));
  }
  n_needed += gguf_get_data_offset(header.get());
  if (n_bytes < n_needed) {
    throw LoadError(file_name + " is truncated: it has " + std::to_string(n_bytes) + " of " + std::to_string(n_needed) +
                    " bytes");
  }
}

}  // namespace aana::llama
