#include "binding/llama/engine_values.h"

#include <cmath>

#include "binding/request_values.h"
#include "binding/values.h"

namespace aana {
namespace {

const char* NameOf(llama::ErrorCode code) {
  switch (code) {
    case llama::ErrorCode::kPromptTooLong:
      return "prompt-too-long";
    case llama::ErrorCode::kEmptyPrompt:
      return "empty-prompt";
    case llama::ErrorCode::kTemplate:
      return "template";
    case llama::ErrorCode::kInvalidSampling:
      return "invalid-sampling";
    case llama::ErrorCode::kDeadlineExceeded:
      return "deadline-exceeded";
    case llama::ErrorCode::kSlowReader:
      return "slow-reader";
    case llama::ErrorCode::kNoRoom:
      return "no-room";
    case llama::ErrorCode::kEngineEnded:
      return "engine-ended";
    case llama::ErrorCode::kFailed:
      return "failed";
  }
  return "failed";
}

llama::SplitMode ToSplitMode(const Napi::Object& object) {
  const auto mode = String(object, "splitMode");
  if (mode == "none") return llama::SplitMode::kNone;
  if (mode == "layer") return llama::SplitMode::kLayer;
  if (mode == "row") return llama::SplitMode::kRow;
  if (mode == "tensor") return llama::SplitMode::kTensor;
  throw Napi::TypeError::New(object.Env(), "splitMode must be none, layer, row or tensor");
}

llama::FlashAttention ToFlashAttention(const Napi::Object& object) {
  const auto mode = String(object, "flashAttention");
  if (mode == "auto") return llama::FlashAttention::kAuto;
  if (mode == "on") return llama::FlashAttention::kOn;
  if (mode == "off") return llama::FlashAttention::kOff;
  throw Napi::TypeError::New(object.Env(), "flashAttention must be auto, on or off");
}

}  // namespace

void ReadModelOptions(const Napi::Object& object, llama::ModelOptions& options) {
  const auto env = object.Env();
  options.model_path = String(object, "modelPath");
  options.n_threads = Int(object, "threads", 1, 512);
  options.fits_gpu_layers = object.Get("gpuLayers").IsString();
  if (options.fits_gpu_layers && String(object, "gpuLayers") != "auto")
    throw Napi::TypeError::New(env, "gpuLayers must be a number or auto");
  if (!options.fits_gpu_layers) options.n_gpu_layers = Int(object, "gpuLayers", -1);
  if (Has(object, "flashAttention")) options.flash_attention = ToFlashAttention(object);
  if (Has(object, "mapsFile")) options.is_mapped = object.Get("mapsFile").ToBoolean();
  if (Has(object, "packedPath")) options.packed_path = String(object, "packedPath");
  if (Has(object, "locksMemory")) options.is_locked = object.Get("locksMemory").ToBoolean();
  options.devices =
      OptionalList<std::string>(object, "devices", [](const Napi::Value& item) { return item.ToString().Utf8Value(); });
  if (!object.Get("splitMode").IsUndefined()) options.split_mode = ToSplitMode(object);
  if (!object.Get("mainGpu").IsUndefined()) options.main_gpu = Int(object, "mainGpu", 0, 1024);
  options.tensor_split =
      OptionalList<float>(object, "tensorSplit", [](const Napi::Value& item) { return item.ToNumber().FloatValue(); });
  if (options.fits_gpu_layers && !options.tensor_split.empty())
    throw Napi::TypeError::New(env, "tensorSplit is chosen where gpuLayers is auto");
  for (const float part : options.tensor_split) {
    if (!std::isfinite(part) || part < 0)
      throw Napi::RangeError::New(env, "tensorSplit has a part that is negative or not a number");
  }
}

llama::RequestId ToRequestId(const Napi::CallbackInfo& info) {
  if (!info[0].IsNumber()) throw Napi::TypeError::New(info.Env(), "the id is not a number");
  const auto id = info[0].As<Napi::Number>().Int64Value();
  if (id < 0) throw Napi::RangeError::New(info.Env(), "the id is negative");
  return id;
}

void Write(Napi::Object& object, const llama::ErrorEvent& event) {
  object.Set("type", "error");
  object.Set("code", NameOf(event.code));
  object.Set("fault", NameOf(event.fault));
  object.Set("message", event.message);
  object.Set("promptTokens", event.n_prompt);
  object.Set("maxTokens", event.n_context);
}

}  // namespace aana
