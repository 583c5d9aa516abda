#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

namespace aana {

// A file that holds one channel: raw little-endian 32-bit floats, mono, 16 kHz. It may hold more samples than are used.
struct ChannelFile {
  std::string path;  // not used without samples, unless it grows
  int64_t n_samples;
  std::string name;         // for messages
  bool is_growing = false;  // a program appends samples
};

// An open file of one channel. Several threads may read at the same time. A file that is truncated meanwhile is an
// error of the next read, which is why it is not mapped into memory.
class AudioFile {
 public:
  // Throws an AudioError for a file that is missing or has too few samples.
  explicit AudioFile(ChannelFile file);
  ~AudioFile();
  AudioFile(AudioFile&& other) noexcept;
  AudioFile(const AudioFile&) = delete;
  AudioFile& operator=(const AudioFile&) = delete;

  int64_t size() const { return size_; }
  // Reads samples as they are in the file. The range must lie inside the channel. Throws an AudioError.
  void Read(int64_t begin, std::span<float> samples) const;

  // Returns the number of samples that the file has now. Throws an AudioError if it was removed: nobody completes it.
  int64_t Measure() const;
  // Sets the number of samples of a file that grows. Throws an AudioError if it has fewer.
  void Resize(int64_t n_samples);

 private:
  struct stat Status() const;

  ChannelFile file_;
  std::atomic<int64_t> size_;
  int descriptor_ = -1;
};

}  // namespace aana
