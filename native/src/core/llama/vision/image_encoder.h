#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/llama/counters.h"
#include "core/llama/event.h"
#include "core/llama/inbox.h"
#include "core/llama/job_thread.h"
#include "core/llama/outbox.h"
#include "core/llama/request.h"
#include "core/llama/vision/projector.h"

namespace aana::llama {

// Encodes the images and sounds of requests whose prompts were read, on a thread of its own, so that they hold up
// neither other prompts nor the sequences that are decoded. Tenants take turns, image by image; of a tenant's requests
// the one of the highest priority goes first, of those the oldest. A request whose images are encoded goes to the
// inbox. Keeps the embeddings of the last images, because the next request of a conversation has the same ones.
class ImageEncoder {
 public:
  // All must outlive this.
  ImageEncoder(Inbox& inbox, Outbox& outbox, Counters& counters)
      : inbox_(inbox), outbox_(outbox), counters_(counters) {}

  // Begins to encode. `projector` is used until Join returns.
  void Start(Projector& projector);

  // Any thread. See JobThread for these.
  void Post(ReadRequest request) { jobs_.Post(std::move(request)); }
  bool Cancel(RequestId id) { return jobs_.Cancel(id); }
  void Stop() { jobs_.Stop(); }
  void Join() { jobs_.Join(); }
  void Abandon() { jobs_.Abandon(); }

 private:
  // The embeddings of all tiles of an image.
  struct Kept {
    std::string cache_key;             // of the requests that may use them
    std::vector<llama_token> numbers;  // of its cells
    std::vector<Embeddings> embeddings;
    size_t n_bytes = 0;
  };

  // Encodes the next image of the request. Returns the event that ends it where that is not possible.
  std::optional<Event> EncodeNext(ReadRequest& request, Projector& projector);
  // Gives the images of a part the embeddings that are kept. False when there are none.
  bool UseKept(const std::string& cache_key, std::vector<PromptImage*> images, const std::vector<llama_token>& numbers);
  void Keep(const std::string& cache_key, const std::vector<PromptImage*>& images, std::vector<llama_token> numbers);
  // Whether the request has further images, or else where it goes next.
  bool Deliver(ReadRequest& request, std::optional<Event> failure);

  Inbox& inbox_;
  Outbox& outbox_;
  Counters& counters_;
  std::list<Kept> kept_;  // the last one that was used first; only the thread uses it
  size_t n_kept_bytes_ = 0;
  JobThread<ReadRequest> jobs_{outbox_};  // last, because its thread uses all the others
};

}  // namespace aana::llama
