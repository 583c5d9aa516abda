#include "core/whisper/audio/growing_mix.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>
#include <utility>

namespace aana {
namespace {

std::vector<ChannelFile> Growing(std::vector<ChannelFile> files) {
  for (auto& file : files) {
    file.n_samples = 0;
    file.is_growing = true;
  }
  return files;
}

}  // namespace

GrowingMix::GrowingMix(std::vector<ChannelFile> files, Growth growth)
    : ChannelMix(Growing(std::move(files))), growth_(std::move(growth)) {}

int64_t GrowingMix::expected_size() const { return is_growing_ ? std::max(size(), growth_.expected_samples) : size(); }

void GrowingMix::Refresh() {
  if (!is_growing_) return;
  // The end is looked for before the files are measured. If there is none yet, the files may grow while they are
  // measured.
  if (const auto end = ReadEnd()) {
    int64_t longest = 0;
    for (size_t i = 0; i < channels().size(); i++) {
      const auto length = (*end)[growth_.first_channel + i];
      channels()[i].Resize(length);
      longest = std::max(longest, length);
    }
    set_size(longest);
    is_growing_ = false;
    return;
  }
  auto least = std::numeric_limits<int64_t>::max();
  for (const auto& channel : channels()) least = std::min(least, channel.Measure());
  if (least <= size() || channels().empty()) return;
  for (auto& channel : channels()) channel.Resize(least);
  set_size(least);
}

std::optional<std::vector<int64_t>> GrowingMix::ReadEnd() const {
  std::error_code error;
  const bool exists = std::filesystem::exists(growth_.end_path, error);
  if (error) throw AudioError("the end of an audio cannot be read: " + error.message());
  if (!exists) return std::nullopt;
  std::ifstream file(growth_.end_path);
  std::vector<int64_t> lengths;
  for (int64_t length = 0; file >> length;) lengths.push_back(length);
  const bool is_valid = file.eof() && lengths.size() == growth_.n_channels &&
                        std::ranges::all_of(lengths, [](int64_t length) { return length >= 0; });
  if (!is_valid) throw AudioError("the end of an audio does not say the length of each channel");
  return lengths;
}

}  // namespace aana
