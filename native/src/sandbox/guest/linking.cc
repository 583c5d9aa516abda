#include "sandbox/guest/linking.h"

#include "sandbox/guest/answers.h"
#include "sandbox/guest/invocation.h"
#include "sandbox/library/reflection.h"

namespace aana::sandbox {

namespace {

// No exception may cross the library.
void OnHostCall(void* environment, wasmtime_context_t* context, const wasmtime_component_func_type_t*,
                wasmtime_component_val_t* arguments, size_t count, wasmtime_component_val_t* results, size_t,
                wasmtime_error_t** error, wasmtime_async_continuation_t* continuation) {
  auto& invocation = *static_cast<Invocation*>(wasmtime_context_get_data(context));
  try {
    invocation.Call(*static_cast<const HostFunction*>(environment), {arguments, count}, results, *continuation);
  } catch (const std::exception& thrown) {
    *error = wasmtime_error_new(thrown.what());
  }
}

wasmtime_error_t* OnDrop(void* environment, wasmtime_context_t* context, uint32_t number) {
  auto& invocation = *static_cast<Invocation*>(wasmtime_context_get_data(context));
  try {
    // The environment is the number of the resource type; those of WASI have none.
    invocation.Drop(static_cast<uint16_t>(reinterpret_cast<uintptr_t>(environment)), number);
    return nullptr;
  } catch (const std::exception& thrown) {
    return wasmtime_error_new(thrown.what());
  }
}

class Linking {
 public:
  Linking(Pool& pool, const std::string& output) : pool_(pool), output_(output) {}

  void Add(const Item& import) {
    if (import.kind() != kItemInstance || !(import.name().starts_with("wasi:") || import.name().starts_with("aana:")))
      throw Refused("it imports " + import.name() + ", which the host does not have");
    const auto members = MembersOf(pool_.engine.get(), import.instance());
    const LinkerInstancePtr root(wasmtime_component_linker_root(pool_.linker.get()));
    wasmtime_component_linker_instance_t* added = nullptr;
    Require(
        wasmtime_component_linker_instance_add_instance(root.get(), import.name().data(), import.name().size(), &added),
        import.name());
    const LinkerInstancePtr instance(added);
    // Before functions, whose types name them.
    for (const auto& member : members)
      if (member.kind() == kItemResource) AddResource(*instance, import, member);
    for (const auto& member : members) {
      if (member.kind() == kItemFunc)
        AddFunction(*instance, import, member);
      else if (member.kind() != kItemResource && member.kind() != kItemType)
        throw Refused("it imports " + import.name() + " " + member.name() + ", which the host does not have");
    }
  }

 private:
  Pool& pool_;
  const std::string& output_;

  // A resource that an interface takes from another one has the same type in the host.
  void AddResource(wasmtime_component_linker_instance_t& instance, const Item& import, const Item& member) {
    const uint32_t number = pool_.resources.Add(member.resource(), WithoutVersion(import.name()) + "." + member.name());
    const bool is_host = pool_.resources.name(number).starts_with("aana:");
    const ResourceTypePtr type(wasmtime_component_resource_type_new_host(number));
    Require(wasmtime_component_linker_instance_add_resource(
                &instance, member.name().data(), member.name().size(), type.get(), OnDrop,
                reinterpret_cast<void*>(uintptr_t{is_host ? number : 0}), nullptr),
            import.name() + " " + member.name());
  }

  void AddFunction(wasmtime_component_linker_instance_t& instance, const Item& import, const Item& member) {
    auto type = ReadFunctionType(member.function(), pool_.resources);
    if (type.is_async) throw Refused(import.name() + " " + member.name() + " is asynchronous");
    const auto interface = WithoutVersion(import.name());
    if (IsAnsweredHere(interface, member.name()))
      return AddAnswer(instance, interface, member.name(), type, pool_.resources);
    if (pool_.functions.size() == UINT16_MAX) throw Refused("it imports too many functions");
    const auto way = interface + "#" + member.name() == output_ ? Way::kOutput : type.result ? Way::kAsk : Way::kTell;
    if (way == Way::kOutput && (type.params.size() != 1 || type.params[0].kind != kString || !type.result ||
                                type.result->kind != kResult || type.result->of[0]))
      throw Refused(import.name() + " " + member.name() + " has another type");
    pool_.functions.push_back(std::make_unique<HostFunction>(HostFunction{
        static_cast<uint16_t>(pool_.functions.size()), import.name() + "#" + member.name(), std::move(type), way}));
    Require(wasmtime_component_linker_instance_add_func_async(&instance, member.name().data(), member.name().size(),
                                                              OnHostCall, pool_.functions.back().get(), nullptr),
            import.name() + " " + member.name());
  }
};

}  // namespace

void LinkImports(Pool& pool, const std::string& output) {
  pool.linker.reset(wasmtime_component_linker_new(pool.engine.get()));
  Linking linking(pool, output);
  for (const auto& import : ImportsOf(pool.engine.get(), pool.component.get())) linking.Add(import);
}

}  // namespace aana::sandbox
