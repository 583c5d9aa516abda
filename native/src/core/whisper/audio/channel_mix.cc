#include "core/whisper/audio/channel_mix.h"

#include <algorithm>

namespace aana {

ChannelMix::ChannelMix(const std::vector<ChannelFile>& files) {
  for (const auto& file : files) {
    channels_.emplace_back(file);
    size_ = std::max(size(), file.n_samples);
  }
}

void ChannelMix::Read(int64_t begin, std::span<float> samples) const {
  if (channels_.size() == 1) {
    channels_.front().Read(begin, samples);
    for (auto& sample : samples) sample = Usable(sample);
    return;
  }
  std::fill(samples.begin(), samples.end(), 0.0F);
  std::vector<float> part;
  for (const auto& channel : channels_) {
    const auto left = std::max<int64_t>(0, channel.size() - begin);
    part.resize(std::min(samples.size(), static_cast<size_t>(left)));
    channel.Read(begin, part);
    for (size_t i = 0; i < part.size(); i++) samples[i] += Usable(part[i]) / static_cast<float>(channels_.size());
  }
}

}  // namespace aana
