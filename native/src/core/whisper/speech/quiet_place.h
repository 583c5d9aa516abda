#pragma once

#include <cstdint>

#include "core/whisper/audio/audio_source.h"

namespace aana {

// Returns the middle of the 0.2 s with the least energy in [begin, end); `end` if the range is shorter. Throws an
// AudioError.
int64_t QuietestPlace(const AudioSource& audio, int64_t begin, int64_t end);

}  // namespace aana
