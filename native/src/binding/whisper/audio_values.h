#pragma once

#include <napi.h>

#include "core/whisper/audio/audio_source.h"

namespace aana {

// No audio has more samples.
constexpr double kMaxSamples = 1e12;

// Reads a Float32Array, whose samples are copied, or a list of files, which are opened later. Throws a Napi::TypeError.
OpenAudio ReadAudio(const Napi::Value& value);

}  // namespace aana
