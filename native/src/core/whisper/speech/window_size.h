#pragma once

#include <cstdint>

#include "core/whisper/types.h"

namespace aana {

// The longest window, which is the input of the model.
constexpr int64_t kWindow = 30 * kSampleRate;
// The part of a window that must be filled before it may end early, because each window costs the same: 18 s of 30 s.
constexpr int64_t Filled(int64_t window) { return window * 3 / 5; }
// What a cut leaves of an audio is not shorter, because the model invents words for a very short rest: 5 s of 30 s.
constexpr int64_t ShortestRest(int64_t window) { return window / 6; }

}  // namespace aana
