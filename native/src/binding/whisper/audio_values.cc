#include "binding/whisper/audio_values.h"

#include <memory>
#include <utility>
#include <vector>

#include "binding/values.h"
#include "core/whisper/audio/channel_mix.h"

namespace aana {
namespace {

ChannelFile ReadChannelFile(const Napi::Value& value) {
  if (!value.IsObject() || value.IsArray()) throw Napi::TypeError::New(value.Env(), "audio is neither a Float32Array nor a list of files");
  const auto object = value.As<Napi::Object>();
  return {String(object, "path"), static_cast<int64_t>(Number(object, "samples", 0, kMaxSamples)), String(object, "name")};
}

}  // namespace

OpenAudio ReadAudio(const Napi::Value& value) {
  if (value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_float32_array) {
    const auto array = value.As<Napi::Float32Array>();
    const auto audio = std::make_shared<const AudioInMemory>(std::vector<float>(array.Data(), array.Data() + array.ElementLength()));
    return [audio] { return audio; };
  }
  if (!value.IsArray()) throw Napi::TypeError::New(value.Env(), "audio is neither a Float32Array nor a list of files");
  const auto list = value.As<Napi::Array>();
  std::vector<ChannelFile> files;
  for (uint32_t i = 0; i < list.Length(); i++) files.push_back(ReadChannelFile(list.Get(i)));
  return [files = std::move(files)] { return std::make_shared<const ChannelMix>(files); };
}

}  // namespace aana
