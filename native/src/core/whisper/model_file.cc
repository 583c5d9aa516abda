#include "core/whisper/model_file.h"

#include <ggml.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "core/deleter.h"
#include "core/whisper/types.h"

namespace aana {
namespace {

// Reads a file in ggml's old format and detects a premature end.
class ModelFile {
 public:
  ModelFile(const std::string& path, const char* kind)
      : path_(path), kind_(kind), file_(std::fopen(path.c_str(), "rb")) {
    if (!file_) throw WhisperError("cannot open " + path + ": " + std::strerror(errno));
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    if (error) throw WhisperError("cannot read " + path + ": " + error.message());
    size_ = static_cast<int64_t>(size);
    if (size_ == 0) throw WhisperError("cannot load " + path + ": the file is empty");
    if (ReadInt() != GGML_FILE_MAGIC) Refuse("it is not a " + std::string(kind) + " in ggml format");
  }

  int32_t ReadInt() {
    int32_t value;
    Need(sizeof value);
    if (std::fread(&value, sizeof value, 1, file_.get()) != 1) Refuse("it cannot be read");
    at_ += static_cast<int64_t>(sizeof value);
    return value;
  }

  int32_t ReadInt(const char* what, int32_t least, int32_t most) {
    const auto value = ReadInt();
    if (value < least || value > most)
      Refuse(std::string(what) + " is " + std::to_string(value) + ": the file is damaged, or not a " + kind_ +
             " of a known version");
    return value;
  }

  void Skip(int64_t bytes) {
    Need(bytes);
    if (fseeko(file_.get(), static_cast<off_t>(bytes), SEEK_CUR) != 0) Refuse("it cannot be read");
    at_ += bytes;
  }

  // The tensors extend to the end of the file.
  void SkipTensors() {
    if (at_ == size_) Refuse("it is truncated: it has no weights");
    while (at_ < size_) {
      const auto dimensions = ReadInt("the number of a tensor's dimensions", 0, 4);
      const auto name_bytes = ReadInt("the length of a tensor's name", 1, 1024);
      const auto type = static_cast<ggml_type>(ReadInt("a tensor's type", 0, GGML_TYPE_COUNT - 1));
      int64_t elements = 1;
      for (int i = 0; i < dimensions; i++) elements *= ReadInt("a tensor's size", 1, 1 << 24);
      const auto block = ggml_blck_size(type);
      if (block <= 0 || elements % block != 0) Refuse("a tensor has no valid type");
      Skip(name_bytes);
      Skip(elements / block * static_cast<int64_t>(ggml_type_size(type)));
    }
  }

  [[noreturn]] void Refuse(const std::string& why) const { throw WhisperError("cannot load " + path_ + ": " + why); }

 private:
  void Need(int64_t bytes) const {
    if (at_ + bytes > size_) Refuse("it is truncated after " + std::to_string(size_) + " bytes");
  }

  const std::string& path_;
  const char* kind_;
  std::unique_ptr<std::FILE, Deleter<std::fclose>> file_;
  int64_t size_ = 0;
  int64_t at_ = 0;
};

constexpr int32_t kMaxDimension = 1 << 16;

}  // namespace

void CheckWhisperFile(const std::string& path) {
  ModelFile file(path, "Whisper model");
  file.ReadInt("the vocabulary's size", 50000, 60000);
  for (const char* what :
       {"the audio context", "the audio state", "the number of audio heads", "the number of audio layers",
        "the text context", "the text state", "the number of text heads", "the number of text layers"}) {
    file.ReadInt(what, 1, kMaxDimension);
  }
  const auto mel_bands = file.ReadInt("the number of mel bands", 1, 512);
  file.ReadInt("the file type", 0, kMaxDimension);
  file.ReadInt("the number of mel bands", mel_bands, mel_bands);
  const auto fft_bins = file.ReadInt("the number of spectrum bins", 201, 201);
  file.Skip(int64_t{4} * mel_bands * fft_bins);
  const auto words = file.ReadInt("the vocabulary's size", 1, 60000);
  for (int i = 0; i < words; i++) file.Skip(file.ReadInt("the length of a token", 0, kMaxDimension));
  file.SkipTensors();
}

void CheckVoiceActivityFile(const std::string& path) {
  constexpr int32_t kEncoderLayers = 4;
  ModelFile file(path, "voice activity model");
  file.Skip(file.ReadInt("the length of the model's type", 1, 64));
  file.Skip(3 * 4);  // version
  file.ReadInt("the window", 512, 512);
  file.ReadInt("the context", 0, 512);
  file.ReadInt("the number of encoder layers", kEncoderLayers, kEncoderLayers);
  for (int i = 0; i < kEncoderLayers * 3; i++) file.ReadInt("a layer's size", 1, 4096);
  for (int i = 0; i < 4; i++) file.ReadInt("a layer's size", 1, 4096);
  file.SkipTensors();
}

std::string NotLoaded(const std::string& path, const std::string& reason) {
  return "cannot load " + path + ": " +
         (reason.empty() ? "its parts do not fit together, or there is not enough memory" : reason);
}

}  // namespace aana
