#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/whisper/audio/channel_mix.h"

namespace aana {

// What is told of an audio that a program still decodes.
struct Growth {
  // A file that appears at once when the program has ended: the number of samples of each channel, in decimal digits
  // with spaces between.
  std::string end_path;
  int64_t expected_samples;
  // The channels in the end file, and the place of the first one of the mix among them.
  size_t n_channels;
  size_t first_channel;
};

// The mean of channels in files that a program appends to. Between two calls of Refresh it is like an audio of that
// length.
class GrowingMix : public ChannelMix {
 public:
  // Opens the files. Throws an AudioError.
  GrowingMix(std::vector<ChannelFile> files, Growth growth);

  bool is_growing() const override { return is_growing_; }
  int64_t expected_size() const override;
  void Refresh() override;

 private:
  // Returns the numbers of samples of all channels if the program has ended.
  std::optional<std::vector<int64_t>> ReadEnd() const;

  const Growth growth_;
  std::atomic<bool> is_growing_ = true;
};

}  // namespace aana
