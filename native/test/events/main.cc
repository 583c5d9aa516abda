// Random sequences of events to the decode loop of the language model engine: arrivals, also with images,
// cancellations, slow readers, deadlines, guessed tokens, adapters, too few cells, kept states and less room for them,
// prompts on disk, windows of attention, images that cannot be encoded, and decodes that fail or are abandoned. The
// library below the loop is a fake whose next token follows from the tokens in the cache, so each answer has one right
// text, also when its sequence shares a beginning or is computed again. Time is a number that the events move on. After
// each turn, what the engine tells of itself is compared with the fake's cache, and no request may be open that should
// have ended or gone on.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "core/llama/common_prefix.h"
#include "core/llama/loop/decode_loop.h"
#include "core/llama/schedule/fixed_chunks.h"
#include "core/llama/vision/image_encoder.h"
#include "fake_llama.h"
#include "prompts.h"
#include "random.h"

// Takes the place of the library's clock.
std::chrono::steady_clock::time_point std::chrono::steady_clock::now() noexcept {
  return time_point(aana::fake::now.load());
}

namespace aana::test {
namespace {

using namespace llama;
using std::chrono::milliseconds;
namespace fs = std::filesystem;

// More than a context has, so all of its cells are common.
constexpr int32_t kAllCells = 1'000'000;

struct Totals {
  uint64_t n_requests = 0;
  uint64_t n_whole = 0;
  uint64_t n_cancelled = 0;
  uint64_t n_late = 0;
  uint64_t n_slow = 0;
  uint64_t n_failed = 0;
  uint64_t n_preempted = 0;
  uint64_t n_paused = 0;
  uint64_t n_reused = 0;
  uint64_t n_accepted = 0;
  uint64_t n_idle = 0;
  uint64_t n_kept_hits = 0;
  uint64_t n_kept_tokens = 0;
  uint64_t n_kept_limits = 0;
  uint64_t n_restored = 0;
  uint64_t n_images = 0;
  uint64_t n_images_reused = 0;
  uint64_t n_images_taken_back = 0;
  uint64_t n_images_failed = 0;
  uint64_t n_windows_lost = 0;
  uint64_t n_steps = 0;
  uint64_t n_passes = 0;
};

// The tokens that a request may have left in the cache, and whose they are.
struct Left {
  RequestId id = 0;
  std::string tenant;
  AdapterUse adapter;
  std::vector<TokenId> tokens;
};

struct Open {
  std::string tenant;
  AdapterUse adapter;
  std::vector<TokenId> prompt;
  std::vector<PromptImage> images;
  bool has_broken_picture = false;
  std::vector<TokenId> told;  // of the prompt
  std::string text;
  int64_t n_told = 0;  // tokens of the text
  int32_t max_tokens = 0;
  bool is_reproducible = false;
  bool is_scored = false;
  bool is_cancelled = false;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  bool is_slow = false;
  bool was_slow = false;
  int64_t n_unread = 0;
  std::optional<std::chrono::steady_clock::time_point>
      full_since;  // when its reader had so much to take that it should have been held back
  int n_turns_without_text = 0;
  bool has_slot_for_good = false;  // it had a text when it was the oldest one, and the youngest one loses its slot
};

// Texts that a reader may have before it, as in sequence.h.
constexpr int64_t kMostUnread = 64;
// A sequence that decodes has a text after so many turns. Each slot may have a step of its own, and decodes may be
// abandoned.
constexpr int kMostTurnsWithoutText = 40;

// A folder of this process for prompts on disk, and for files that stand for a model and its adapters.
class Folder {
 public:
  Folder() {
    std::string path = fs::temp_directory_path() / "aana-event-fuzz-XXXXXX";
    if (!mkdtemp(path.data())) throw std::runtime_error("no folder can be made in " + path);
    path_ = path;
    for (const auto* name : {"model", "first adapter", "second adapter"}) std::ofstream(path_ / name) << name;
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string File(const std::string& name) const { return path_ / name; }
  // Empty again.
  std::string Prompts() const {
    fs::remove_all(path_ / "prompts");
    return path_ / "prompts";
  }

 private:
  fs::path path_;
};

// The events of one engine.
class EventSequence {
 public:
  EventSequence(uint32_t seed, const Folder& folder, Totals& totals) : random_(seed), totals_(totals) {
    sight_ = OneIn(2) ? Sight::kNone : static_cast<Sight>(1 + UpTo(2));
    is_recurrent_ = OneIn(8);
    const bool has_windows = !is_recurrent_ && OneIn(6);
    fake::Set({.is_recurrent = is_recurrent_,
               .has_image_positions = sight_ == Sight::kPositions,
               .n_window = has_windows ? 8 + UpTo(40) : 0,
               .abandoned = OneIn(3) ? 0.05 : 0,
               .failing = OneIn(10) ? 0.01 : 0,
               .seed = seed});
    // Few tokens divide images.
    options_.n_prefill_per_step = OneIn(3) ? 2 + UpTo(4) : 4 + UpTo(60);
    // Only the scores of a long prompt that is read token by token are too many for a reader who takes none.
    has_many_scores_ = OneIn(6);
    if (has_many_scores_) options_.n_prefill_per_step = 1;
    options_.n_sequences = 1 + (has_many_scores_ ? 2 + UpTo(2) : UpTo(4));
    // Only long beginnings have whole chunks that reproducible requests share.
    is_mostly_reproducible_ = !has_many_scores_ && OneIn(8);
    const bool keeps_on_disk = OneIn(6);
    const bool has_long_beginnings = has_many_scores_ || is_mostly_reproducible_ || keeps_on_disk;
    options_.n_context = keeps_on_disk ? 224 : sight_ == Sight::kNone && !has_long_beginnings ? 96 : 160;
    // With few tokens in a pass, a step of too many does not fit into a batch.
    if (OneIn(2)) options_.n_ubatch = 32 + UpTo(32);
    options_.n_drafted = OneIn(2) ? UpTo(8) : 0;
    options_.n_threads = OneIn(4) ? 3 : 1;
    options_.least_sampling_work = std::chrono::microseconds(0);
    if (OneIn(4) && !is_mostly_reproducible_) options_.n_cells = kAllCells;
    if (OneIn(2) && !is_mostly_reproducible_) options_.n_cells = options_.n_context + UpTo(100);
    // A common cache keeps all windows.
    options_.keeps_all_windows = !has_windows || options_.n_cells > 0 || OneIn(4);
    tenants_share_ = has_many_scores_ || OneIn(2);
    options_.reader_timeout = milliseconds(3000);
    has_slow_readers_ = OneIn(6);
    n_adapters_ = !has_many_scores_ && OneIn(3) ? 1 + UpTo(1) : 0;
    // A state has at least 1,400 bytes.
    if (!OneIn(3)) options_.n_kept_bytes = most_kept_ = static_cast<uint64_t>(OneIn(2) ? UpTo(8000) : UpTo(100'000));
    if (keeps_on_disk) {
      // With fewer slots and states, more has to come from disk.
      options_.n_sequences = 1 + UpTo(options_.n_sequences - 1);
      if (OneIn(2)) options_.n_kept_bytes = most_kept_ = 0;
      options_.model_path = folder.File("model");
      options_.adapters = {folder.File("first adapter"), folder.File("second adapter")};
      // A block has 3,600 bytes.
      options_.prompt_cache = {.folder = folder.Prompts(),
                               .max_bytes = static_cast<uint64_t>(OneIn(2) ? UpTo(20'000) : 1'000'000),
                               .n_least = 1 + UpTo(70)};
    }
    // Only long beginnings fill blocks of prompts on disk.
    prompts_.emplace(random_, sight_, keeps_on_disk ? 100 : has_long_beginnings ? 50 : 5);
  }

  void Run() {
    const Model model(options_, {});
    const Context context(model, options_, nullptr, nullptr);
    const Adapters adapters(model, {});
    if (!options_.prompt_cache.folder.empty()) store_ = std::make_unique<PromptStore>(model, context, options_);
    DecodeLoop loop(model, context, adapters, nullptr, store_.get(), options_, inbox_, outbox_, counters_);
    // Its thread makes the order of arrivals depend on the machine, so only some sequences of events have it.
    if (sight_ != Sight::kNone && OneIn(4)) StartEncoder(model);
    const int n_requests = 4 + UpTo(8);
    for (int n_sent = 0; n_sent < n_requests;) {
      if (OneIn(3)) {
        Submit();
        n_sent++;
      }
      if (OneIn(12)) Cancel();
      if (OneIn(10)) ChangeReader();
      if (most_kept_ > 0 && OneIn(60)) LimitKept();
      Turn(loop);
    }
    constexpr int kMostTurns = 20'000;
    const int n_patience = has_slow_readers_ || OneIn(3) ? UpTo(1000) : 0;
    for (int n = 0; !open_.empty(); n++) {
      for (auto& [id, request] : open_) {
        if (!request.is_slow || n >= n_patience) Acknowledge(id, request);
      }
      if (has_slow_readers_ && OneIn(20)) Cancel();
      // Else nothing that can happen before an image is encoded would bring the loop on.
      TakeEncoded(in_encoder_.size() == open_.size());
      Turn(loop);
      if (n > kMostTurns) {
        throw std::runtime_error("request " + std::to_string(open_.begin()->first) + " does not end");
      }
    }
    const auto counts = counters_.Read();
    totals_.n_preempted += counts.n_preempted;
    totals_.n_paused += counts.n_paused;
    totals_.n_reused += counts.n_reused;
    totals_.n_accepted += counts.n_accepted;
    totals_.n_idle += counts.n_idle;
    totals_.n_kept_hits += counts.n_kept_hits;
    totals_.n_kept_tokens += counts.n_kept_tokens;
    totals_.n_restored += counts.n_restored;
    totals_.n_steps += counts.n_steps;
    totals_.n_passes += counts.n_ubatches;
    totals_.n_images_taken_back += static_cast<uint64_t>(fake::NImagesTakenBack());
    totals_.n_windows_lost += static_cast<uint64_t>(fake::NWindowsLost());
  }

 private:
  int UpTo(int most) { return random_.UpTo(most); }
  bool OneIn(int n) { return random_.OneIn(n); }

  void StartEncoder(const Model& model) {
    projector_ = LoadProjector(options_, model, LoadProgress());
    encoder_ = std::make_unique<ImageEncoder>(encoded_, outbox_, counters_);
    encoder_->Start(*projector_);
  }

  // Gives the loop what is encoded, or waits until something is.
  void TakeEncoded(bool waits) {
    for (auto& command : encoded_.Take(waits)) {
      if (std::holds_alternative<llama::Acknowledge>(command)) continue;  // an event came
      if (const auto* read = std::get_if<ReadRequest>(&command)) in_encoder_.erase(read->id);
      inbox_.Post(std::move(command));
    }
  }

  void Submit() {
    const RequestId id = ++last_id_;
    auto& request = open_[id];
    auto prompt = prompts_->Next();
    // The reader of prompts refuses one that fills the context.
    while (std::ssize(prompt.tokens) >= options_.n_context) prompt = prompts_->Next();
    const bool has_images = !prompt.images.empty();
    request.prompt = prompt.tokens;
    request.images = prompt.images;
    request.max_tokens = 1 + UpTo(has_slow_readers_ || OneIn(2) ? 90 : 10);
    request.is_reproducible = OneIn(is_mostly_reproducible_ ? 2 : 5) && options_.n_cells == 0 && !has_images;
    request.is_scored = OneIn(has_many_scores_ ? 2 : 8) && !has_images;
    request.is_slow = request.was_slow = OneIn(has_many_scores_ || has_slow_readers_ ? 2 : 6);
    request.adapter =
        n_adapters_ > 0 && OneIn(2) ? AdapterUse{UpTo(n_adapters_ - 1), OneIn(3) ? 0.5F : 1.0F} : AdapterUse{};
    request.tenant = std::to_string(UpTo(2));
    ReadRequest read{.id = id,
                     .tokens = request.prompt,
                     .sampling = {},
                     .rules = {},
                     .shown_tokens = {},
                     .terms = {},
                     .adapter = {},
                     .arrived_at = {}};
    read.arrived_at = std::chrono::steady_clock::now();
    read.sampling.temperature = 0;
    read.sampling.max_tokens = request.max_tokens;
    read.sampling.is_reproducible = request.is_reproducible;
    if (request.is_scored) read.sampling.n_prompt_logprobs = UpTo(2);
    if (request.is_reproducible) {
      for (TokenId token = fake::kPlainTokens; token < fake::kTokens; token++)
        read.sampling.logit_bias.push_back({token, 20.0F});
    }
    read.adapter = request.adapter;
    read.terms.tenant = request.tenant;
    if (!tenants_share_) read.terms.cache_key = request.tenant;
    read.terms.priority = UpTo(4) - 2;
    read.terms.weight = 1 + UpTo(2);
    if (OneIn(12)) request.deadline = read.terms.deadline = std::chrono::steady_clock::now() + milliseconds(UpTo(3000));
    Leaves(id, request);
    totals_.n_requests++;
    totals_.n_images += prompt.images.size();
    if (has_images)
      Post(std::move(read), std::move(prompt), request);
    else
      inbox_.Post(std::move(read));
  }

  void Post(ReadRequest read, FakePrompt prompt, Open& request) {
    read.images = std::move(prompt.images);
    if (!encoder_) {
      for (auto& image : read.images) image.embeddings = fake::EmbeddingsOf(image, prompt.pictures[image.part]);
      return inbox_.Post(std::move(read));
    }
    auto media = std::make_shared<MediaPrompt>();
    for (const auto picture : prompt.pictures) {
      request.has_broken_picture |= picture == fake::kBrokenPicture;
      media->parts.push_back({.media = media->media.size()});
      media->media.push_back(llama::Image{.digest = {static_cast<uint32_t>(picture)}});
    }
    read.media_prompt = std::move(media);
    in_encoder_.insert(read.id);
    encoder_->Post(std::move(read));
  }

  Open* Any(RequestId& id) {
    if (open_.empty()) return nullptr;
    auto any = open_.begin();
    std::advance(any, UpTo(static_cast<int>(open_.size()) - 1));
    id = any->first;
    return &any->second;
  }

  void Cancel() {
    RequestId id = 0;
    auto* request = Any(id);
    if (!request) return;
    request->is_cancelled = true;
    // What the encoder has just given must come first.
    if (!encoder_)
      inbox_.Post(llama::Cancel{id});
    else if (!encoder_->Cancel(id))
      encoded_.Post(llama::Cancel{id});
  }

  void LimitKept() {
    most_kept_ = static_cast<uint64_t>(UpTo(20'000));
    totals_.n_kept_limits++;
    inbox_.Post(llama::LimitKept{most_kept_});
  }

  void ChangeReader() {
    RequestId id = 0;
    auto* request = Any(id);
    if (!request) return;
    request->is_slow = !request->is_slow;
    request->was_slow |= request->is_slow;
    if (!request->is_slow) Acknowledge(id, *request);
  }

  void Acknowledge(RequestId id, Open& request) {
    request.full_since.reset();
    if (request.n_unread > 0) inbox_.Post(llama::Acknowledge{id, std::exchange(request.n_unread, 0)});
  }

  void Turn(DecodeLoop& loop) {
    fake::Advance(milliseconds(OneIn(40) ? UpTo(1500) : UpTo(20)));
    TakeEncoded(false);
    const auto begun_at = std::chrono::steady_clock::now();
    const bool has_computed = loop.Turn(false);
    for (auto& [id, request] : open_) request.n_turns_without_text++;
    for (auto& event : outbox_.Take().events) Take(event);
    if (!fake::FirstMisuse().empty()) throw std::runtime_error("llama.cpp was misused: " + fake::FirstMisuse());
    CheckCache();
    if (!has_computed && store_)
      std::this_thread::yield();  // a prompt may be read
    else if (!has_computed)
      CheckIdle();
    for (const auto& [id, request] : open_) CheckOpen(id, request, begun_at);
  }

  void CheckCache() const {
    const auto counts = counters_.Read();
    const auto n_used = fake::NUsedCells();
    if (counts.n_used_cells != n_used) {
      throw std::runtime_error(std::to_string(n_used) + " cells are used, not " + std::to_string(counts.n_used_cells));
    }
    if (counts.n_kept_bytes > most_kept_ || (counts.n_kept_states == 0) != (counts.n_kept_bytes == 0)) {
      throw std::runtime_error(std::to_string(counts.n_kept_states) + " states of " +
                               std::to_string(counts.n_kept_bytes) + " bytes are kept");
    }
    // Only a sequence that runs can go on in the middle of an image.
    if (fake::NEndingInImage() > counts.n_running) throw std::runtime_error("a free slot keeps a part of an image");
  }

  // Nothing was computed, so the slots that there are, or the cells, must belong to requests whose readers have too
  // much to take.
  void CheckIdle() const {
    const auto is_full = [](const auto& open) { return open.second.n_unread >= kMostUnread; };
    const auto n_full = std::ranges::count_if(open_, is_full);
    const bool has_common_cells = options_.n_cells > 0;
    if (n_full >= (has_common_cells ? 1 : options_.n_sequences)) return;
    for (const auto& open : open_) {
      if (!is_full(open) && !in_encoder_.contains(open.first))
        throw std::runtime_error("request " + std::to_string(open.first) + " could go on");
    }
  }

  // `begun_at` is when the turn began.
  void CheckOpen(RequestId id, const Open& request, std::chrono::steady_clock::time_point begun_at) const {
    const auto expect = [&](bool is_true, const std::string& problem) {
      if (!is_true) throw std::runtime_error("request " + std::to_string(id) + " " + problem);
    };
    expect(request.n_unread <= kMostUnread + options_.n_drafted,
           "has " + std::to_string(request.n_unread) + " texts that its reader does not take");
    if (in_encoder_.contains(id)) return;
    expect(!request.is_cancelled, "goes on after it was cancelled");
    expect(!request.deadline || *request.deadline > begun_at, "goes on behind its deadline");
    expect(!request.full_since || *request.full_since + options_.reader_timeout > begun_at,
           "goes on without its reader");
    // One of a recurrent model, or whose window is gone, reads its prompt again when a decode is abandoned.
    const auto counts = counters_.Read();
    const bool has_slot =
        counts.n_paused == 0 && (request.has_slot_for_good || (!request.text.empty() && counts.n_preempted == 0));
    const bool reads_again = is_recurrent_ || !options_.keeps_all_windows;
    expect(!has_slot || request.was_slow || reads_again || request.n_turns_without_text <= kMostTurnsWithoutText,
           "gets no further text");
  }

  void Leaves(RequestId id, const Open& request) {
    auto tokens = request.prompt;
    for (const auto letter : Expected(request)) tokens.push_back(letter - '0');
    left_.push_back({id, request.tenant, request.adapter, std::move(tokens)});
  }

  // Returns how many tokens of the request's prompt others have computed of whose use its reader may be told.
  size_t MostReused(RequestId id, const Open& request) const {
    size_t most = 0;
    for (const auto& left : left_) {
      const bool may_use = left.id != id && left.adapter == request.adapter && left.tenant == request.tenant;
      if (may_use) most = std::max(most, CommonPrefix(left.tokens, request.prompt));
    }
    return most;
  }

  void Take(const Event& event) {
    const auto found = open_.find(event.id);
    const auto name = "request " + std::to_string(event.id);
    if (found == open_.end()) throw std::runtime_error(name + " has an event after its end");
    auto& request = found->second;
    const auto expect = [&](bool is_true, const std::string& problem) {
      if (!is_true) throw std::runtime_error(name + (request.is_reproducible ? ", reproducible, " : " ") + problem);
    };
    if (const auto* text = std::get_if<TextEvent>(&event.what)) {
      expect(text->prompt.empty() || request.text.empty(), "is told its prompt after its text");
      for (const auto& token : text->prompt) request.told.push_back(token.token.token);
      request.text += text->text;
      request.n_told += text->n_tokens;
      expect(request.n_told == std::ssize(request.text), "is told of other tokens than those of its text");
      request.n_turns_without_text = 0;
      request.has_slot_for_good |= !request.text.empty() && !encoder_ && found == open_.begin();
      if (++request.n_unread == kMostUnread) request.full_since = std::chrono::steady_clock::now();
      if (!request.is_slow) Acknowledge(event.id, request);
      return;
    }
    const auto expected = Expected(request);
    if (const auto* end = std::get_if<EndEvent>(&event.what)) {
      if (end->reason == FinishReason::kCancelled) {
        expect(request.is_cancelled, "was never cancelled");
        totals_.n_cancelled++;
        expect(expected.starts_with(request.text), "has the text " + request.text + ", not " + expected);
      } else {
        totals_.n_whole++;
        expect(request.text == expected, "has the text " + request.text + ", not " + expected);
        expect(!request.is_scored || request.told == request.prompt, "is not told its prompt");
        const bool is_long = std::ssize(expected) == MostText(request);
        expect(end->reason == (is_long ? FinishReason::kLength : FinishReason::kStop), "has another reason to end");
        expect(end->n_prompt == std::ssize(request.prompt) && end->n_completion == std::ssize(expected),
               "has other numbers of tokens");
        expect(end->n_reused < end->n_prompt, "reused its whole prompt");
        expect(static_cast<size_t>(end->n_reused) <= MostReused(event.id, request), "is told what other tenants sent");
        expect(!request.has_broken_picture, "read a picture that cannot be encoded");
        totals_.n_images_reused +=
            static_cast<uint64_t>(std::ranges::count_if(request.images, [&](const PromptImage& image) {
              return image.end() <= static_cast<size_t>(end->n_reused);
            }));
      }
    } else {
      const auto& error = std::get<ErrorEvent>(event.what);
      expect(expected.starts_with(request.text), "has the text " + request.text + ", not " + expected);
      switch (error.code) {
        case ErrorCode::kDeadlineExceeded:
          expect(request.deadline.has_value(), "has no deadline");
          totals_.n_late++;
          break;
        case ErrorCode::kSlowReader:
          expect(request.was_slow, "has no slow reader");
          totals_.n_slow++;
          break;
        default:
          if (request.has_broken_picture && error.message == "an image could not be encoded: the picture is broken") {
            totals_.n_images_failed++;
            break;
          }
          expect(error.code == ErrorCode::kFailed && fake::NFailures() > 0, "failed: " + error.message);
          totals_.n_failed++;
      }
    }
    in_encoder_.erase(event.id);
    open_.erase(found);
  }

  std::string Expected(const Open& request) const {
    const size_t n_prompt = request.prompt.size();
    std::vector<size_t> chunks;
    for (size_t at = 0; at < n_prompt; at += chunks.back()) {
      chunks.push_back(request.is_scored ? FixedChunk(at, n_prompt, Context::kMostScored) : FixedChunk(at, n_prompt));
    }
    const auto n = static_cast<size_t>(MostText(request));
    std::string text;
    for (const auto token : fake::Continue(request.prompt, chunks, n, request.is_reproducible, request.adapter))
      text += static_cast<char>('0' + token);
    return text;
  }

  // Returns how many tokens the text of a request has if none ends it.
  std::ptrdiff_t MostText(const Open& request) const {
    return std::min<std::ptrdiff_t>(request.max_tokens, options_.n_context - std::ssize(request.prompt));
  }

  Random random_;
  Totals& totals_;
  LoadOptions options_;
  Sight sight_ = Sight::kNone;
  bool is_recurrent_ = false;
  bool tenants_share_ = false;  // what was computed
  bool has_many_scores_ = false;
  bool is_mostly_reproducible_ = false;
  bool has_slow_readers_ = false;
  int n_adapters_ = 0;
  uint64_t most_kept_ = 0;  // bytes of states
  Counters counters_;
  std::optional<Prompts> prompts_;
  Inbox inbox_;
  Inbox encoded_;  // what the encoder gives
  Outbox outbox_{[this] { encoded_.Post(llama::Acknowledge{0, 0}); }};
  std::map<RequestId, Open> open_;
  std::vector<Left> left_;  // of all requests
  std::set<RequestId> in_encoder_;
  RequestId last_id_ = 0;
  std::unique_ptr<Projector> projector_;
  // Last, because their threads use the members above.
  std::unique_ptr<PromptStore> store_;
  std::unique_ptr<ImageEncoder> encoder_;
};

}  // namespace
}  // namespace aana::test

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: aana-event-fuzz <sequences of events> <seed>\n");
    return 2;
  }
  const auto first = static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 10));
  const auto n = static_cast<uint32_t>(std::strtoul(argv[1], nullptr, 10));
  const aana::test::Folder folder;
  aana::test::Totals totals;
  for (uint32_t seed = first; seed < first + n; seed++) {
    try {
      aana::test::EventSequence(seed, folder, totals).Run();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "with seed %u: %s\n", seed, error.what());
      return 1;
    }
  }
  const auto count = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf(
      "%llu requests in %u sequences of events: %llu whole, %llu cancelled, %llu too late, %llu with readers who "
      "stayed away, %llu failed with their decode\n",
      count(totals.n_requests), n, count(totals.n_whole), count(totals.n_cancelled), count(totals.n_late),
      count(totals.n_slow), count(totals.n_failed));
  std::printf(
      "%llu steps, %llu passes, %llu interruptions, %llu pauses, %llu prompt tokens reused, %llu guesses came true, "
      "%llu idle tokens\n",
      count(totals.n_steps), count(totals.n_passes), count(totals.n_preempted), count(totals.n_paused),
      count(totals.n_reused), count(totals.n_accepted), count(totals.n_idle));
  std::printf("%llu prompt tokens from %llu kept states, whose room changed %llu times, and %llu from disk\n",
              count(totals.n_kept_tokens), count(totals.n_kept_hits), count(totals.n_kept_limits),
              count(totals.n_restored));
  std::printf("%llu windows taken back too far\n", count(totals.n_windows_lost));
  std::printf(
      "%llu images, %llu reused, %llu taken back in their middle, %llu requests with images that cannot be encoded\n",
      count(totals.n_images), count(totals.n_images_reused), count(totals.n_images_taken_back),
      count(totals.n_images_failed));
  return 0;
}
