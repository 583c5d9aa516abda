#pragma once

#include <atomic>
#include <vector>

#include "core/whisper/audio/audio_file.h"
#include "core/whisper/audio/audio_source.h"

namespace aana {

// The mean of channels in files. A shorter channel is silent after its end.
class ChannelMix : public AudioSource {
 public:
  // Opens the files. Throws an AudioError.
  explicit ChannelMix(const std::vector<ChannelFile>& files);

  int64_t size() const override { return size_; }
  void Read(int64_t begin, std::span<float> samples) const override;

 protected:
  std::vector<AudioFile>& channels() { return channels_; }
  const std::vector<AudioFile>& channels() const { return channels_; }
  // Sets the number of samples of the mix, after those of the channels.
  void set_size(int64_t size) { size_ = size; }

 private:
  std::vector<AudioFile> channels_;
  std::atomic<int64_t> size_ = 0;
};

}  // namespace aana
