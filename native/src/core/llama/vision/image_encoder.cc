#include "core/llama/vision/image_encoder.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <tuple>

#include "core/engine_log.h"
#include "core/thread_name.h"

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

ImageEncoder::~ImageEncoder() {
  Abandon();
  Join();
}

void ImageEncoder::Start(Projector& projector) {
  thread_ = std::thread([this, &projector] { Run(projector); });
}

void ImageEncoder::Post(ReadRequest request) {
  std::lock_guard lock(mutex_);
  if (is_stopping_) return outbox_.Post({Cancelled(request.id)});
  waiting_.push_back({std::move(request), n_requests_++});
  changed_.notify_one();
}

bool ImageEncoder::Cancel(RequestId id) {
  std::lock_guard lock(mutex_);
  if (current_ == id) return is_current_cancelled_ = true;
  const auto found = std::ranges::find_if(waiting_, [&](const Waiting& entry) { return entry.request.id == id; });
  if (found == waiting_.end()) return false;
  waiting_.erase(found);
  outbox_.Post({Cancelled(id)});
  return true;
}

void ImageEncoder::Stop() {
  std::lock_guard lock(mutex_);
  is_stopping_ = true;
  if (current_) is_current_cancelled_ = true;
  for (const auto& entry : std::exchange(waiting_, {})) outbox_.Post({Cancelled(entry.request.id)});
  changed_.notify_one();
}

void ImageEncoder::Join() {
  if (thread_.joinable()) thread_.join();
}

void ImageEncoder::Abandon() {
  std::lock_guard lock(mutex_);
  is_stopping_ = true;
  waiting_.clear();
  changed_.notify_one();
}

void ImageEncoder::Run(Projector& projector) {
  NameThread("aana-images");
  while (auto next = TakeNext()) {
    auto failure = EncodeNext(next->request, projector);
    Finish(std::move(*next), std::move(failure));
  }
}

std::optional<ImageEncoder::Waiting> ImageEncoder::TakeNext() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_stopping_ || !waiting_.empty(); });
  if (is_stopping_) return std::nullopt;
  const auto rank = [&](const Waiting& entry) {
    const auto& terms = entry.request.terms;
    return std::tuple(turns_.Rank(terms.tenant), -static_cast<int64_t>(terms.priority), entry.number);
  };
  const auto next = std::ranges::min_element(waiting_, {}, rank);
  Waiting taken = std::move(*next);
  waiting_.erase(next);
  turns_.Begin(taken.request.terms.tenant);
  turns_.End(taken.request.terms.tenant);
  current_ = taken.request.id;
  is_current_cancelled_ = false;
  return taken;
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
    if (UseKept(request.terms.cache_key, tiles, numbers)) return std::nullopt;
    const auto goes_on = [this] {
      std::lock_guard lock(mutex_);
      return !is_current_cancelled_ && !is_stopping_;
    };
    projector.Encode(*request.media_prompt, next->part, request.images, goes_on);
    // What was cancelled is not complete.
    if (!goes_on()) return std::nullopt;
    Keep(request.terms.cache_key, tiles, std::move(numbers));
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

void ImageEncoder::Finish(Waiting waiting, std::optional<Event> failure) {
  std::lock_guard lock(mutex_);
  current_.reset();
  auto& request = waiting.request;
  if (is_current_cancelled_ || is_stopping_) return outbox_.Post({Cancelled(request.id)});
  if (failure) return outbox_.Post({std::move(*failure)});
  if (NextImage(request)) return waiting_.push_back(std::move(waiting));
  request.media_prompt.reset();
  inbox_.Post(std::move(request));
}

}  // namespace aana::llama
