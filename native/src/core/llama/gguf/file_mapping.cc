#include "core/llama/gguf/file_mapping.h"

#ifdef __linux__
#include <sys/mman.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#endif

namespace aana::llama {

#ifdef __linux__

void ReleaseMappings(const std::string& path) {
  std::error_code error;
  const auto directory = std::filesystem::canonical(path, error).parent_path();
  if (error) return;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    // "7f00-7f80 r--s 00000000 fe:00 123    /models/model.gguf"; shared mappings only, because private ones may have
    // been written to.
    uintptr_t begin = 0;
    uintptr_t end = 0;
    char rights[5] = {};
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s", &begin, &end, rights) != 3 || rights[3] != 's')
      continue;
    const auto name = line.find('/');
    if (name == std::string::npos || std::filesystem::path(line.substr(name)).parent_path() != directory) continue;
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);  // if it fails, the memory stays
  }
}

#else

void ReleaseMappings(const std::string&) {}

#endif

}  // namespace aana::llama
