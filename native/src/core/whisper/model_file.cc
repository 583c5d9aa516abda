#include "core/whisper/model_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "core/deleter.h"
#include "core/whisper/types.h"

namespace aana {

void CheckReadable(const std::string& path) {
  std::unique_ptr<std::FILE, Deleter<std::fclose>> file(std::fopen(path.c_str(), "rb"));
  char byte;
  if (!file) throw WhisperError("cannot open " + path + ": " + std::strerror(errno));
  if (std::fread(&byte, 1, 1, file.get()) != 1) throw WhisperError("cannot read " + path + ": " + (std::ferror(file.get()) ? std::strerror(errno) : "the file is empty"));
}

std::string NotLoaded(const std::string& path, const std::string& what, const std::string& reason) {
  return "cannot load " + path + ": it is truncated, or not a " + what + " in ggml form, or there is not enough memory" + (reason.empty() ? "" : " (" + reason + ")");
}

}  // namespace aana
