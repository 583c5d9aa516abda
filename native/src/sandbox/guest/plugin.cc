#include "sandbox/guest/plugin.h"

#include <algorithm>

#include "sandbox/guest/linking.h"
#include "sandbox/library/engine.h"
#include "sandbox/library/reflection.h"

namespace aana::sandbox {

namespace {

std::vector<GuestFunction> FindExports(const Pool& pool, const std::string& endpoint) {
  const ExportIndexPtr interface(
      wasmtime_component_get_export_index(pool.component.get(), nullptr, endpoint.data(), endpoint.size()));
  std::vector<GuestFunction> found;
  for (const auto& item : ExportsOf(pool.engine.get(), pool.component.get())) {
    if (item.name() != endpoint || item.kind() != kItemInstance || !interface) continue;
    for (const auto& member : MembersOf(pool.engine.get(), item.instance())) {
      if (member.kind() != kItemFunc) continue;
      const auto& name = member.name();
      found.push_back({name, ReadFunctionType(member.function(), pool.resources),
                       ExportIndexPtr(wasmtime_component_get_export_index(pool.component.get(), interface.get(),
                                                                          name.data(), name.size()))});
      if (!found.back().index || found.back().type.is_async) throw Refused(endpoint + " " + name + " cannot be called");
    }
  }
  if (found.empty()) throw Refused("it does not export " + endpoint);
  return found;
}

}  // namespace

Plugin::Plugin(const Settings& settings, const char* code) {
  const auto add = [&](uint32_t slots, uint64_t warm_bytes) {
    if (slots == 0) return;
    auto pool = std::make_unique<Pool>();
    pool->slots = slots;
    pool->engine = MakePool(settings, slots, warm_bytes);
    wasmtime_component_t* component = nullptr;
    if (auto* error = wasmtime_component_deserialize_file(pool->engine.get(), code, &component))
      throw Unloadable("its code cannot be loaded: " + TakeMessage(error));
    pool->component.reset(component);
    LinkImports(*pool, settings.output);
    pool->exports = FindExports(*pool, settings.endpoint);
    pools_.push_back(std::move(pool));
  };
  // Memory that stays mapped is kept for each place that was ever used, so only the first places keep it.
  add(settings.warm_slots, settings.warm_bytes);
  add(settings.slots - settings.warm_slots, 0);
  idle_.emplace();
}

Pool* Plugin::Take() {
  const std::lock_guard lock(taking_);
  for (const auto& pool : pools_) {
    if (pool->used++ < pool->slots) return pool.get();
    pool->used--;
  }
  return nullptr;
}

void Plugin::Rest() {
  const std::lock_guard lock(taking_);
  const auto is_free = [](const auto& pool) { return pool->used == 0; };
  if (std::ranges::all_of(pools_, is_free)) idle_->ReleaseGuests();
  IdleMemory::ReleaseFree();
}

void Plugin::Tick() {
  for (const auto& pool : pools_) wasmtime_engine_increment_epoch(pool->engine.get());
}

}  // namespace aana::sandbox
