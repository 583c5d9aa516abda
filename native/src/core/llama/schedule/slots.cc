#include "core/llama/schedule/slots.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "core/llama/common_prefix.h"
#include "core/llama/schedule/fixed_chunks.h"

namespace aana::llama {
namespace {

// How far a slot is from the next slots on both sides that take part in steps, as `runs` says, the nearer one first.
// SIZE_MAX: there is none.
using Distance = std::pair<size_t, size_t>;

Distance DistanceToOthers(size_t slot, const std::vector<bool>& runs) {
  size_t before = SIZE_MAX;
  size_t after = SIZE_MAX;
  for (size_t i = 0; i < slot; i++) {
    if (runs[i]) before = slot - i;
  }
  for (size_t i = runs.size(); i-- > slot + 1;) {
    if (runs[i]) after = i - slot;
  }
  return std::minmax(before, after);
}

// A sequence waits for a beginning that is computed if it spares this many tokens.
constexpr size_t kMinAwaited = 8;
// A copy takes whole sequences. Copying this many tokens costs less than computing one.
constexpr size_t kCopiedPerComputed = 16;
// Most tokens of a conversation that is moved to another slot. Copying them takes less than computing 32 tokens, and an
// answer of 32 tokens or more spares a pass, or idle tokens, for each.
constexpr size_t kMostMoved = 512;

// Whether a part of an image was decoded last.
bool EndsInImage(const Slot& slot) { return !slot.images.empty() && slot.images.back().end() > slot.decoded.size(); }

// Gives a slot the first `n` tokens that another one, or a state, has.
template <class Holder>
void TakeTokens(const Holder& from, size_t n, Slot& to) {
  to.decoded.assign(from.decoded.begin(), from.decoded.begin() + static_cast<std::ptrdiff_t>(n));
  to.images = from.images;
  std::erase_if(to.images, [n](const ImageCells& image) { return image.end() > n; });
}

// Whether the sequence may use what the slot or state has. Keys and values of another adapter are of no use.
template <class Holder>
bool Matches(const Holder& holder, const Sequence& sequence) {
  return holder.cache_key == sequence.cache_key() && holder.adapter == sequence.adapter();
}

// Tokens that the sequence may use of its beginning, which has `n_common` tokens in common with others. The first
// `n_fixed` of those are computed in whole chunks, as a reproducible sequence needs it.
size_t Usable(const Sequence& sequence, size_t n_common, size_t n_fixed) {
  const size_t n = WholeImages(sequence.images(), std::min(n_common, sequence.MostReused()));
  return sequence.is_reproducible() ? WholeChunks(std::min(n, n_fixed)) : n;
}

// Tokens of the sequence's beginning that the slot or state has.
template <class Holder>
size_t Held(const Holder& holder, const Sequence& sequence) {
  if (!Matches(holder, sequence)) return 0;
  const size_t n_common = CommonPrefix(holder.decoded, sequence.history());
  return Usable(sequence, std::min(n_common, holder.n_exact), holder.n_fixed);
}

// Tokens of the sequence's beginning that the slot has when its own sequence goes on.
size_t Coming(const Slot& slot, const Sequence& sequence) {
  if (!slot.sequence || !Matches(slot, sequence)) return 0;
  const auto& other = *slot.sequence;
  const size_t n_fixed =
      other.is_reproducible() && !other.HasPromptScores() ? static_cast<size_t>(other.n_prompt()) : 0;
  return Usable(sequence, std::min(CommonPrefix(other.history(), sequence.history()), slot.n_exact), n_fixed);
}

// Tokens of the prompt that the slot spares. 0 for the prompt of another conversation where the slot would forget more
// tokens than it spares, because that conversation may go on.
size_t Spared(const Slot& slot, const Sequence& sequence) {
  const size_t prefix = Held(slot, sequence);
  const bool goes_on = prefix + 1 >= slot.n_prompt;
  return goes_on || prefix >= slot.decoded.size() - prefix ? prefix : 0;
}

}  // namespace

Slots::Slots(size_t count, SequenceMemory& memory, size_t n_cells, uint64_t n_kept_bytes)
    : slots_(count), memory_(memory), ledger_(count, n_cells), kept_(n_kept_bytes, memory.has_whole_states()) {
  for (size_t i = 0; i < count; i++) {
    slots_[i].index = i;
    slots_[i].sequence_id = static_cast<llama_seq_id>(i);
  }
}

bool Slots::HasFree() const {
  return std::ranges::any_of(slots_, [](const Slot& slot) { return !slot.sequence; });
}

Slot* Slots::ChooseFree(const Sequence& sequence) {
  Slot* best = nullptr;
  size_t most_spared = 0;
  const size_t n_kept = FindKept(sequence).n_tokens;
  const auto age = [](const Slot& slot) { return std::pair(!slot.decoded.empty(), slot.used_at); };
  for (auto& slot : slots_) {
    if (slot.sequence) continue;
    size_t spared = Spared(slot, sequence);
    // The kept state takes the place of what the slot has.
    if (n_kept >= spared + KeptStates::kLeast) spared = 0;
    if (best && (spared < most_spared || (spared == most_spared && age(slot) >= age(*best)))) continue;
    best = &slot;
    most_spared = spared;
  }
  return best;
}

Slot* Slots::FindCloser(const Slot& oldest, const Sequence& sequence) {
  std::vector<bool> runs(slots_.size());
  for (const auto& slot : slots_) runs[slot.index] = slot.sequence && !slot.sequence->is_reproducible();
  const auto distance = [&](const Slot& slot) { return DistanceToOthers(slot.index, runs); };
  const size_t n_held = Held(oldest, sequence);
  Slot* best = nullptr;
  for (auto& slot : slots_) {
    // The sequence would lose what `oldest` has of its beginning.
    if (slot.sequence || slot.decoded.size() > kMostMoved || Held(slot, sequence) < n_held) continue;
    const auto rank = [&](const Slot& of) { return std::pair(distance(of), of.decoded.size()); };
    if (distance(slot) < distance(oldest) && (!best || rank(slot) < rank(*best))) best = &slot;
  }
  return best;
}

Slot& Slots::MoveBesideRunning(Slot& oldest, const Sequence& sequence) {
  // A reproducible sequence is computed alone, wherever it is.
  if (memory_.sharing() == SequenceMemory::Sharing::kCells || sequence.is_reproducible() ||
      Spared(oldest, sequence) > 0)
    return oldest;
  auto* closer = FindCloser(oldest, sequence);
  if (!closer || !Copy(*closer, oldest)) return oldest;
  return *closer;
}

bool Slots::Copy(const Slot& from, Slot& to) {
  GiveUp(to);
  // What lies behind `n_exact` is of no use to a later sequence.
  const size_t n = std::min(from.decoded.size(), from.n_exact);
  if (n > 0) {
    if (ledger_.n_free() < n ||
        !memory_.Share(from.sequence_id, to.sequence_id, static_cast<size_t>(PositionAfter(from.images, n))))
      return false;
    ledger_.Append(to.index, n);
  }
  TakeTokens(from, n, to);
  to.n_fixed = WholeChunks(std::min(from.n_fixed, n));
  to.adapter = from.adapter;
  to.cache_key = from.cache_key;
  to.tenant = from.tenant;
  to.n_prompt = from.n_prompt;
  to.used_at = from.used_at;
  return true;
}

Slots::Source Slots::FindSource(const Sequence& sequence, const Slot* except) {
  Source best;
  for (auto& slot : slots_) {
    if (&slot == except) continue;
    const size_t held = Held(slot, sequence);
    if (held > best.n_tokens && CanShare(slot, held)) best = {&slot, held};
  }
  return best;
}

bool Slots::CanShare(const Slot& slot, size_t n) const {
  switch (memory_.sharing()) {
    case SequenceMemory::Sharing::kCells:
      return true;
    case SequenceMemory::Sharing::kCopies:
      return n * kCopiedPerComputed >= slot.decoded.size();
    case SequenceMemory::Sharing::kWhole:
      return n == slot.decoded.size();
  }
  return false;
}

std::optional<AwaitedPrefix> Slots::FindAwaited(const Sequence& sequence, const Slot* except, size_t n_there) const {
  // The other slot would have to stop exactly there.
  if (memory_.sharing() == SequenceMemory::Sharing::kWhole) return std::nullopt;
  std::optional<AwaitedPrefix> best;
  for (const auto& slot : slots_) {
    // A prompt whose scores are told waits for its reader.
    if (&slot == except || !slot.sequence || slot.sequence->IsPaused()) continue;
    const size_t coming = Coming(slot, sequence);
    if (coming < n_there + kMinAwaited || (best && coming <= best->n_tokens)) continue;
    best = AwaitedPrefix{slot.index, slot.sequence->id(), coming};
  }
  return best;
}

Slot* Slots::Admit(std::unique_ptr<Sequence>& sequence) {
  Slot* const chosen = ChooseFree(*sequence);
  if (!chosen) return nullptr;
  Slot* const slot = &MoveBesideRunning(*chosen, *sequence);
  // What another slot had was moved to the chosen one.
  if (slot == chosen) Keep(*slot, Held(*slot, *sequence));
  slot->sequence = std::move(sequence);
  slot->sequence->NoteAdmitted();
  slot->n_prompt = static_cast<size_t>(slot->sequence->n_prompt());
  // What it computed itself before it lost its slot tells nothing of its tenant's other texts.
  if (!slot->sequence->has_begun) slot->sequence->n_own = static_cast<int32_t>(Own(*slot->sequence));
  slot->tenant = slot->sequence->terms().tenant;
  slot->used_at = ++clock_;
  const size_t n_there = std::max(
      {Held(*slot, *slot->sequence), FindSource(*slot->sequence, slot).n_tokens, FindKept(*slot->sequence).n_tokens});
  slot->awaits = FindAwaited(*slot->sequence, slot, n_there);
  Truncate(*slot, Held(*slot, *slot->sequence));
  slot->cache_key = slot->sequence->cache_key();
  slot->adapter = slot->sequence->adapter();
  if (Resume(*slot))
    slot->awaits.reset();
  else if (!slot->awaits)
    Begin(*slot);
  return slot;
}

bool Slots::Resume(Slot& slot) {
  const auto suspended = std::exchange(slot.sequence->suspended, std::nullopt);
  return suspended && Take(slot, *suspended, suspended->decoded.size());
}

bool Slots::Take(Slot& slot, const Suspended& state, size_t n) {
  Forget(slot);
  const size_t n_held = state.decoded.size();
  const auto position_after = [&](size_t n_tokens) {
    return static_cast<size_t>(PositionAfter(state.images, n_tokens));
  };
  if (!MakeRoom(n_held) || !memory_.Restore(slot.sequence_id, state.state.span(), position_after(n_held))) return false;
  if (n < n_held && !memory_.Truncate(slot.sequence_id, position_after(n))) {
    Forget(slot);
    return false;
  }
  TakeTokens(state, n, slot);
  slot.n_exact = n <= state.n_exact ? SIZE_MAX : state.n_exact;
  slot.n_fixed = WholeChunks(std::min(state.n_fixed, n));
  ledger_.Append(slot.index, n);
  return true;
}

Slots::Kept Slots::FindKept(const Sequence& sequence) const {
  Kept best;
  for (const auto& state : kept_.states()) {
    const size_t n = Held(*state, sequence);
    const bool is_usable = !memory_.has_whole_states() || n == state->decoded.size();
    if (is_usable && n > best.n_tokens) best = {state, n};
  }
  return best;
}

void Slots::Keep(Slot& slot, size_t n_used) {
  const size_t n = std::min(slot.decoded.size(), slot.n_exact);
  const bool is_lost = memory_.sharing() == SequenceMemory::Sharing::kWhole && n_used < slot.decoded.size();
  if (n < (is_lost ? 0 : n_used) + KeptStates::kLeast) return;
  KeptState text;
  text.decoded = slot.decoded;
  text.n_exact = SIZE_MAX;
  text.n_fixed = WholeChunks(std::min(slot.n_fixed, n));
  text.adapter = slot.adapter;
  text.cache_key = slot.cache_key;
  text.tenant = slot.tenant;
  if (!kept_.Wants(text, n)) return;
  // What saw tokens that are gone is of no use to a later sequence.
  Truncate(slot, n);
  if (slot.decoded.size() != n) return;
  text.decoded.resize(n);
  text.images = slot.images;
  text.state = memory_.Save(slot.sequence_id, kept_.max_bytes());
  if (text.state.size > 0) kept_.Add(std::move(text));
}

std::unique_ptr<Sequence> Slots::Suspend(Slot& slot, uint64_t max_bytes) {
  if (EndsInImage(slot)) Truncate(slot, slot.decoded.size());
  auto state = slot.decoded.empty() ? StateBytes() : memory_.Save(slot.sequence_id, max_bytes);
  if (state.size > 0)
    slot.sequence->suspended = Suspended{slot.decoded, slot.images, slot.n_exact, slot.n_fixed, std::move(state)};
  return Release(slot);
}

void Slots::Begin(Slot& slot) {
  auto& sequence = *slot.sequence;
  if (!BeginFromKept(slot)) BeginFromOther(slot);
  // What it computed itself before it lost its slot was not reused.
  if (sequence.has_begun) return;
  sequence.n_reused = static_cast<int32_t>(slot.decoded.size());
  // It may have waited for one of its own tenant.
  sequence.n_own = std::max(sequence.n_own, static_cast<int32_t>(Own(sequence, &slot)));
}

bool Slots::BeginFromKept(Slot& slot) {
  const auto& sequence = *slot.sequence;
  if (kept_.max_bytes() == 0) return false;
  const size_t n_there = std::max(slot.decoded.size(), FindSource(sequence, &slot).n_tokens);
  const auto kept = FindKept(sequence);
  if (kept.n_tokens < n_there + KeptStates::kLeast) {
    if (sequence.MostReused() >= n_there + KeptStates::kLeast) kept_use_.n_misses++;
    return false;
  }
  if (!Take(slot, *kept.state, kept.n_tokens)) return false;
  kept_.Touch(*kept.state);
  kept_use_.n_hits++;
  kept_use_.n_tokens += kept.n_tokens;
  return true;
}

void Slots::BeginFromOther(Slot& slot) {
  const auto source = FindSource(*slot.sequence, &slot);
  const bool is_copy = memory_.sharing() != SequenceMemory::Sharing::kCells;
  if (source.n_tokens > slot.decoded.size() && (!is_copy || ledger_.n_free() >= source.n_tokens)) {
    Forget(slot);
    const auto n_positions = static_cast<size_t>(PositionAfter(source.slot->images, source.n_tokens));
    if (memory_.Share(source.slot->sequence_id, slot.sequence_id, n_positions)) {
      if (is_copy)
        ledger_.Append(slot.index, source.n_tokens);
      else
        ledger_.Share(source.slot->index, slot.index, source.n_tokens);
      TakeTokens(*source.slot, source.n_tokens, slot);
      slot.n_fixed = WholeChunks(std::min(source.slot->n_fixed, source.n_tokens));
    }
  }
}

void Slots::EndWaits() {
  for (auto& slot : slots_) {
    if (!slot.awaits) continue;
    const auto& source = slots_[slot.awaits->slot];
    const bool is_coming = source.sequence && source.sequence->id() == slot.awaits->id &&
                           !source.sequence->IsPaused() && source.decoded.size() < slot.awaits->n_tokens;
    if (is_coming) continue;
    slot.awaits.reset();
    Begin(slot);
  }
}

std::span<const llama_token> Slots::Takable(const Sequence& sequence) {
  // A saved prompt does not tell in which chunks it was computed.
  return std::span(sequence.history())
      .first(sequence.is_reproducible() ? 0 : std::min(sequence.MostReused(), sequence.TokensBeforeImage(0)));
}

size_t Slots::Restore(Slot& slot, std::span<const llama_token> tokens, std::span<const uint8_t> state) {
  const size_t n = tokens.size();
  if (n <= slot.decoded.size() || CommonPrefix(tokens, Takable(*slot.sequence)) < n) return 0;
  Forget(slot);
  if (MakeRoom(n) && memory_.Restore(slot.sequence_id, state, n)) {
    Append(slot, tokens.data(), n);
    auto& sequence = *slot.sequence;
    if (!sequence.has_begun) sequence.n_reused = static_cast<int32_t>(n);
    // A saved text may be that of any tenant with its key.
    if (sequence.cache_key() == sequence.terms().tenant)
      sequence.n_own = std::max(sequence.n_own, static_cast<int32_t>(n));
    return n;
  }
  Forget(slot);
  Begin(slot);
  return 0;
}

std::unique_ptr<Sequence> Slots::Release(Slot& slot) {
  slot.used_at = ++clock_;
  slot.awaits.reset();
  slot.awaits_disk_until.reset();
  // It may get a slot again before they look, and then would wait for those that wait for it.
  for (auto& other : slots_) {
    if (other.awaits && other.awaits->slot == slot.index) other.awaits->n_tokens = 0;
  }
  if (EndsInImage(slot)) Truncate(slot, slot.decoded.size());
  return std::move(slot.sequence);
}

void Slots::Append(Slot& slot, const llama_token* tokens, size_t n) {
  const bool is_fixed = slot.sequence->is_reproducible() && slot.n_fixed == slot.decoded.size() && n == kFixedChunk;
  if (is_fixed) slot.n_fixed += n;
  const size_t n_before = slot.decoded.size();
  slot.decoded.insert(slot.decoded.end(), tokens, tokens + n);
  for (const auto& image : slot.sequence->images()) {
    if (n_before <= image.first && image.first < slot.decoded.size()) slot.images.push_back(image);
  }
  ledger_.Append(slot.index, n);
}

void Slots::Truncate(Slot& slot, size_t n) {
  n = WholeImages(slot.images, n);
  slot.decoded.resize(n);
  std::erase_if(slot.images, [n](const ImageCells& image) { return image.end() > n; });
  if (n <= slot.n_exact) slot.n_exact = SIZE_MAX;
  slot.n_fixed = WholeChunks(std::min(slot.n_fixed, n));
  if (!memory_.Truncate(slot.sequence_id, static_cast<size_t>(slot.next_position()))) return Forget(slot);
  ledger_.Truncate(slot.index, n);
}

void Slots::Shift(Slot& slot, size_t first, size_t n) {
  for (auto& other : slots_) {
    if (other.awaits && other.awaits->slot == slot.index)
      other.awaits->n_tokens = std::min(other.awaits->n_tokens, first);
  }
  const size_t end = first + n;
  if (slot.decoded.size() <= first) return;
  // A cell has one position for all slots that use it.
  if (slot.decoded.size() <= end || ledger_.IsShared(slot.index, end) || !memory_.Shift(slot.sequence_id, first, n))
    return Truncate(slot, first);
  const auto begin = slot.decoded.begin() + static_cast<std::ptrdiff_t>(first);
  slot.decoded.erase(begin, begin + static_cast<std::ptrdiff_t>(n));
  ledger_.Remove(slot.index, first, n);
  slot.n_exact = std::min(slot.n_exact, first);
}

void Slots::RollBack(Slot& slot) { Truncate(slot, slot.decoded.size()); }

void Slots::Forget(Slot& slot) {
  slot.decoded.clear();
  slot.images.clear();
  slot.n_exact = SIZE_MAX;
  slot.n_fixed = 0;
  memory_.Clear(slot.sequence_id);
  ledger_.Truncate(slot.index, 0);
}

void Slots::GiveUp(Slot& slot) {
  Keep(slot, 0);
  Forget(slot);
}

void Slots::ForgetAll() {
  memory_.ClearAll();
  for (auto& slot : slots_) {
    slot.decoded.clear();
    slot.images.clear();
    slot.n_exact = SIZE_MAX;
    slot.n_fixed = 0;
    ledger_.Truncate(slot.index, 0);
  }
}

bool Slots::ForgetFree() {
  bool has_forgotten = false;
  for (auto& slot : slots_) {
    if (slot.sequence || slot.decoded.empty()) continue;
    GiveUp(slot);
    has_forgotten = true;
  }
  return has_forgotten;
}

bool Slots::MakeRoom(size_t n) {
  while (ledger_.n_free() < n) {
    Slot* oldest = nullptr;
    for (auto& slot : slots_) {
      if (slot.sequence || slot.decoded.empty() || (oldest && slot.used_at >= oldest->used_at)) continue;
      oldest = &slot;
    }
    if (!oldest) return false;
    GiveUp(*oldest);
  }
  return true;
}

bool Slots::Fits(const Sequence& sequence) const {
  std::vector<size_t> free;
  size_t n_running = 0;
  for (const auto& slot : slots_) {
    if (slot.sequence)
      n_running++;
    else
      free.push_back(slot.index);
  }
  if (n_running == 0) return true;
  const size_t n_needed = sequence.history().size() - (sequence.suspended ? 0 : Reusable(sequence));
  // Each running sequence takes further cells, so the last ones are left to them.
  const size_t n_reserved = ledger_.n_total() / 16;
  if (ledger_.n_free() >= n_needed + n_reserved) return true;
  return ledger_.n_free() + ledger_.Exclusive(free) >= n_needed + n_reserved;
}

size_t Slots::Reusable(const Sequence& sequence) const {
  size_t most = 0;
  for (const auto& slot : slots_) most = std::max(most, Coming(slot, sequence));
  return most;
}

size_t Slots::Known(const Sequence& sequence) const {
  size_t most = Reusable(sequence);
  for (const auto& slot : slots_) most = std::max(most, Held(slot, sequence));
  return std::max(most, FindKept(sequence).n_tokens);
}

size_t Slots::Own(const Sequence& sequence, const Slot* except) const {
  size_t most = 0;
  for (const auto& slot : slots_) {
    if (&slot != except && slot.tenant == sequence.terms().tenant) most = std::max(most, Held(slot, sequence));
  }
  for (const auto& state : kept_.states()) {
    if (state->tenant == sequence.terms().tenant) most = std::max(most, Held(*state, sequence));
  }
  return most;
}

Slot* Slots::Find(RequestId id) {
  const auto found =
      std::ranges::find_if(slots_, [&](const Slot& slot) { return slot.sequence && slot.sequence->id() == id; });
  return found == slots_.end() ? nullptr : &*found;
}

Slot* Slots::FindVictim() {
  // One that waits for a beginning takes no cells.
  const auto takes_cells = [](const Slot& slot) {
    return slot.sequence && !(slot.IsWaiting() && slot.decoded.empty());
  };
  const auto rank = [&](const Slot& of) {
    const auto is_same = [&](const Slot& other) {
      return takes_cells(other) && other.sequence->terms().tenant == of.sequence->terms().tenant;
    };
    return std::tuple(of.sequence->IsPaused(), std::ranges::count_if(slots_, is_same), of.sequence->number);
  };
  Slot* victim = nullptr;
  size_t n_candidates = 0;
  for (auto& slot : slots_) {
    if (!takes_cells(slot)) continue;
    n_candidates++;
    if (!victim || rank(slot) > rank(*victim)) victim = &slot;
  }
  return n_candidates > 1 ? victim : nullptr;
}

}  // namespace aana::llama
