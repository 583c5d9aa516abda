#include "sandbox/library/engine.h"

#include <algorithm>
#include <cstring>

namespace aana::sandbox {

namespace {

constexpr size_t kStackBytes = size_t{2} << 20;
constexpr size_t kGuestStackBytes = size_t{1536} << 10;  // the rest is for functions of the host
constexpr uint8_t kCranelift = 1;
constexpr uint8_t kWinch = 2;

EnginePtr MakeEngine(const Settings& settings, uint32_t slots, uint64_t warm_bytes, bool compiles) {
  wasm_config_t* config = wasm_config_new();
  wasmtime_config_wasm_component_model_set(config, true);
  // What the C API cannot pass must not be in a component at all.
  wasmtime_config_wasm_component_model_async_set(config, false);
  wasmtime_config_concurrency_support_set(config, false);
  wasmtime_config_wasm_threads_set(config, false);
  wasmtime_config_shared_memory_set(config, false);
  wasmtime_config_wasm_gc_set(config, false);
  wasmtime_config_epoch_interruption_set(config, true);
  wasmtime_config_memory_init_cow_set(config, true);
  wasmtime_config_parallel_compilation_set(config, compiles);
  wasmtime_config_strategy_set(config, settings.is_fast ? kWinch : kCranelift);
  wasmtime_config_async_stack_size_set(config, kStackBytes);
  wasmtime_config_max_wasm_stack_set(config, kGuestStackBytes);

  auto* pool = wasmtime_pooling_allocation_config_new();
  wasmtime_pooling_allocation_config_total_component_instances_set(pool, slots);
  wasmtime_pooling_allocation_config_total_stacks_set(pool, slots);
  wasmtime_pooling_allocation_config_total_gc_heaps_set(pool, 0);
  // Places for the most that each component may need, so that a free slot is enough.
  wasmtime_pooling_allocation_config_total_core_instances_set(pool, slots * kCoreInstances);
  wasmtime_pooling_allocation_config_total_memories_set(pool, slots * kMemories);
  wasmtime_pooling_allocation_config_total_tables_set(pool, slots * kTables);
  wasmtime_pooling_allocation_config_max_core_instances_per_component_set(pool, kCoreInstances);
  wasmtime_pooling_allocation_config_max_memories_per_component_set(pool, kMemories);
  wasmtime_pooling_allocation_config_max_tables_per_component_set(pool, kTables);
  wasmtime_pooling_allocation_config_table_elements_set(pool, kTableElements);
  wasmtime_pooling_allocation_config_max_memory_size_set(pool, settings.memory_bytes);
  wasmtime_pooling_allocation_config_linear_memory_keep_resident_set(pool, warm_bytes);
  wasmtime_pooling_allocation_config_table_keep_resident_set(pool, warm_bytes ? size_t{64} << 10 : 0);
  wasmtime_pooling_allocation_config_async_stack_keep_resident_set(pool, warm_bytes ? size_t{32} << 10 : 0);
  wasmtime_pooling_allocation_strategy_set(config, pool);
  wasmtime_pooling_allocation_config_delete(pool);

  EnginePtr engine(wasm_engine_new_with_config(config));
  if (!engine) throw Refused("the library makes no engine on this machine");
  return engine;
}

}  // namespace

EnginePtr MakeCompiler(const Settings& settings) {
  Settings largest = settings;
  largest.memory_bytes = uint64_t{4} << 30;  // `serve` says what is too large
  return MakeEngine(largest, 1, 0, true);
}

EnginePtr MakePool(const Settings& settings, uint32_t slots, uint64_t warm_bytes) {
  return MakeEngine(settings, slots, warm_bytes, false);
}

ComponentPtr Compile(const wasm_engine_t* engine, std::string_view bytes) {
  if (bytes.size() < 8 || bytes.substr(0, 4) != std::string_view("\0asm", 4)) throw Refused("it is not WebAssembly");
  if (bytes.substr(4, 4) == std::string_view("\1\0\0\0", 4))
    throw Refused("it is a core module; a plugin of Extism says \"runtime\": \"extism\" in its plugin.json");
  if (bytes.substr(4, 4) != std::string_view("\x0d\0\1\0", 4))
    throw Refused("it is a component of another version of the format");
  wasmtime_component_t* component = nullptr;
  Require(wasmtime_component_new(engine, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), &component),
          "it cannot be compiled");
  return ComponentPtr(component);
}

}  // namespace aana::sandbox
