#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "core/llama/answer/chat_answers.h"
#include "core/llama/event.h"
#include "core/llama/inbox.h"
#include "core/llama/model/rule_finder.h"
#include "core/llama/outbox.h"
#include "core/llama/prompt/prompt_tokenizer.h"
#include "core/llama/request.h"
#include "core/llama/vision/image_encoder.h"
#include "core/tenant_turns.h"

namespace aana::llama {

// Reads the prompts of requests on a thread of its own, so that a long prompt holds up neither the sequences that are
// decoded nor the caller. Tenants take turns; of a tenant's prompts the one of the highest priority goes first, of
// those the oldest. A request whose prompt was read goes to the inbox, or first to the encoder of its images; one that
// cannot be served ends here.
class PromptReader {
 public:
  using Job = std::variant<Request, CountRequest>;

  struct Room {
    int32_t n_context = 0;  // tokens that fit into a sequence
    int32_t n_pass = 0;     // tokens of an image that is read in one pass
  };

  // All must outlive this.
  PromptReader(Inbox& inbox, Outbox& outbox, ChatAnswers& answers, ImageEncoder& images)
      : inbox_(inbox), outbox_(outbox), answers_(answers), images_(images) {}
  // Drops what is left, and waits.
  ~PromptReader();
  PromptReader(const PromptReader&) = delete;
  PromptReader& operator=(const PromptReader&) = delete;

  // Begins to read. `tokenizer` and `rules` are used until Join returns; `room` is that of a sequence.
  void Start(const PromptTokenizer& tokenizer, RuleFinder& rules, Room room);

  // Any thread.
  void Post(Job job);
  // False when the request is not here: its prompt was read, or it never was here. Else it ends as cancelled.
  bool Cancel(RequestId id);
  // Ends what is here as cancelled.
  void Stop();
  // Waits for the thread, after Stop. Nothing goes to the inbox afterwards.
  void Join();
  // Stops without an end for any request: whoever posted them must end those that are open.
  void Abandon();

 private:
  struct Waiting {
    Job job;
    uint64_t number = 0;
  };

  void Run(const PromptTokenizer& tokenizer, RuleFinder& rules, Room room);
  // Empty when the thread shall end.
  std::optional<Job> TakeNext();
  // Posts what became of the job that TakeNext gave last.
  void Finish(std::variant<ReadRequest, Event> result);

  Inbox& inbox_;
  Outbox& outbox_;
  ChatAnswers& answers_;
  ImageEncoder& images_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Waiting> waiting_;
  std::optional<RequestId> current_;  // being read
  bool is_current_cancelled_ = false;
  bool is_stopping_ = false;
  uint64_t n_jobs_ = 0;
  TenantTurns turns_;
  std::thread thread_;
};

}  // namespace aana::llama
