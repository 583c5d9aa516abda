#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "core/llama/event.h"
#include "core/llama/inbox.h"
#include "core/llama/outbox.h"
#include "core/llama/request.h"
#include "core/llama/vision/projector.h"
#include "core/tenant_turns.h"

namespace aana::llama {

// Encodes the images and sounds of requests whose prompts were read, on a thread of its own, so that they hold up
// neither other prompts nor the sequences that are decoded. Tenants take turns, image by image; of a tenant's requests
// the one of the highest priority goes first, of those the oldest. A request whose images are encoded goes to the
// inbox. Keeps the embeddings of the last images, because the next request of a conversation has the same ones.
class ImageEncoder {
 public:
  // Both must outlive this.
  ImageEncoder(Inbox& inbox, Outbox& outbox) : inbox_(inbox), outbox_(outbox) {}
  // Drops what is left, and waits.
  ~ImageEncoder();
  ImageEncoder(const ImageEncoder&) = delete;
  ImageEncoder& operator=(const ImageEncoder&) = delete;

  // Begins to encode. `projector` is used until Join returns.
  void Start(Projector& projector);

  // Any thread.
  void Post(ReadRequest request);
  // False when the request is not here. Else it ends as cancelled, at the latest when the tile of an image, or the
  // window of a sound, that is encoded is done.
  bool Cancel(RequestId id);
  // Ends what is here as cancelled.
  void Stop();
  // Waits for the thread, after Stop. Nothing goes to the inbox afterwards.
  void Join();
  // Stops without an end for any request: whoever posted them must end those that are open.
  void Abandon();

 private:
  // The embeddings of all tiles of an image.
  struct Kept {
    std::string cache_key;             // of the requests that may use them
    std::vector<llama_token> numbers;  // of its cells
    std::vector<Embeddings> embeddings;
    size_t n_bytes = 0;
  };
  struct Waiting {
    ReadRequest request;
    uint64_t number = 0;
  };

  void Run(Projector& projector);
  // Empty when the thread shall end.
  std::optional<Waiting> TakeNext();
  // Encodes the next image of the request. Returns the event that ends it where that is not possible.
  std::optional<Event> EncodeNext(ReadRequest& request, Projector& projector);
  // Gives the images of a part the embeddings that are kept. False when there are none.
  bool UseKept(const std::string& cache_key, std::vector<PromptImage*> images, const std::vector<llama_token>& numbers);
  void Keep(const std::string& cache_key, const std::vector<PromptImage*>& images, std::vector<llama_token> numbers);
  void Finish(Waiting waiting, std::optional<Event> failure);

  Inbox& inbox_;
  Outbox& outbox_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Waiting> waiting_;
  std::optional<RequestId> current_;  // whose image is encoded
  bool is_current_cancelled_ = false;
  bool is_stopping_ = false;
  uint64_t n_requests_ = 0;
  TenantTurns turns_;
  std::list<Kept> kept_;  // the last one that was used first; only the thread uses it
  size_t n_kept_bytes_ = 0;
  std::thread thread_;
};

}  // namespace aana::llama
