#include "sandbox/description.h"

#include "sandbox/library/reflection.h"
#include "sandbox/values/cbor.h"
#include "sandbox/values/types.h"

namespace aana::sandbox {

namespace {

const char* NameOf(uint8_t kind) {
  switch (kind) {
    case kItemComponent:
      return "a component";
    case kItemInstance:
      return "an instance";
    case kItemModule:
      return "a core module";
    case kItemCoreFunc:
      return "a core function";
    case kItemFunc:
      return "a function";
    case kItemResource:
      return "resource";
    default:
      return "type";
  }
}

class Describer {
 public:
  explicit Describer(const wasm_engine_t* engine) : engine_(engine) {}

  void Write(CborWriter& out, const std::vector<Item>& items) {
    out.Array(items.size());
    for (const auto& item : items) {
      out.Array(2);
      out.Text(item.name());
      if (item.kind() == kItemInstance)
        WriteMembers(out, item);
      else
        out.Text(NameOf(item.kind()));
    }
  }

 private:
  const wasm_engine_t* engine_;
  ResourceTypes resources_;

  void WriteMembers(CborWriter& out, const Item& interface) {
    const auto members = MembersOf(engine_, interface.instance());
    // Before functions, which name them.
    for (const auto& member : members)
      if (member.kind() == kItemResource)
        resources_.Add(member.resource(), WithoutVersion(interface.name()) + "." + member.name());
    out.Array(members.size());
    for (const auto& member : members) {
      out.Array(2);
      out.Text(member.name());
      if (member.kind() == kItemFunc)
        out.Text(TextOfFunction(interface, member));
      else
        out.Text(NameOf(member.kind()));
    }
  }

  std::string TextOfFunction(const Item& interface, const Item& member) const {
    try {
      return TextOf(ReadFunctionType(member.function(), resources_), resources_);
    } catch (const Refused& error) {
      throw Refused(interface.name() + " " + member.name() + " cannot be used: " + error.what());
    }
  }
};

}  // namespace

std::string Describe(const wasm_engine_t* engine, const wasmtime_component_t* component) {
  std::string bytes;
  CborWriter out(bytes);
  Describer describer(engine);
  out.Map(2);
  out.Text("imports");
  describer.Write(out, ImportsOf(engine, component));
  out.Text("exports");
  describer.Write(out, ExportsOf(engine, component));
  return bytes;
}

}  // namespace aana::sandbox
