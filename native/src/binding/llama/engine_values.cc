#include "binding/llama/llama_values.h"

#include <cmath>

#include "binding/values.h"

namespace aana {
namespace {

constexpr Named<llama::ErrorCode> kErrorCodes[] = {
    {"prompt-too-long", llama::ErrorCode::kPromptTooLong},
    {"empty-prompt", llama::ErrorCode::kEmptyPrompt},
    {"template", llama::ErrorCode::kTemplate},
    {"invalid-sampling", llama::ErrorCode::kInvalidSampling},
    {"deadline-exceeded", llama::ErrorCode::kDeadlineExceeded},
    {"slow-reader", llama::ErrorCode::kSlowReader},
    {"no-room", llama::ErrorCode::kNoRoom},
    {"engine-ended", llama::ErrorCode::kEngineEnded},
    {"failed", llama::ErrorCode::kFailed},
};
constexpr Named<llama_split_mode> kSplitModes[] = {
    {"none", LLAMA_SPLIT_MODE_NONE},
    {"layer", LLAMA_SPLIT_MODE_LAYER},
    {"row", LLAMA_SPLIT_MODE_ROW},
    {"tensor", LLAMA_SPLIT_MODE_TENSOR},
};
constexpr Named<llama_flash_attn_type> kFlashAttention[] = {
    {"auto", LLAMA_FLASH_ATTN_TYPE_AUTO},
    {"on", LLAMA_FLASH_ATTN_TYPE_ENABLED},
    {"off", LLAMA_FLASH_ATTN_TYPE_DISABLED},
};

}  // namespace

void ReadModelOptions(const Napi::Object& object, llama::ModelOptions& options) {
  const auto env = object.Env();
  options.model_path = String(object, "modelPath");
  options.n_threads = Int(object, "threads", 1, 512);
  options.fits_gpu_layers = object.Get("gpuLayers").IsString();
  if (options.fits_gpu_layers && String(object, "gpuLayers") != "auto")
    throw Napi::TypeError::New(env, "gpuLayers must be a number or auto");
  if (!options.fits_gpu_layers) options.n_gpu_layers = Int(object, "gpuLayers", -1);
  if (Has(object, "flashAttention")) options.flash_attention = FromName(object, "flashAttention", kFlashAttention);
  if (Has(object, "mapsFile")) options.is_mapped = object.Get("mapsFile").ToBoolean();
  if (Has(object, "packedPath")) options.packed_path = String(object, "packedPath");
  if (Has(object, "locksMemory")) options.is_locked = object.Get("locksMemory").ToBoolean();
  options.devices =
      OptionalList<std::string>(object, "devices", [](const Napi::Value& item) { return item.ToString().Utf8Value(); });
  if (Has(object, "splitMode")) options.split_mode = FromName(object, "splitMode", kSplitModes);
  if (Has(object, "mainGpu")) options.main_gpu = Int(object, "mainGpu", 0, 1024);
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
  object.Set("code", NameOf(event.code, kErrorCodes));
  object.Set("fault", NameOf(event.fault));
  object.Set("message", event.message);
  object.Set("promptTokens", event.n_prompt);
  object.Set("maxTokens", event.n_context);
}

}  // namespace aana
