#pragma once

#include <cstdint>
#include <variant>

#include "core/llama/answer/chat_answers.h"
#include "core/llama/event.h"
#include "core/llama/inbox.h"
#include "core/llama/job_thread.h"
#include "core/llama/model/rule_finder.h"
#include "core/llama/outbox.h"
#include "core/llama/prompt/prompt_tokenizer.h"
#include "core/llama/request.h"
#include "core/llama/vision/image_encoder.h"

namespace aana::llama {

// A request whose prompt is to be read.
using PromptJob = std::variant<Request, CountRequest>;

inline RequestId IdOf(const PromptJob& job) {
  return std::visit([](const auto& request) { return request.id; }, job);
}
inline const RequestTerms& TermsOf(const PromptJob& job) {
  return std::visit([](const auto& request) -> const RequestTerms& { return request.terms; }, job);
}

// Reads the prompts of requests on a thread of its own, so that a long prompt holds up neither the sequences that are
// decoded nor the caller. Tenants take turns; of a tenant's prompts the one of the highest priority goes first, of
// those the oldest. A request whose prompt was read goes to the inbox, or first to the encoder of its images; one that
// cannot be served ends here.
class PromptReader {
 public:
  using Job = PromptJob;

  struct Room {
    int32_t n_context = 0;  // tokens that fit into a sequence
    int32_t n_pass = 0;     // tokens of an image that is read in one pass
  };

  // All must outlive this.
  PromptReader(Inbox& inbox, Outbox& outbox, ChatAnswers& answers, ImageEncoder& images)
      : inbox_(inbox), outbox_(outbox), answers_(answers), images_(images) {}

  // Begins to read. `tokenizer` and `rules` are used until Join returns; `room` is that of a sequence.
  void Start(const PromptTokenizer& tokenizer, RuleFinder& rules, Room room);

  // Any thread. See JobThread for these.
  void Post(Job job);
  bool Cancel(RequestId id) { return jobs_.Cancel(id); }
  void Stop() { jobs_.Stop(); }
  void Join() { jobs_.Join(); }
  void Abandon() { jobs_.Abandon(); }

 private:
  // Posts what became of a request.
  void Deliver(std::variant<ReadRequest, Event> result);

  Inbox& inbox_;
  Outbox& outbox_;
  ChatAnswers& answers_;
  ImageEncoder& images_;
  JobThread<Job> jobs_{outbox_};  // last, because its thread uses all the others
};

}  // namespace aana::llama
