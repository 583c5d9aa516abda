// The thread that encodes images and sounds.
#include "core/llama/vision/image_encoder.h"

#include <functional>
#include <future>
#include <memory>
#include <variant>
#include <vector>

#include "../check.h"
#include "../events/fake_llama.h"
#include "harness.h"
#include "tests.h"

namespace aana::test {
namespace {

using namespace llama;

// Its sounds have windows, which `on_window` is told of.
class WindowedProjector : public Projector {
 public:
  explicit WindowedProjector(std::function<void()> on_window) : on_window_(std::move(on_window)) {}

  bool ReadsImages() const override { return false; }
  bool ReadsSounds() const override { return true; }
  bool NeedsWholeImages() const override { return false; }
  size_t n_window_tokens() const override { return 0; }
  Layout Read(const MediaPrompt&) const override { return {}; }
  void Encode(const MediaPrompt&, size_t, std::vector<PromptImage>& images,
              const std::function<bool()>& goes_on) override {
    for (auto& image : images) {
      if (!goes_on()) return;
      on_window_();
      image.embeddings = std::make_shared<const std::vector<float>>(1);
    }
  }

 private:
  std::function<void()> on_window_;
};

ReadRequest SoundRequest(RequestId id, size_t n_windows) {
  auto request = GreedyRequest(id, std::vector<llama_token>(n_windows, -1), 1);
  for (size_t i = 0; i < n_windows; i++) {
    PromptImage window;
    window.first = i;
    window.n_cells = 1;
    window.is_sound = true;
    request.images.push_back(std::move(window));
  }
  request.media_prompt = std::make_shared<MediaPrompt>();
  return request;
}

}  // namespace

void TestEncoder() {
  for (const bool is_stopped : {false, true}) {
    Test(std::string("a sound is encoded no further than the window in which ") +
             (is_stopped ? "the engine stops" : "it is cancelled"),
         [is_stopped] {
           int n_windows = 0;
           std::promise<void> told;
           Inbox inbox;
           Outbox outbox([&] { told.set_value(); });
           Counters counters;
           ImageEncoder encoder(inbox, outbox, counters);
           WindowedProjector projector([&] {
             if (++n_windows < 3) return;
             if (is_stopped)
               encoder.Stop();
             else
               encoder.Cancel(7);
           });
           encoder.Start(projector);
           encoder.Post(SoundRequest(7, 10));
           told.get_future().wait();
           encoder.Stop();
           encoder.Join();
           const auto events = outbox.Take().events;
           const auto* end = events.empty() ? nullptr : std::get_if<EndEvent>(&events[0].what);
           Expect(end && end->reason == FinishReason::kCancelled, "it does not end as cancelled");
           Expect(n_windows == 3, std::to_string(n_windows) + " windows were encoded");
         });
  }
}

}  // namespace aana::test
