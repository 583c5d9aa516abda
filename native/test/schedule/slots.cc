#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "../check.h"
#include "core/llama/schedule/slots.h"
#include "core/llama/loop/ubatches.h"
#include "helpers.h"
#include "tests.h"

namespace aana::test {
namespace {

using llama::Sequence;
using llama::SequenceMemory;
using llama::Slot;
using llama::Slots;

// Holds the numbers of tokens of sequences.
class FakeMemory final : public SequenceMemory {
 public:
  explicit FakeMemory(Sharing sharing) : sharing_(sharing) {}

  Sharing sharing() const override { return sharing_; }
  bool Truncate(llama_seq_id sequence, size_t n) override {
    if (sharing_ == Sharing::kWhole && n != held[sequence]) return false;
    held[sequence] = n;
    return true;
  }
  bool Shift(llama_seq_id sequence, size_t first, size_t n) override {
    if (!can_shift) return false;
    Expect(first + n < held[sequence], "tokens are taken out that are not there");
    held[sequence] -= n;
    return true;
  }
  void Clear(llama_seq_id sequence) override { held[sequence] = 0; }
  void ClearAll() override { held.clear(); }
  bool Share(llama_seq_id from, llama_seq_id to, size_t n) override {
    Expect(held[to] == 0, "the slot that gets a beginning is not empty");
    Expect(n <= held[from], "the slot has fewer tokens than it shares");
    if (!can_share) return false;
    n_shares++;
    held[to] = n;
    return true;
  }

  bool Restore(llama_seq_id to, std::span<const uint8_t> state, size_t n) override {
    Expect(held[to] == 0, "the slot that gets a saved beginning is not empty");
    if (state.empty()) return false;
    held[to] = n;
    return true;
  }

  llama::StateBytes Save(llama_seq_id sequence, uint64_t max_bytes) const override {
    const size_t n_bytes = held.contains(sequence) ? held.at(sequence) : 0;
    return n_bytes > max_bytes ? llama::StateBytes() : llama::StateBytes(n_bytes);
  }

  std::map<llama_seq_id, size_t> held;
  int n_shares = 0;
  bool can_shift = true;
  bool can_share = true;

 private:
  Sharing sharing_;
};

std::unique_ptr<Sequence> Prompt(int64_t id, std::vector<llama_token> tokens, const std::string& cache_key = {}) {
  return std::make_unique<Sequence>(llama::ReadRequest{.id = id,
                                                       .tokens = std::move(tokens),
                                                       .sampling = {},
                                                       .rules = {},
                                                       .terms = {.tenant = cache_key, .cache_key = cache_key},
                                                       .arrived_at = {}});
}

std::unique_ptr<Sequence> ReproduciblePrompt(int64_t id, std::vector<llama_token> tokens) {
  return std::make_unique<Sequence>(llama::ReadRequest{.id = id,
                                                       .tokens = std::move(tokens),
                                                       .sampling = {.is_reproducible = true},
                                                       .rules = {},
                                                       .shown_tokens = {},
                                                       .terms = {},
                                                       .adapter = {},
                                                       .arrived_at = {}});
}

std::vector<llama_token> Joined(std::vector<llama_token> a, const std::vector<llama_token>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Decodes `n` tokens of the slot's prompt.
void Decode(Slots& slots, FakeMemory& memory, Slot& slot, size_t n) {
  slots.Append(slot, slot.sequence->history().data() + slot.decoded.size(), n);
  memory.held[slot.sequence_id] += n;
}

struct Fixture {
  explicit Fixture(SequenceMemory::Sharing sharing = SequenceMemory::Sharing::kCells, size_t count = 4,
                   size_t n_cells = 1000, uint64_t n_kept_bytes = 0)
      : memory(sharing), slots(count, memory, n_cells, n_kept_bytes) {}

  Slot& Admit(int64_t id, std::vector<llama_token> tokens, const std::string& cache_key = {}) {
    auto sequence = Prompt(id, std::move(tokens), cache_key);
    Slot* slot = slots.Admit(sequence);
    Expect(slot != nullptr, "there is no free slot");
    return *slot;
  }
  Slot& Admit(std::unique_ptr<Sequence> sequence) {
    Slot* slot = slots.Admit(sequence);
    Expect(slot != nullptr, "there is no free slot");
    return *slot;
  }
  // Runs a reproducible prompt to its end.
  void FinishInChunks(Slot& slot) {
    while (slot.n_prompt_left() > 0) Decode(slots, memory, slot, slot.sequence->MostInStep(slot.decoded.size()));
    slots.Release(slot);
  }
  // Runs a prompt to its end.
  Slot& Finish(int64_t id, std::vector<llama_token> tokens, const std::string& cache_key = {}) {
    auto& slot = Admit(id, std::move(tokens), cache_key);
    Decode(slots, memory, slot, static_cast<size_t>(slot.n_prompt_left()));
    slots.Release(slot);
    return slot;
  }

  FakeMemory memory;
  Slots slots;
};

void ExpectReused(const Slot& slot, int32_t n) {
  const auto reused = slot.sequence->n_reused;
  Expect(reused == n, std::to_string(reused) + " tokens are reused, not " + std::to_string(n));
}

// Four conversations of `n` tokens, the oldest in slot 0, of which the third goes on and runs.
struct ThirdRuns : Fixture {
  explicit ThirdRuns(SequenceMemory::Sharing sharing = SequenceMemory::Sharing::kCopies, size_t n = 50)
      : Fixture(sharing, 4, 10'000) {
    for (int i = 0; i < 4; i++) Finish(i, Numbers(1000 * i, n));
    Expect(Admit(4, Numbers(2000, n + 1)).index == 2, "the third conversation has another slot");
  }
};

// Returns the mean number of passes of a step in which each running sequence computes a token. Answers of random
// lengths come at random times, so that `n_running` of them run on average.
double MeanPasses(size_t n_slots, size_t n_running) {
  Fixture of(SequenceMemory::Sharing::kCopies, n_slots, SIZE_MAX);
  std::mt19937 random(1);
  std::map<int64_t, uint32_t> n_left;
  int64_t id = 0;
  int n_passes = 0;
  int n_steps = 0;
  for (int step = 0; step < 5000; step++) {
    if (random() % 50 < n_running && n_left.size() < n_slots) {
      id++;
      auto& slot = of.Admit(id, Numbers(static_cast<llama_token>(10 * id), 2));
      Decode(of.slots, of.memory, slot, 2);
      n_left[id] = 1 + random() % 100;
    }
    std::vector<llama::SequenceTokens> batch;
    for (const auto& slot : of.slots) {
      if (slot.sequence) batch.push_back({slot.sequence_id, 1});
    }
    n_passes += llama::CountUbatches(batch, 512, llama::UbatchRule::kNeighbours);
    n_steps += batch.empty() ? 0 : 1;
    for (auto running = n_left.begin(); running != n_left.end();) {
      const bool ends = --running->second == 0;
      if (ends) of.slots.Release(*of.slots.Find(running->first));
      running = ends ? n_left.erase(running) : std::next(running);
    }
  }
  return n_passes / static_cast<double>(n_steps);
}

// Ten tokens, an image of 20 tokens whose numbers begin at `number`, and ten tokens. The last `n_other` of the image
// have other numbers.
std::unique_ptr<Sequence> PromptWithImage(int64_t id, llama_token number, size_t n_other = 0) {
  llama::PromptImage image;
  image.first = 10;
  image.n_cells = 20;
  image.n_positions = 5;
  auto tokens = Joined(Joined(Numbers(0, 10), Numbers(number, 20)), Numbers(50, 10));
  for (size_t i = 0; i < n_other; i++) tokens[29 - i] -= 1000;
  return std::make_unique<Sequence>(llama::ReadRequest{.id = id,
                                                       .tokens = std::move(tokens),
                                                       .sampling = {},
                                                       .rules = {},
                                                       .shown_tokens = {},
                                                       .terms = {},
                                                       .adapter = {},
                                                       .arrived_at = {},
                                                       .images = {image}});
}

// Decodes `n` tokens of the image that comes next. The memory counts positions.
void DecodeImage(Fixture& of, Slot& slot, size_t n) {
  Expect(slot.next_image() != nullptr, "the next token is no image");
  of.slots.Append(slot, slot.sequence->history().data() + slot.decoded.size(), n);
  of.memory.held[slot.sequence_id] += 5;
}

}  // namespace

void TestSlots() {
  Test("a prompt gets the slot beside a running one, and the conversation of that slot takes the place of the oldest",
       [] {
         ThirdRuns of;
         Expect(of.Admit(5, Numbers(9000, 20)).index == 1, "it got another slot");
         const auto& moved = of.Admit(6, Numbers(1000, 60));
         Expect(moved.index == 0, "the conversation is not in the oldest slot");
         ExpectReused(moved, 50);
         ExpectReused(of.Admit(7, Numbers(3000, 60)), 50);
       });
  Test("a moved conversation keeps its age", [] {
    ThirdRuns of;
    auto& beside = of.Admit(5, Numbers(9000, 20));
    Decode(of.slots, of.memory, beside, 20);
    of.slots.Release(beside);
    // The second conversation is in slot 0, and still the oldest. It makes room for the shorter one of slots 1 and 3.
    Expect(of.Admit(6, Numbers(8000, 20)).index == 1, "it got another slot");
    ExpectReused(of.Admit(7, Numbers(9000, 30)), 20);
    ExpectReused(of.Admit(8, Numbers(3000, 60)), 50);
  });
  Test("a slot that keeps nothing is taken first, and nothing moves for it", [] {
    ThirdRuns of;
    of.slots.Forget(of.slots[3]);
    Expect(of.Admit(5, Numbers(9000, 20)).index == 3, "it did not get the empty one");
    Expect(of.memory.n_shares == 0, "something was copied");
    Expect(of.Admit(6, Numbers(9500, 20)).index == 1 && of.memory.n_shares == 1,
           "the second conversation was not moved");
  });
  Test("nothing moves for a place beside others where it costs more than it gains", [] {
    ThirdRuns shared(SequenceMemory::Sharing::kCells);
    Expect(shared.Admit(5, Numbers(9000, 20)).index == 0,
           "sequences that share their cells need no place beside others");
    ThirdRuns with_long_ones(SequenceMemory::Sharing::kCopies, 600);
    Expect(with_long_ones.Admit(5, Numbers(9000, 20)).index == 0, "a long conversation moved");
    ThirdRuns of;
    Expect(of.Admit(ReproduciblePrompt(5, Numbers(9000, 20))).index == 0, "a reproducible prompt is computed alone");
    ThirdRuns begun;
    auto& next = begun.Admit(5, Joined(Numbers(0, 20), Numbers(9000, 20)));
    Expect(next.index == 0, "it left the slot with its beginning");
    ExpectReused(next, 20);
  });
  Test("where a memory gives no copy, only the oldest conversation is forgotten", [] {
    ThirdRuns of;
    of.memory.can_share = false;
    Expect(of.Admit(5, Numbers(9000, 20)).index == 0, "it got another slot");
    ExpectReused(of.Admit(6, Numbers(1000, 60)), 50);
  });
  Test("answers that come and go stay beside each other", [] {
    for (const auto& [n_slots, n_running, most] : {std::tuple(8, 2, 1.2), {8, 4, 1.5}, {32, 8, 2.0}}) {
      const double passes = MeanPasses(static_cast<size_t>(n_slots), static_cast<size_t>(n_running));
      Expect(passes < most, std::to_string(n_running) + " of " + std::to_string(n_slots) + " take " +
                                std::to_string(passes) + " passes a step");
    }
  });
  Test("a prompt that continues a finished one gets its slot", [] {
    Fixture of;
    const auto& first = of.Finish(1, Numbers(0, 50));
    const auto& second = of.Admit(2, Numbers(0, 80));
    Expect(first.index == second.index && of.memory.n_shares == 0, "it got another slot");
    ExpectReused(second, 50);
  });
  Test("the last token of a prompt is computed again", [] {
    Fixture of;
    of.Finish(1, Numbers(0, 50));
    ExpectReused(of.Admit(2, Numbers(0, 50)), 49);
  });
  Test("a prompt shares the beginning of one that runs", [] {
    Fixture of;
    auto& first = of.Admit(1, Numbers(0, 100));
    Decode(of.slots, of.memory, first, 100);
    const auto& second = of.Admit(2, Joined(Numbers(0, 60), Numbers(900, 20)));
    ExpectReused(second, 60);
    Expect(first.decoded.size() == 100 && of.memory.held[first.sequence_id] == 100, "the first lost tokens");
  });
  Test("a prompt waits for a beginning that is computed, and then has it", [] {
    Fixture of;
    auto& first = of.Admit(1, Numbers(0, 100));
    Decode(of.slots, of.memory, first, 20);
    auto& second = of.Admit(2, Joined(Numbers(0, 90), Numbers(900, 5)));
    Expect(second.awaits && second.awaits->n_tokens == 90, "it does not wait for 90 tokens");
    of.slots.EndWaits();
    Expect(second.awaits.has_value(), "it waits no more");
    Decode(of.slots, of.memory, first, 80);
    of.slots.EndWaits();
    Expect(!second.awaits, "it still waits");
    ExpectReused(second, 90);
  });
  Test("a prompt whose beginning will not come takes what is there", [] {
    Fixture of;
    auto& first = of.Admit(1, Numbers(0, 100));
    auto& second = of.Admit(2, Numbers(0, 90));
    Decode(of.slots, of.memory, first, 30);
    of.slots.Release(first);
    of.slots.EndWaits();
    Expect(!second.awaits, "it still waits");
    ExpectReused(second, 30);
  });
  Test("a chain of waiting prompts ends", [] {
    Fixture of;
    auto& first = of.Admit(1, Numbers(0, 100));
    auto& second = of.Admit(2, Joined(Numbers(0, 50), Numbers(500, 50)));
    auto& third = of.Admit(3, Joined(Joined(Numbers(0, 50), Numbers(500, 30)), Numbers(700, 9)));
    Expect(second.awaits->slot == first.index && third.awaits->slot == second.index, "they wait for other slots");
    of.slots.Release(first);
    of.slots.EndWaits();
    Decode(of.slots, of.memory, second, 80);
    of.slots.EndWaits();
    ExpectReused(third, 80);
  });
  Test("a prompt that loses its slot and gets it again does not wait for those that waited for it", [] {
    Fixture of(SequenceMemory::Sharing::kCells, 3);
    auto& first = of.Admit(1, Numbers(0, 100));
    auto& second = of.Admit(2, Numbers(0, 90));
    auto& third = of.Admit(3, Numbers(0, 80));
    Expect(second.awaits && third.awaits, "they do not wait");
    auto sequence = of.slots.Release(first);
    of.slots.Forget(first);
    of.slots.Admit(sequence);
    of.slots.EndWaits();
    Expect(std::ranges::any_of(of.slots, [](const Slot& slot) { return !slot.awaits; }), "all wait for each other");
  });
  Test("prompts with different keys share nothing", [] {
    Fixture of;
    of.Finish(1, Numbers(0, 50), "one");
    ExpectReused(of.Admit(2, Numbers(0, 50), "other"), 0);
    auto& third = of.Admit(3, Numbers(0, 50), "third");
    Expect(!third.awaits, "it waits for another key");
    ExpectReused(third, 0);
    ExpectReused(of.Admit(4, Numbers(0, 50), "one"), 49);
  });
  Test("a reproducible prompt takes whole chunks of reproducible ones only", [] {
    Fixture of;
    of.Finish(1, Numbers(0, 100));
    auto& first = of.Admit(ReproduciblePrompt(2, Numbers(0, 100)));
    ExpectReused(first, 0);
    of.FinishInChunks(first);
    auto& second = of.Admit(ReproduciblePrompt(3, Joined(Numbers(0, 80), Numbers(900, 40))));
    ExpectReused(second, 64);
    of.FinishInChunks(second);
    auto& third = of.Admit(ReproduciblePrompt(4, Joined(Numbers(0, 80), Numbers(900, 40))));
    ExpectReused(third, 96);
    of.slots.Truncate(third, 70);
    of.slots.Release(third);
    ExpectReused(of.Admit(5, Joined(Numbers(0, 70), Numbers(500, 9))), 70);
  });
  Test("what a plain prompt adds to a reproducible one is not reproducible", [] {
    Fixture of(SequenceMemory::Sharing::kCells, 1);
    of.FinishInChunks(of.Admit(ReproduciblePrompt(1, Numbers(0, 70))));
    auto& plain = of.Admit(2, Numbers(0, 200));
    ExpectReused(plain, 70);
    Decode(of.slots, of.memory, plain, 130);
    of.slots.Release(plain);
    ExpectReused(of.Admit(ReproduciblePrompt(3, Numbers(0, 200))), 64);
  });
  Test("a reproducible prompt waits for whole chunks of another one", [] {
    Fixture of;
    of.Admit(1, Numbers(0, 100));
    Expect(!of.Admit(ReproduciblePrompt(2, Numbers(0, 100))).awaits, "it waits for a plain prompt");
    auto& third = of.Admit(ReproduciblePrompt(3, Joined(Numbers(0, 80), Numbers(900, 40))));
    Expect(third.awaits && third.awaits->slot == 1 && third.awaits->n_tokens == 64, "it does not wait for 64 tokens");
  });
  Test("a copy takes cells of its own where all sequences share them", [] {
    Fixture of(SequenceMemory::Sharing::kWhole, 3, 100);
    auto& first = of.Admit(1, Numbers(0, 40));
    Decode(of.slots, of.memory, first, 40);
    ExpectReused(of.Admit(2, Numbers(0, 60)), 40);
    Expect(!of.slots.MakeRoom(21), "there is room for more than there is");
    ExpectReused(of.Admit(3, Numbers(0, 60)), 0);
  });
  Test("all that free slots keep is forgotten at once", [] {
    Fixture of;
    of.Finish(1, Numbers(0, 40));
    auto& running = of.Admit(2, Numbers(500, 40));
    Decode(of.slots, of.memory, running, 40);
    Expect(of.slots.ForgetFree() && !of.slots.ForgetFree(), "something is kept");
    Expect(of.memory.held[running.sequence_id] == 40, "a running sequence lost tokens");
  });
  Test("a long conversation is not copied for a short beginning", [] {
    Fixture of(SequenceMemory::Sharing::kCopies);
    auto& first = of.Admit(1, Numbers(0, 400));
    Decode(of.slots, of.memory, first, 400);
    ExpectReused(of.Admit(2, Joined(Numbers(0, 10), Numbers(900, 20))), 0);
    ExpectReused(of.Admit(3, Joined(Numbers(0, 100), Numbers(900, 20))), 100);
  });
  Test("a memory that takes nothing back shares whole sequences only", [] {
    Fixture of(SequenceMemory::Sharing::kWhole);
    auto& first = of.Admit(1, Numbers(0, 40));
    Decode(of.slots, of.memory, first, 40);
    auto& second = of.Admit(2, Numbers(0, 30));
    Expect(!second.awaits, "it waits for a part");
    ExpectReused(second, 0);
    ExpectReused(of.Admit(3, Numbers(0, 60)), 40);
  });
  Test("free slots forget what they keep, the oldest first, to make room", [] {
    Fixture of(SequenceMemory::Sharing::kCells, 3, 100);
    of.Finish(1, Numbers(0, 40));
    of.Finish(2, Numbers(500, 40));
    auto& running = of.Admit(3, Numbers(900, 30));
    Expect(of.slots.MakeRoom(30), "there is no room for 30 tokens");
    Decode(of.slots, of.memory, running, 30);
    Expect(of.memory.held[0] == 0 && of.memory.held[1] == 40, "another slot was forgotten");
    Expect(of.slots.MakeRoom(70), "there is no room for 70 tokens");
    Expect(!of.slots.MakeRoom(71), "there is room for more than there is");
    Expect(of.memory.held[running.sequence_id] == 30, "a running sequence lost tokens");
  });
  Test("a sequence fits if its cells are there beside those that run", [] {
    Fixture of(SequenceMemory::Sharing::kCells, 3, 160);
    auto& running = of.Admit(1, Numbers(0, 100));
    Decode(of.slots, of.memory, running, 100);
    Expect(of.slots.Fits(*Prompt(2, Numbers(500, 40))), "40 tokens do not fit");
    Expect(!of.slots.Fits(*Prompt(3, Numbers(500, 60))), "60 tokens fit");
    Expect(of.slots.Fits(*Prompt(4, Joined(Numbers(0, 90), Numbers(500, 20)))), "a shared beginning counts");
    of.slots.Release(running);
    Expect(of.slots.Fits(*Prompt(5, Numbers(500, 160))), "a sequence does not fit where none runs");
  });
  Test("a shift takes tokens out of the middle, and others share nothing behind it", [] {
    Fixture of;
    auto& slot = of.Admit(1, Numbers(0, 100));
    Decode(of.slots, of.memory, slot, 100);
    of.slots.Shift(slot, 20, 40);
    Expect(slot.decoded == Joined(Numbers(0, 20), Numbers(60, 40)) && of.memory.held[slot.sequence_id] == 60,
           "it has other tokens");
    auto& second = of.Admit(2, Joined(Numbers(0, 20), Numbers(60, 90)));
    ExpectReused(second, 20);
    ExpectReused(of.Admit(3, Numbers(0, 90)), 20);
    of.slots.Release(slot);
    of.slots.Release(second);
    auto& next = of.Admit(4, Joined(Numbers(0, 20), Numbers(60, 40)));
    ExpectReused(next, 20);
    Expect(next.decoded.size() == 20, "it has moved tokens of another prompt");
  });
  Test("what is computed behind a beginning that a shift left is shared again", [] {
    Fixture of(SequenceMemory::Sharing::kCells, 2);
    auto& slot = of.Admit(1, Numbers(0, 100));
    Decode(of.slots, of.memory, slot, 100);
    of.slots.Shift(slot, 20, 40);
    of.slots.Truncate(slot, 20);
    of.slots.Release(slot);
    of.Finish(2, Numbers(0, 80));
    ExpectReused(of.Admit(3, Numbers(0, 90)), 80);
  });
  Test("cells that another slot uses are not moved, but computed again", [] {
    Fixture of;
    auto& slot = of.Admit(1, Numbers(0, 100));
    Decode(of.slots, of.memory, slot, 100);
    const auto& other = of.Admit(2, Joined(Numbers(0, 70), Numbers(900, 9)));
    of.slots.Shift(slot, 20, 40);
    Expect(slot.decoded == Numbers(0, 20) && of.memory.held[slot.sequence_id] == 20,
           "it kept tokens behind the beginning");
    Expect(other.decoded == Numbers(0, 70) && of.memory.held[other.sequence_id] == 70, "the other slot lost tokens");
  });
  Test("a shift takes shared cells out and moves those of its slot alone", [] {
    Fixture of;
    auto& slot = of.Admit(1, Numbers(0, 100));
    Decode(of.slots, of.memory, slot, 100);
    of.Admit(2, Joined(Numbers(0, 50), Numbers(900, 9)));
    of.slots.Shift(slot, 20, 40);
    Expect(slot.decoded.size() == 60, "it was not moved");
  });
  Test("what a context cannot move, or has not computed, is computed later", [] {
    Fixture of;
    of.memory.can_shift = false;
    auto& slot = of.Admit(1, Numbers(0, 100));
    Decode(of.slots, of.memory, slot, 10);
    of.slots.Shift(slot, 20, 40);
    Expect(slot.decoded == Numbers(0, 10), "it lost its beginning");
    Decode(of.slots, of.memory, slot, 90);
    of.slots.Shift(slot, 20, 40);
    Expect(slot.decoded == Numbers(0, 20), "it kept tokens behind the beginning");
  });
  Test("a prompt does not wait for a beginning that a shift took out", [] {
    Fixture of;
    auto& first = of.Admit(1, Numbers(0, 100));
    Decode(of.slots, of.memory, first, 50);
    auto& second = of.Admit(2, Numbers(0, 90));
    of.slots.Shift(first, 20, 20);
    of.slots.EndWaits();
    Expect(!second.awaits, "it still waits");
    ExpectReused(second, 20);
  });
  Test("of an image the slots share all tokens or none", [] {
    // Tokens 10 to 29 are an image that takes 5 positions.
    Fixture of;
    auto& first = of.Admit(PromptWithImage(1, -100));
    Decode(of.slots, of.memory, first, 10);
    DecodeImage(of, first, 20);
    Decode(of.slots, of.memory, first, 10);
    Expect(first.next_position() == 25, "the image has other positions");
    auto& same = of.Admit(PromptWithImage(2, -100));
    ExpectReused(same, 39);
    Expect(of.memory.held[same.sequence_id] == 24 && same.images.size() == 1,
           "the positions are not those of the first");
    // Another image whose first tokens have the same numbers.
    auto other = PromptWithImage(3, -100, 7);
    ExpectReused(of.Admit(std::move(other)), 10);
    of.slots.Truncate(same, 35);
    Expect(same.decoded.size() == 35 && of.memory.held[same.sequence_id] == 20, "it was cut at another place");
    of.slots.Truncate(same, 20);
    Expect(same.decoded.size() == 10 && same.images.empty() && of.memory.held[same.sequence_id] == 10,
           "a part of the image is left");
  });
  Test("a part of an image is computed again when its sequence goes, or its decode fails", [] {
    Fixture of;
    auto& slot = of.Admit(PromptWithImage(1, -100));
    Decode(of.slots, of.memory, slot, 10);
    DecodeImage(of, slot, 8);
    Expect(slot.next_image() && slot.images.size() == 1, "the image is not the next");
    of.slots.RollBack(slot);
    Expect(slot.decoded.size() == 10 && slot.images.empty(), "a part is left after a failed decode");
    DecodeImage(of, slot, 8);
    of.slots.Release(slot);
    Expect(slot.decoded.size() == 10 && of.memory.held[slot.sequence_id] == 10, "a part is left in a free slot");
  });
  Test("a prompt on disk gives what comes before the first image", [] {
    Fixture of;
    const auto sequence = PromptWithImage(1, -100);
    Expect(Slots::Takable(*sequence).size() == 10, "tokens of the image");
  });
  Test("a conversation that lost its slot comes back from a kept state", [] {
    Fixture of(SequenceMemory::Sharing::kCopies, 1, SIZE_MAX, 1'000'000);
    of.Finish(1, Numbers(0, 100));
    of.Finish(2, Numbers(1000, 100));
    auto& back = of.Admit(3, Numbers(0, 150));
    ExpectReused(back, 100);
    Expect(of.memory.held[back.sequence_id] == 100, "the context has another number of tokens");
    Expect(of.slots.kept_use().n_hits == 1 && of.slots.kept_use().n_tokens == 100, "it is not counted");
    Expect(of.slots.kept_use().n_misses == 2, "prompts that nothing is kept of are not counted");
  });
  Test("a part of a kept state serves for another ending, and only with the same key and adapter", [] {
    Fixture of(SequenceMemory::Sharing::kCopies, 1, SIZE_MAX, 1'000'000);
    of.Finish(1, Numbers(0, 100), "one");
    of.Finish(2, Numbers(1000, 100), "one");
    auto& other = of.Admit(3, Numbers(0, 100), "other");
    ExpectReused(other, 0);
    of.slots.Release(other);
    auto& branch = of.Admit(4, Joined(Numbers(0, 60), Numbers(500, 60)), "one");
    ExpectReused(branch, 60);
    Expect(of.memory.held[branch.sequence_id] == 60, "the context has tokens of the other ending");
    of.slots.Release(branch);
    auto adapted = std::make_unique<Sequence>(llama::ReadRequest{.id = 5,
                                                                 .tokens = Numbers(0, 100),
                                                                 .sampling = {},
                                                                 .rules = {},
                                                                 .shown_tokens = {},
                                                                 .terms = {.tenant = "one", .cache_key = "one"},
                                                                 .adapter = {.index = 0},
                                                                 .arrived_at = {}});
    ExpectReused(of.Admit(std::move(adapted)), 0);
  });
  Test("a state that cannot be taken back is kept and used as a whole", [] {
    Fixture of(SequenceMemory::Sharing::kWhole, 1, SIZE_MAX, 1'000'000);
    of.Finish(1, Numbers(0, 100));
    auto& branch = of.Admit(3, Joined(Numbers(0, 80), Numbers(500, 60)));
    ExpectReused(branch, 0);
    of.slots.Release(branch);
    ExpectReused(of.Admit(4, Numbers(0, 150)), 100);
  });
  Test("what saw tokens that are gone is not kept", [] {
    Fixture of(SequenceMemory::Sharing::kCopies, 1, SIZE_MAX, 1'000'000);
    auto& slot = of.Admit(1, Numbers(0, 100));
    Decode(of.slots, of.memory, slot, 100);
    of.slots.Shift(slot, 40, 20);
    of.slots.Release(slot);
    of.Finish(2, Numbers(1000, 100));
    Expect(of.slots.kept().states().front()->decoded.size() == 40, "it has other tokens");
    ExpectReused(of.Admit(3, Numbers(0, 100)), 40);
  });
  Test("a reproducible prompt takes whole chunks of a kept state", [] {
    Fixture of(SequenceMemory::Sharing::kCopies, 1, SIZE_MAX, 1'000'000);
    of.FinishInChunks(of.Admit(ReproduciblePrompt(1, Numbers(0, 100))));
    of.Finish(2, Numbers(1000, 100));
    auto& back = of.Admit(ReproduciblePrompt(3, Numbers(0, 100)));
    Expect(back.n_fixed == 96, "it has " + std::to_string(back.n_fixed) + " tokens of whole chunks");
    of.FinishInChunks(back);
    of.Finish(4, Numbers(2000, 100));
    of.Finish(5, Numbers(1000, 90));
    ExpectReused(of.Admit(ReproduciblePrompt(6, Numbers(1000, 100))), 0);
  });
  Test("kept states make room in the context for one of them", [] {
    Fixture of(SequenceMemory::Sharing::kCells, 3, 250, 1'000'000);
    of.Finish(1, Numbers(0, 100));
    of.Finish(2, Numbers(1000, 100));
    auto& third = of.Admit(3, Numbers(2000, 100));
    Expect(of.slots.MakeRoom(100), "no room was made");
    Decode(of.slots, of.memory, third, 100);
    of.slots.Release(third);
    ExpectReused(of.Admit(4, Numbers(0, 150)), 100);
    Expect(of.slots.n_used_cells() <= 250, "more cells are used than there are");
  });
  Test("a slot whose decode cannot be taken back is forgotten", [] {
    Fixture of(SequenceMemory::Sharing::kWhole);
    auto& slot = of.Admit(1, Numbers(0, 40));
    Decode(of.slots, of.memory, slot, 20);
    of.memory.held[slot.sequence_id] += 10;
    of.slots.RollBack(slot);
    Expect(slot.decoded.empty() && slot.n_prompt_left() == 40, "it kept tokens");
  });
}

}  // namespace aana::test
