#pragma once

#include <cstdint>

#include "core/whisper/types.h"

namespace aana {

// The longest window, which is the input of the model.
constexpr int64_t kWindow = 30 * kSampleRate;
// The part of a window that must be filled before it may end early, because each window costs the same: 18 s.
constexpr int64_t kFilledWindow = kWindow * 3 / 5;
// What a cut leaves of an audio is not shorter, because the model invents words for a very short rest.
constexpr int64_t kShortestRest = 5 * kSampleRate;

}  // namespace aana
