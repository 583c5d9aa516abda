#include "core/whisper/audio/audio_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "core/whisper/audio/audio_source.h"

namespace aana {
namespace {

static_assert(std::endian::native == std::endian::little, "samples in files are little-endian");

constexpr auto kSampleBytes = static_cast<int64_t>(sizeof(float));

AudioError NotReadable(const ChannelFile& file) { return AudioError("the audio " + file.name + " cannot be read: " + std::strerror(errno)); }

AudioError TooShort(const ChannelFile& file, int64_t bytes) {
  return AudioError("the audio " + file.name + " holds " + std::to_string(bytes / kSampleBytes) + " samples, not " + std::to_string(file.n_samples));
}

}  // namespace

AudioFile::AudioFile(ChannelFile file) : file_(std::move(file)) {
  if (file_.n_samples == 0) return;
  descriptor_ = open(file_.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) throw NotReadable(file_);
  struct stat status {};
  const bool is_known = fstat(descriptor_, &status) == 0;
  if (is_known && status.st_size >= file_.n_samples * kSampleBytes) return;
  const auto error = is_known ? TooShort(file_, status.st_size) : NotReadable(file_);
  close(descriptor_);  // the destructor does not run
  throw error;
}

AudioFile::~AudioFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

AudioFile::AudioFile(AudioFile&& other) noexcept : file_(std::move(other.file_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

void AudioFile::Read(int64_t begin, std::span<float> samples) const {
  auto bytes = std::as_writable_bytes(samples);
  int64_t at = begin * kSampleBytes;
  while (!bytes.empty()) {
    const auto read = pread(descriptor_, bytes.data(), bytes.size(), at);
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) throw NotReadable(file_);
    if (read == 0) throw TooShort(file_, at);
    bytes = bytes.subspan(static_cast<size_t>(read));
    at += read;
  }
}

}  // namespace aana
