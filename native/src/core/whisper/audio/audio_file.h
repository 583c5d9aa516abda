#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace aana {

// A file that holds one channel: raw little-endian 32-bit floats, mono, 16 kHz. It may hold more samples than are used.
struct ChannelFile {
  std::string path;  // not used without samples
  int64_t n_samples;
  std::string name;  // for messages
};

// An open file of one channel. Several threads may read at the same time. A file that is truncated meanwhile is an error
// of the next read, which is why it is not mapped into memory.
class AudioFile {
 public:
  // Throws an AudioError for a file that is missing or has too few samples.
  explicit AudioFile(ChannelFile file);
  ~AudioFile();
  AudioFile(AudioFile&& other) noexcept;
  AudioFile(const AudioFile&) = delete;
  AudioFile& operator=(const AudioFile&) = delete;

  int64_t size() const { return file_.n_samples; }
  // Reads samples as they are in the file. The range must lie inside the channel. Throws an AudioError.
  void Read(int64_t begin, std::span<float> samples) const;

 private:
  ChannelFile file_;
  int descriptor_ = -1;
};

}  // namespace aana
