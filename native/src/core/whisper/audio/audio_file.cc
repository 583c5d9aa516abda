#include "core/whisper/audio/audio_file.h"

#include <fcntl.h>
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

AudioError NotReadable(const ChannelFile& file) {
  return AudioError("the audio " + file.name + " cannot be read: " + std::strerror(errno));
}

AudioError TooShort(const ChannelFile& file, int64_t bytes, int64_t n_samples) {
  return AudioError("the audio " + file.name + " holds " + std::to_string(bytes / kSampleBytes) + " samples, not " +
                    std::to_string(n_samples));
}

}  // namespace

AudioFile::AudioFile(ChannelFile file) : file_(std::move(file)), size_(file_.n_samples) {
  if (file_.n_samples == 0 && !file_.is_growing) return;
  descriptor_ = open(file_.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) throw NotReadable(file_);
  try {
    Resize(file_.n_samples);
  } catch (...) {
    close(descriptor_);  // the destructor does not run
    throw;
  }
}

AudioFile::~AudioFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

AudioFile::AudioFile(AudioFile&& other) noexcept
    : file_(std::move(other.file_)), size_(other.size()), descriptor_(std::exchange(other.descriptor_, -1)) {}

int64_t AudioFile::Measure() const {
  const auto status = Status();
  if (status.st_nlink == 0) throw AudioError("the audio " + file_.name + " was removed before it was complete");
  return status.st_size / kSampleBytes;
}

void AudioFile::Resize(int64_t n_samples) {
  const auto bytes = Status().st_size;
  if (bytes < n_samples * kSampleBytes) throw TooShort(file_, bytes, n_samples);
  size_ = n_samples;
}

struct stat AudioFile::Status() const {
  struct stat status{};
  if (fstat(descriptor_, &status) != 0) throw NotReadable(file_);
  return status;
}

void AudioFile::Read(int64_t begin, std::span<float> samples) const {
  auto bytes = std::as_writable_bytes(samples);
  int64_t at = begin * kSampleBytes;
  while (!bytes.empty()) {
    const auto read = pread(descriptor_, bytes.data(), bytes.size(), at);
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) throw NotReadable(file_);
    if (read == 0) throw TooShort(file_, at, size_);
    bytes = bytes.subspan(static_cast<size_t>(read));
    at += read;
  }
}

}  // namespace aana
