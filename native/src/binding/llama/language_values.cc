#include "binding/llama/llama_values.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "binding/values.h"

namespace aana {
namespace {

constexpr Named<llama::FinishReason> kFinishReasons[] = {
    {"stop", llama::FinishReason::kStop},
    {"length", llama::FinishReason::kLength},
    {"cancelled", llama::FinishReason::kCancelled},
};
constexpr Named<llama::Overflow> kOverflows[] = {
    {"error", llama::Overflow::kError},
    {"truncate_middle", llama::Overflow::kTruncateMiddle},
    {"shift", llama::Overflow::kShift},
};
constexpr Named<ggml_type> kKvTypes[] = {
    {"f16", GGML_TYPE_F16},   {"bf16", GGML_TYPE_BF16}, {"q8_0", GGML_TYPE_Q8_0}, {"q5_1", GGML_TYPE_Q5_1},
    {"q5_0", GGML_TYPE_Q5_0}, {"q4_1", GGML_TYPE_Q4_1}, {"q4_0", GGML_TYPE_Q4_0},
};

Napi::Object ToValue(Napi::Env env, const llama::ScoredToken& token) {
  auto object = Napi::Object::New(env);
  object.Set("id", token.token);
  object.Set("bytes", ToBuffer(env, token.text));
  object.Set("logprob", token.logprob);
  return object;
}

Napi::Object ToValue(Napi::Env env, const llama::TokenScores& scores) {
  auto object = ToValue(env, scores.chosen);
  object.Set("top", ToArray(env, scores.top, [env](const auto& item) { return ToValue(env, item); }));
  return object;
}

Napi::Object ToValue(Napi::Env env, const llama::PromptToken& token) {
  auto object = Napi::Object::New(env);
  object.Set("id", token.token.token);
  object.Set("bytes", ToBuffer(env, token.token.text));
  if (!token.rank) return object;
  object.Set("logprob", token.token.logprob);
  object.Set("rank", token.rank->rank);
  object.Set("top", ToArray(env, token.rank->top, [env](const auto& item) { return ToValue(env, item); }));
  return object;
}

void Write(Napi::Object& object, const llama::TextEvent& event) {
  const auto to_value = [env = object.Env()](const auto& item) { return ToValue(env, item); };
  object.Set("type", "text");
  object.Set("text", event.text);
  object.Set("tokens", event.n_tokens);
  if (!event.reasoning.empty()) object.Set("reasoning", event.reasoning);
  if (!event.calls.empty()) object.Set("calls", aana::ToValue(object.Env(), event.calls));
  if (!event.scores.empty()) object.Set("scores", ToArray(object.Env(), event.scores, to_value));
  if (!event.prompt.empty()) object.Set("promptScores", ToArray(object.Env(), event.prompt, to_value));
}

void Write(Napi::Object& object, const llama::EndEvent& event) {
  object.Set("type", "end");
  object.Set("reason", NameOf(event.reason, kFinishReasons));
  object.Set("promptTokens", event.n_prompt);
  object.Set("reusedTokens", event.n_reused);
  if (event.n_image > 0) object.Set("imageTokens", event.n_image);
  if (event.n_sound > 0) object.Set("audioTokens", event.n_sound);
  object.Set("completionTokens", event.n_completion);
  object.Set("reasoningTokens", event.n_reasoning);
  object.Set("queueMs", event.timings.queue.count());
  object.Set("promptMs", event.timings.prompt.count());
  object.Set("completionMs", event.timings.completion.count());
  if (!event.stop.empty()) object.Set("stop", event.stop);
  if (event.dropped.n_tokens > 0) object.Set("droppedTokens", event.dropped.n_tokens);
  if (event.dropped.n_messages > 0) object.Set("droppedMessages", event.dropped.n_messages);
}

void Write(Napi::Object& object, const llama::CountEvent& event) {
  object.Set("type", "count");
  object.Set("tokens", event.n_tokens);
  if (event.tokens.empty()) return;
  object.Set("ids", ToTypedArray<Napi::Int32Array>(object.Env(), event.tokens));
  object.Set("bytes", ToBuffer(object.Env(), event.text));
  object.Set("lengths", ToTypedArray<Napi::Int32Array>(object.Env(), event.n_bytes));
}

llama::AdapterUse ToAdapterUse(const Napi::Object& options) {
  const auto value = options.Get("adapter");
  if (value.IsUndefined()) return {};
  const auto object = ToObject(options.Env(), value, "adapter");
  const auto scale = object.Get("scale");
  if (!scale.IsNumber() || !std::isfinite(scale.As<Napi::Number>().FloatValue())) {
    throw Napi::TypeError::New(options.Env(), "the adapter's scale is not a number");
  }
  return {Int(object, "index", 0), scale.As<Napi::Number>().FloatValue()};
}

float Probability(const Napi::Object& object, const char* key) {
  const auto value = object.Get(key);
  const float number = value.IsNumber() ? value.As<Napi::Number>().FloatValue() : NAN;
  if (number >= 0.0F && number <= 1.0F) return number;
  throw Napi::RangeError::New(object.Env(), std::string(key) + " must be a number from 0 to 1");
}

llama::PromptCacheOptions ToPromptCache(Napi::Env env, const Napi::Value& value) {
  const auto object = ToObject(env, value, "promptCache");
  llama::PromptCacheOptions options;
  options.folder = String(object, "folder");
  options.max_bytes = ToBytes(env, object.Get("maxBytes"), "maxBytes");
  if (Has(object, "minTokens")) options.n_least = Int(object, "minTokens", 1);
  return options;
}

float Positive(const Napi::Object& object, const char* key) {
  const auto value = object.Get(key);
  const float number = value.IsNumber() ? value.As<Napi::Number>().FloatValue() : NAN;
  if (number > 0.0F && std::isfinite(number)) return number;
  throw Napi::RangeError::New(object.Env(), std::string(key) + " must be a number above 0");
}

llama::RopeScaling ToRopeScaling(Napi::Env env, const Napi::Value& value) {
  const auto object = ToObject(env, value, "ropeScaling");
  const auto type = String(object, "type");
  if (type != "linear" && type != "yarn") throw Napi::TypeError::New(env, "ropeScaling.type must be linear or yarn");
  return {
      .type = type == "yarn" ? LLAMA_ROPE_SCALING_TYPE_YARN : LLAMA_ROPE_SCALING_TYPE_LINEAR,
      .factor = std::max(1.0F, Positive(object, "factor")),
      .n_original = Int(object, "originalTokens", 0, 1 << 24),
      .beta_fast = Positive(object, "betaFast"),
      .beta_slow = Positive(object, "betaSlow"),
  };
}

}  // namespace

uint64_t ToBytes(Napi::Env env, const Napi::Value& value, const char* name) {
  const double n_bytes = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : NAN;
  if (!(n_bytes >= 0 && n_bytes <= 1e18))
    throw Napi::RangeError::New(env, std::string(name) + " must be a number from 0");
  return static_cast<uint64_t>(n_bytes);
}

llama::LoadOptions ToLlamaLoadOptions(Napi::Env env, Napi::Value value) {
  const auto object = ToObject(env, value, "options");
  llama::LoadOptions options;
  ReadModelOptions(object, options);
  options.n_context = Int(object, "contextTokens", 0);
  if (Has(object, "ropeScaling")) options.rope_scaling = ToRopeScaling(env, object.Get("ropeScaling"));
  if (Has(object, "ropeFrequencyBase")) options.rope_frequency_base = Positive(object, "ropeFrequencyBase");
  options.n_sequences = Int(object, "maxSequences", 1, static_cast<int32_t>(llama_max_parallel_sequences()));
  options.n_prefill_per_step = Int(object, "prefillTokensPerStep", 1, 65536);
  if (Has(object, "passTokens")) options.n_ubatch = Int(object, "passTokens", 32, 65536);
  if (Has(object, "guessedTokensPerStep")) options.n_drafted = Int(object, "guessedTokensPerStep", 0, 256);
  if (Has(object, "draftModelPath")) options.draft_model_path = String(object, "draftModelPath");
  if (Has(object, "leastGuessProbability"))
    options.least_draft_probability = Probability(object, "leastGuessProbability");
  if (Has(object, "readerTimeoutMs"))
    options.reader_timeout = std::chrono::milliseconds(Int(object, "readerTimeoutMs", 1));
  options.key_type = FromName(object, "keyType", kKvTypes);
  options.value_type = FromName(object, "valueType", kKvTypes);
  if (Has(object, "totalCells")) options.n_cells = Int(object, "totalCells", 0);
  if (Has(object, "keepsAllWindows")) options.keeps_all_windows = object.Get("keepsAllWindows").ToBoolean();
  if (Has(object, "promptCache")) options.prompt_cache = ToPromptCache(env, object.Get("promptCache"));
  if (Has(object, "keptBytes")) options.n_kept_bytes = ToBytes(env, object.Get("keptBytes"), "keptBytes");
  options.adapters = OptionalList<std::string>(object, "adapters",
                                               [](const Napi::Value& item) { return item.ToString().Utf8Value(); });
  if (Has(object, "projectorPath")) options.projector_path = String(object, "projectorPath");
  if (Has(object, "chatTemplate")) options.chat_template = String(object, "chatTemplate");
  return options;
}

llama::Request ToLlamaRequest(const Napi::CallbackInfo& info) {
  const auto env = info.Env();
  const auto object = ToObject(env, info[2], "options");
  llama::Request request;
  request.id = ToRequestId(info);
  request.prompt = ToPrompt(env, info[1]);
  request.terms = ToRequestTerms(object);
  request.sampling = ToSamplingParams(object);
  request.adapter = ToAdapterUse(object);
  if (Has(object, "overflow")) request.overflow = FromName(object, "overflow", kOverflows);
  return request;
}

llama::CountRequest ToLlamaCountRequest(const Napi::CallbackInfo& info) {
  const auto env = info.Env();
  const auto options = ToObject(env, info[2], "options");
  llama::CountRequest request{
      .id = ToRequestId(info), .prompt = ToPrompt(env, info[1]), .terms = ToRequestTerms(options)};
  request.tells_tokens = options.Get("tellsTokens").ToBoolean();
  request.has_outer_tokens = !Has(options, "outerTokens") || options.Get("outerTokens").ToBoolean();
  return request;
}

Napi::Object ToValue(Napi::Env env, const llama::ModelInfo& model) {
  auto object = Napi::Object::New(env);
  object.Set("description", model.description);
  object.Set("contextTokens", model.n_context);
  object.Set("vocabularySize", model.n_vocab);
  object.Set("canShift", model.can_shift);
  object.Set("readsImages", model.reads_images);
  object.Set("readsAudio", model.reads_sounds);
  object.Set("audioWindowTokens", model.n_window_tokens);
  return object;
}

Napi::Object ToValue(Napi::Env env, const llama::Counts& counts) {
  auto object = Napi::Object::New(env);
  const auto set = [&](const char* name, uint64_t count) { object.Set(name, static_cast<double>(count)); };
  set("steps", counts.n_steps);
  set("ubatches", counts.n_ubatches);
  set("computedTokens", counts.n_computed);
  set("promptTokens", counts.n_prompt);
  set("reusedTokens", counts.n_reused);
  set("restoredTokens", counts.n_restored);
  set("keptTokens", counts.n_kept_tokens);
  set("keptHits", counts.n_kept_hits);
  set("keptMisses", counts.n_kept_misses);
  set("preemptions", counts.n_preempted);
  set("pauses", counts.n_paused);
  set("shifts", counts.n_shifted);
  set("guessedTokens", counts.n_drafted);
  set("acceptedTokens", counts.n_accepted);
  set("generatedTokens", counts.n_generated);
  set("encodedMedia", counts.n_encoded_media);
  set("keptMedia", counts.n_kept_media);
  object.Set("prefillSeconds", counts.prefill_seconds);
  object.Set("decodeSeconds", counts.decode_seconds);
  set("waiting", counts.n_waiting);
  set("running", counts.n_running);
  set("usedCells", counts.n_used_cells);
  set("cells", counts.n_cells);
  set("keptStates", counts.n_kept_states);
  set("keptBytes", counts.n_kept_bytes);
  return object;
}

Napi::Object ToValue(Napi::Env env, const llama::Event& event) {
  auto object = Napi::Object::New(env);
  object.Set("id", static_cast<double>(event.id));
  std::visit([&](const auto& what) { Write(object, what); }, event.what);
  return object;
}

}  // namespace aana
