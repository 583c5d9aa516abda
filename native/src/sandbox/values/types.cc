#include "sandbox/values/types.h"

#include <utility>

namespace aana::sandbox {

namespace {

constexpr int kMaxParts = 20'000;

class TypeReader {
 public:
  explicit TypeReader(const ResourceTypes& resources) : resources_(resources) {}

  // Reads a type of the library and releases it, also when it is refused.
  Type Take(wasmtime_component_valtype_t reflected) {
    struct Owner {
      wasmtime_component_valtype_t& type;
      ~Owner() { wasmtime_component_valtype_delete(&type); }
    } owner{reflected};
    return Read(owner.type);
  }

 private:
  const ResourceTypes& resources_;
  int parts_ = 0;

  Type Read(const wasmtime_component_valtype_t& reflected) {
    if (++parts_ > kMaxParts) throw Refused("its types have too many parts");
    Type type;
    // The library numbers the integers of types in another order than those of values.
    constexpr uint8_t kIntegers[] = {kS8, kS16, kS32, kS64, kU8, kU16, kU32, kU64};
    type.kind = reflected.kind >= 1 && reflected.kind <= 8 ? kIntegers[reflected.kind - 1] : reflected.kind;
    const auto& of = reflected.of;
    wasmtime_component_valtype_t inner;
    const char* name = nullptr;
    size_t length = 0;
    const auto named = [&] { type.names.emplace_back(name, length); };
    switch (reflected.kind) {
      case kList:
        wasmtime_component_list_type_element(of.list, &inner);
        type.of.emplace_back(Take(inner));
        break;
      case kRecord:
        for (size_t i = 0; wasmtime_component_record_type_field_nth(of.record, i, &name, &length, &inner); i++) {
          named();
          type.of.emplace_back(Take(inner));
        }
        break;
      case kTuple:
        for (size_t i = 0; wasmtime_component_tuple_type_types_nth(of.tuple, i, &inner); i++)
          type.of.emplace_back(Take(inner));
        break;
      case kVariant: {
        bool has_value = false;
        for (size_t i = 0; wasmtime_component_variant_type_case_nth(of.variant, i, &name, &length, &has_value, &inner);
             i++) {
          named();
          type.of.push_back(has_value ? std::optional(Take(inner)) : std::nullopt);
        }
        break;
      }
      case kEnum:
        for (size_t i = 0; wasmtime_component_enum_type_names_nth(of.enumeration, i, &name, &length); i++) named();
        break;
      case kFlags:
        for (size_t i = 0; wasmtime_component_flags_type_names_nth(of.flags, i, &name, &length); i++) named();
        break;
      case kOption:
        wasmtime_component_option_type_ty(of.option, &inner);
        type.of.emplace_back(Take(inner));
        if (type.of[0]->kind == kOption) throw Refused("it has an option of an option");  // null would mean both
        break;
      case kResult:
        type.of.push_back(wasmtime_component_result_type_ok(of.result, &inner) ? std::optional(Take(inner))
                                                                               : std::nullopt);
        type.of.push_back(wasmtime_component_result_type_err(of.result, &inner) ? std::optional(Take(inner))
                                                                                : std::nullopt);
        break;
      case kOwn:
      case kBorrow:
        type.resource = resources_.Find(of.resource);
        if (type.resource == 0) throw Refused("it passes a resource that the host does not have");
        break;
      default:
        if (reflected.kind > kString) throw Refused("it passes a future, a stream or an error context");
    }
    return type;
  }
};

constexpr const char* kNames[] = {"bool", "s8",  "u8",  "s16", "u16",  "s32",   "u32",
                                  "s64",  "u64", "f32", "f64", "char", "string"};

class TypeText {
 public:
  explicit TypeText(const ResourceTypes& resources) : resources_(resources) {}

  std::string Of(const std::optional<Type>& type) const {
    if (!type) return "_";
    switch (type->kind) {
      case kList:
        return "list<" + Of(type->of[0]) + ">";
      case kOption:
        return "option<" + Of(type->of[0]) + ">";
      case kTuple:
        return "tuple<" + Join(*type, [&](size_t i) { return Of(type->of[i]); }) + ">";
      case kResult:
        return "result<" + Of(type->of[0]) + ", " + Of(type->of[1]) + ">";
      case kRecord:
        return "record{" + Join(*type, [&](size_t i) { return type->names[i] + ": " + Of(type->of[i]); }) + "}";
      case kVariant:
        return "variant{" +
               Join(*type,
                    [&](size_t i) {
                      return type->of[i] ? type->names[i] + "(" + Of(type->of[i]) + ")" : type->names[i];
                    }) +
               "}";
      case kEnum:
        return "enum{" + Join(*type, [&](size_t i) { return type->names[i]; }) + "}";
      case kFlags:
        return "flags{" + Join(*type, [&](size_t i) { return type->names[i]; }) + "}";
      case kOwn:
        return "own<" + resources_.name(type->resource) + ">";
      case kBorrow:
        return "borrow<" + resources_.name(type->resource) + ">";
      default:
        return kNames[type->kind];
    }
  }

 private:
  const ResourceTypes& resources_;

  template <class Item>
  static std::string Join(const Type& type, Item item) {
    std::string out;
    for (size_t i = 0; i < std::max(type.names.size(), type.of.size()); i++) out += (i ? ", " : "") + item(i);
    return out;
  }
};

}  // namespace

uint32_t ResourceTypes::Add(const wasmtime_component_resource_type_t* type, const std::string& name) {
  if (const uint32_t number = Find(type)) return number;
  known_.push_back({ResourceTypePtr(wasmtime_component_resource_type_clone(type)), name});
  return static_cast<uint32_t>(known_.size());
}

uint32_t ResourceTypes::Find(const wasmtime_component_resource_type_t* type) const {
  for (size_t i = 0; i < known_.size(); i++)
    if (wasmtime_component_resource_type_equal(known_[i].type.get(), type)) return static_cast<uint32_t>(i + 1);
  return 0;
}

FunctionType ReadFunctionType(const wasmtime_component_func_type_t* type, const ResourceTypes& resources) {
  TypeReader reader(resources);
  FunctionType function;
  function.is_async = wasmtime_component_func_type_async(type);
  const char* name = nullptr;
  size_t length = 0;
  wasmtime_component_valtype_t inner;
  for (size_t i = 0; wasmtime_component_func_type_param_nth(type, i, &name, &length, &inner); i++) {
    function.names.emplace_back(name, length);
    function.params.push_back(reader.Take(inner));
  }
  if (wasmtime_component_func_type_result(type, &inner)) function.result = reader.Take(inner);
  return function;
}

std::string TextOf(const FunctionType& type, const ResourceTypes& resources) {
  const TypeText text(resources);
  std::string out = type.is_async ? "async func(" : "func(";
  for (size_t i = 0; i < type.params.size(); i++)
    out += (i ? ", " : "") + type.names[i] + ": " + text.Of(type.params[i]);
  out += ")";
  if (type.result) out += " -> " + text.Of(type.result);
  return out;
}

}  // namespace aana::sandbox
