#include "core/llama/vision/image_encoder.h"

#include <algorithm>
#include <chrono>
#include <exception>

namespace aana::llama {
namespace {

// Embeddings that are kept for later requests.
constexpr size_t kMostKeptBytes = 128U << 20;

Event Failed(const ReadRequest& request, ErrorCode code, Fault fault, std::string message) {
  return {request.id, ErrorEvent{code, fault, std::move(message), static_cast<int32_t>(request.tokens.size()), 0}};
}

PromptImage* NextImage(ReadRequest& request) {
  const auto next = std::ranges::find_if(request.images, [](const PromptImage& image) { return !image.embeddings; });
  return next == request.images.end() ? nullptr : &*next;
}

}  // namespace

void ImageEncoder::Start(Projector& projector) {
  jobs_.Start(
      "aana-images", [this, &projector](ReadRequest& request) { return EncodeNext(request, projector); },
      [this](ReadRequest& request, std::optional<Event> failure) { return Deliver(request, std::move(failure)); });
}

std::optional<Event> ImageEncoder::EncodeNext(ReadRequest& request, Projector& projector) {
  if (request.terms.IsOverdue(std::chrono::steady_clock::now())) {
    return Failed(request, ErrorCode::kDeadlineExceeded, Fault::kOverload,
                  "its deadline passed before its images or audio were encoded");
  }
  auto* next = NextImage(request);
  if (!next) return std::nullopt;
  try {
    std::vector<PromptImage*> tiles;
    std::vector<llama_token> numbers;
    for (auto& image : request.images) {
      if (image.part != next->part) continue;
      tiles.push_back(&image);
      const auto first = request.tokens.begin() + static_cast<std::ptrdiff_t>(image.first);
      numbers.insert(numbers.end(), first, first + static_cast<std::ptrdiff_t>(image.n_cells));
    }
    if (UseKept(request.terms.cache_key, tiles, numbers)) {
      counters_.Change([](Counts& counts) { counts.n_kept_media++; });
      return std::nullopt;
    }
    projector.Encode(*request.media_prompt, next->part, request.images, [this] { return jobs_.IsWanted(); });
    // What was cancelled is not complete.
    if (!jobs_.IsWanted()) return std::nullopt;
    Keep(request.terms.cache_key, tiles, std::move(numbers));
    counters_.Change([](Counts& counts) { counts.n_encoded_media++; });
    return std::nullopt;
  } catch (const std::exception& error) {
    return Failed(request, ErrorCode::kFailed, Fault::kDeployment,
                  std::string(next->is_sound ? "audio" : "an image") + " could not be encoded: " + error.what());
  }
}

bool ImageEncoder::UseKept(const std::string& cache_key, std::vector<PromptImage*> images,
                           const std::vector<llama_token>& numbers) {
  const auto found = std::ranges::find_if(kept_, [&](const Kept& kept) {
    return kept.cache_key == cache_key && kept.numbers == numbers && kept.embeddings.size() == images.size();
  });
  if (found == kept_.end()) return false;
  for (size_t i = 0; i < images.size(); i++) images[i]->embeddings = found->embeddings[i];
  kept_.splice(kept_.begin(), kept_, found);
  return true;
}

void ImageEncoder::Keep(const std::string& cache_key, const std::vector<PromptImage*>& images,
                        std::vector<llama_token> numbers) {
  Kept kept{cache_key, std::move(numbers), {}, 0};
  for (const auto* image : images) {
    if (!image->embeddings) throw std::runtime_error("the encoder gave less than it told");
    kept.embeddings.push_back(image->embeddings);
    kept.n_bytes += image->embeddings->size() * sizeof(float);
  }
  n_kept_bytes_ += kept.n_bytes;
  kept_.push_front(std::move(kept));
  while (n_kept_bytes_ > kMostKeptBytes && kept_.size() > 1) {
    n_kept_bytes_ -= kept_.back().n_bytes;
    kept_.pop_back();
  }
}

bool ImageEncoder::Deliver(ReadRequest& request, std::optional<Event> failure) {
  if (failure) {
    outbox_.Post({std::move(*failure)});
    return false;
  }
  if (NextImage(request)) return true;
  request.media_prompt.reset();
  inbox_.Post(std::move(request));
  return false;
}

}  // namespace aana::llama
