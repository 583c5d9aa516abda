#pragma once

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

 private:
  std::vector<AudioFile> channels_;
  int64_t size_ = 0;
};

}  // namespace aana
