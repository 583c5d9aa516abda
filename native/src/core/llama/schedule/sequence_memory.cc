#include "core/llama/schedule/sequence_memory.h"

#include <algorithm>
#include <exception>
#include <string>

#include "core/engine_log.h"

namespace aana::llama {
namespace {

SequenceMemory::Sharing SharingOf(const Model& model, const Context& context) {
  if (!context.has_streams()) return SequenceMemory::Sharing::kCells;
  return HasWholeStates(model) ? SequenceMemory::Sharing::kWhole : SequenceMemory::Sharing::kCopies;
}

}  // namespace

bool HasWholeStates(const Model& model) { return !model.CanRollBack() || llama_model_n_swa(model.get()) > 0; }

ContextMemory::ContextMemory(const Model& model, const Context& context)
    : context_(context.get()),
      has_whole_states_(HasWholeStates(model)),
      can_roll_back_(model.CanRollBack()),
      sharing_(SharingOf(model, context)),
      n_window_(llama_model_n_swa(model.get())) {}

bool ContextMemory::Truncate(llama_seq_id sequence, size_t n) {
  return llama_memory_seq_rm(memory(), sequence, static_cast<llama_pos>(n), -1) && HasWindow(sequence, n);
}

bool ContextMemory::HasWindow(llama_seq_id sequence, size_t n) const {
  if (n == 0 || !can_roll_back_) return true;
  const auto first = llama_memory_seq_pos_min(memory(), sequence);
  return first >= 0 && first <= (n_window_ > 0 ? std::max<llama_pos>(0, static_cast<llama_pos>(n) - n_window_) : 0);
}

bool ContextMemory::Shift(llama_seq_id sequence, size_t first, size_t n) {
  const auto begin = static_cast<llama_pos>(first);
  const auto end = static_cast<llama_pos>(first + n);
  if (!llama_memory_can_shift(memory()) || !llama_memory_seq_rm(memory(), sequence, begin, end)) return false;
  llama_memory_seq_add(memory(), sequence, end, -1, begin - end);
  return true;
}

void ContextMemory::Clear(llama_seq_id sequence) { llama_memory_seq_rm(memory(), sequence, -1, -1); }

void ContextMemory::ClearAll() { llama_memory_clear(memory(), true); }

bool ContextMemory::Share(llama_seq_id from, llama_seq_id to, size_t n) {
  if (!HasWindow(from, n)) return false;
  if (sharing_ == Sharing::kCells) {
    llama_memory_seq_cp(memory(), from, to, 0, static_cast<llama_pos>(n));
    return true;
  }
  // llama_memory_seq_cp copies the buffer of the whole context length, and this only what is used of it.
  const auto state = Save(from, UINT64_MAX);
  if (state.size > 0 && Set(to, state.span()) && (!can_roll_back_ || Truncate(to, n))) return true;
  Clear(to);
  return false;
}

bool ContextMemory::Restore(llama_seq_id to, std::span<const uint8_t> state, size_t n) {
  if (Set(to, state) && llama_memory_seq_pos_max(memory(), to) == static_cast<llama_pos>(n) - 1) return true;
  Clear(to);
  return false;
}

StateBytes ContextMemory::Save(llama_seq_id sequence, uint64_t max_bytes) const {
  try {
    const size_t n_bytes = llama_state_seq_get_size(context_, sequence);
    if (n_bytes > max_bytes) return {};
    StateBytes state(n_bytes);
    if (llama_state_seq_get_data(context_, state.bytes.get(), state.size, sequence) == state.size) return state;
  } catch (const std::exception& error) {
    Log(LogLevel::kWarn, std::string("what was computed for a prompt could not be copied: ") + error.what());
  }
  return {};
}

bool ContextMemory::Set(llama_seq_id to, std::span<const uint8_t> state) {
  try {
    return llama_state_seq_set_data(context_, state.data(), state.size(), to) > 0;
  } catch (const std::exception& error) {
    Log(LogLevel::kWarn,
        std::string("what was computed for a prompt could not be taken and is computed again: ") + error.what());
    return false;
  }
}

}  // namespace aana::llama
