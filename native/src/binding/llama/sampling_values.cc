#include "binding/llama/llama_values.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "binding/values.h"

namespace aana {
namespace {

constexpr double kMaxFloat = std::numeric_limits<float>::max();
constexpr double kMinPositive = std::numeric_limits<float>::min();

float Float(const Napi::Object& object, const char* key, double min, double max) {
  return static_cast<float>(Number(object, key, min, max));
}

void ReadFloat(const Napi::Object& object, const char* key, double min, double max, float& value) {
  if (Has(object, key)) value = Float(object, key, min, max);
}

void ReadInt(const Napi::Object& object, const char* key, int32_t min, int32_t max, int32_t& value) {
  if (Has(object, key)) value = Int(object, key, min, max);
}

int32_t ToToken(const Napi::Object& object, const char* key, const Napi::Value& value) {
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : -1.0;
  if (number < 0 || number > std::numeric_limits<int32_t>::max() || number != std::floor(number)) {
    throw Napi::RangeError::New(object.Env(), std::string(key) + " has an item that is not the number of a token");
  }
  return static_cast<int32_t>(number);
}

std::vector<llama::LogitBias> ToLogitBias(const Napi::Object& object) {
  return OptionalList<llama::LogitBias>(object, "logitBias", [&](const Napi::Value& item) -> llama::LogitBias {
    const auto pair = ToObject(object.Env(), item, "an item of logitBias");
    return {ToToken(object, "logitBias", pair.Get("token")), Float(pair, "bias", -kMaxFloat, kMaxFloat)};
  });
}

llama::DryParams ToDry(const Napi::Object& object) {
  llama::DryParams dry;
  dry.multiplier = Float(object, "multiplier", 0, kMaxFloat);
  ReadFloat(object, "base", 1, kMaxFloat, dry.base);
  ReadInt(object, "allowedLength", 1, std::numeric_limits<int32_t>::max(), dry.allowed_length);
  ReadInt(object, "lastTokens", -1, std::numeric_limits<int32_t>::max(), dry.last_n);
  if (Has(object, "sequenceBreakers")) dry.sequence_breakers = OptionalStrings(object, "sequenceBreakers");
  return dry;
}

llama::MirostatParams ToMirostat(const Napi::Object& object) {
  llama::MirostatParams mirostat;
  mirostat.version = Int(object, "version", 0, 2);
  ReadFloat(object, "tau", 0, kMaxFloat, mirostat.tau);
  ReadFloat(object, "eta", 0, kMaxFloat, mirostat.eta);
  return mirostat;
}

std::vector<int32_t> ToTokens(const Napi::Object& object, const char* key) {
  return OptionalList<int32_t>(object, key, [&](const Napi::Value& item) { return ToToken(object, key, item); });
}

llama::GrammarParams ToGrammar(const Napi::Object& object) {
  llama::GrammarParams grammar;
  grammar.text = String(object, "text");
  if (Has(object, "root")) grammar.root = String(object, "root");
  if (Has(object, "quotable")) {
    const auto given = ToObject(object.Env(), object.Get("quotable"), "quotable");
    llama::Quotable quotable;
    quotable.texts = OptionalStrings(given, "texts");
    quotable.min_words = static_cast<uint32_t>(Int(given, "minWords", 1));
    if (Has(given, "maxWords")) quotable.max_words = static_cast<uint32_t>(Int(given, "maxWords", 1));
    grammar.quotable = std::make_shared<const llama::Quotable>(std::move(quotable));
  }
  grammar.closes = object.Get("closes").ToBoolean();
  return grammar;
}

}  // namespace

llama::SamplingParams ToSamplingParams(const Napi::Object& object) {
  llama::SamplingParams params;
  params.temperature = Float(object, "temperature", 0, kMaxFloat);
  params.top_k = Int(object, "topK", -1);
  params.top_p = Float(object, "topP", 0, 1);
  params.min_p = Float(object, "minP", 0, 1);
  ReadFloat(object, "typicalP", 0, 1, params.typical_p);
  params.penalties.repetition = Float(object, "repetitionPenalty", kMinPositive, kMaxFloat);
  ReadFloat(object, "presencePenalty", -kMaxFloat, kMaxFloat, params.penalties.presence);
  ReadFloat(object, "frequencyPenalty", -kMaxFloat, kMaxFloat, params.penalties.frequency);
  if (Has(object, "dry")) params.dry = ToDry(ToObject(object.Env(), object.Get("dry"), "dry"));
  if (Has(object, "xtc")) {
    const auto xtc = ToObject(object.Env(), object.Get("xtc"), "xtc");
    params.xtc = {.probability = Float(xtc, "probability", 0, 1), .threshold = Float(xtc, "threshold", 0, 1)};
  }
  if (Has(object, "mirostat")) params.mirostat = ToMirostat(ToObject(object.Env(), object.Get("mirostat"), "mirostat"));
  params.logit_bias = ToLogitBias(object);
  params.bad_words = OptionalStrings(object, "badWords");
  params.seed = static_cast<uint32_t>(static_cast<int64_t>(Number(object, "seed", -0x1p52, 0x1p52)));
  params.max_tokens = Int(object, "maxTokens", 0);
  ReadInt(object, "minTokens", 0, std::numeric_limits<int32_t>::max(), params.min_tokens);
  params.ignore_eos = object.Get("ignoreEos").ToBoolean();
  if (!Has(object, "stop")) throw Napi::TypeError::New(object.Env(), "stop is not an array");
  params.stop = OptionalStrings(object, "stop");
  params.stop_tokens = ToTokens(object, "stopTokenIds");
  ReadInt(object, "logprobs", 0, std::numeric_limits<int32_t>::max(), params.n_logprobs);
  ReadInt(object, "promptLogprobs", 0, std::numeric_limits<int32_t>::max(), params.n_prompt_logprobs);
  if (Has(object, "reproducible")) params.is_reproducible = object.Get("reproducible").ToBoolean();
  if (Has(object, "grammar")) params.grammar = ToGrammar(ToObject(object.Env(), object.Get("grammar"), "grammar"));
  return params;
}

}  // namespace aana
