#include "binding/whisper/audio_values.h"

#include <memory>
#include <utility>
#include <vector>

#include "binding/values.h"
#include "core/whisper/audio/channel_mix.h"
#include "core/whisper/audio/growing_mix.h"

namespace aana {
namespace {

Napi::TypeError NoAudio(Napi::Env env) {
  return Napi::TypeError::New(env, "audio is neither a Float32Array nor a list of files nor growing files");
}

ChannelFile ReadChannelFile(const Napi::Value& value) {
  if (!value.IsObject() || value.IsArray()) throw NoAudio(value.Env());
  const auto object = value.As<Napi::Object>();
  return {String(object, "path"), static_cast<int64_t>(Number(object, "samples", 0, kMaxSamples)),
          String(object, "name")};
}

std::vector<ChannelFile> ReadChannelFiles(const Napi::Value& value) {
  if (!value.IsArray()) throw NoAudio(value.Env());
  const auto list = value.As<Napi::Array>();
  std::vector<ChannelFile> files;
  for (uint32_t i = 0; i < list.Length(); i++) files.push_back(ReadChannelFile(list.Get(i)));
  return files;
}

OpenAudio ReadGrowingAudio(const Napi::Object& object) {
  auto files = ReadChannelFiles(object.Get("files"));
  if (files.empty()) throw NoAudio(object.Env());
  Growth growth{String(object, "endPath"), static_cast<int64_t>(Number(object, "expectedSamples", 0, kMaxSamples)),
                files.size(), 0};
  if (object.Has("channel")) {
    growth.first_channel = static_cast<size_t>(Number(object, "channel", 0, static_cast<double>(files.size() - 1)));
    files = {files[growth.first_channel]};
  }
  return [files = std::move(files), growth = std::move(growth)] { return std::make_shared<GrowingMix>(files, growth); };
}

}  // namespace

OpenAudio ReadAudio(const Napi::Value& value) {
  if (value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_float32_array) {
    const auto array = value.As<Napi::Float32Array>();
    const auto audio =
        std::make_shared<AudioInMemory>(std::vector<float>(array.Data(), array.Data() + array.ElementLength()));
    return [audio] { return audio; };
  }
  if (value.IsObject() && !value.IsArray() && value.As<Napi::Object>().Has("endPath"))
    return ReadGrowingAudio(value.As<Napi::Object>());
  return [files = ReadChannelFiles(value)] { return std::make_shared<ChannelMix>(files); };
}

}  // namespace aana
