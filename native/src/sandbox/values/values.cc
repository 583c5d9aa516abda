#include "sandbox/values/values.h"

#include <limits>

#include "sandbox/values/utf8.h"

namespace aana::sandbox {

namespace {

std::string_view View(const wasm_name_t& name) { return {name.data, name.size}; }

void Copy(wasm_name_t& out, std::string_view text) { wasm_byte_vec_new(&out, text.size(), text.data()); }

size_t IndexOf(const Type& type, std::string_view name) {
  for (size_t i = 0; i < type.names.size(); i++)
    if (type.names[i] == name) return i;
  throw Malformed("a case or a flag is unknown");
}

class ValueWriter {
 public:
  ValueWriter(CborWriter& out, wasmtime_context_t* context) : out_(out), context_(context) {}

  void Write(const wasmtime_component_val_t& value, const Type& type) {
    const auto& of = value.of;
    switch (value.kind) {
      case kBool:
        return out_.Bool(of.boolean);
      case kS8:
        return out_.Integer(of.s8);
      case kU8:
        return out_.Unsigned(of.u8);
      case kS16:
        return out_.Integer(of.s16);
      case kU16:
        return out_.Unsigned(of.u16);
      case kS32:
        return out_.Integer(of.s32);
      case kU32:
        return out_.Unsigned(of.u32);
      case kS64:
        return out_.Integer(of.s64);
      case kU64:
        return out_.Unsigned(of.u64);
      case kF32:
        return out_.Number(static_cast<double>(of.f32));
      case kF64:
        return out_.Number(of.f64);
      case kChar: {
        std::string text;
        AppendUtf8(text, of.character);
        return out_.Text(text);
      }
      case kString:
        return out_.Text(View(of.string));
      case kEnum:
        return out_.Text(View(of.enumeration));
      case kList:
        return WriteList(of.list, *type.of[0]);
      case kTuple:
        out_.Array(of.tuple.size);
        for (size_t i = 0; i < of.tuple.size; i++) Write(of.tuple.data[i], *type.of[i]);
        return;
      case kRecord:
        out_.Map(of.record.size);
        for (size_t i = 0; i < of.record.size; i++) {
          out_.Text(View(of.record.data[i].name));
          Write(of.record.data[i].val, *type.of[i]);
        }
        return;
      case kVariant:
        out_.Map(of.variant.val ? 2 : 1);
        out_.Text("tag");
        out_.Text(View(of.variant.discriminant));
        if (!of.variant.val) return;
        out_.Text("val");
        return Write(*of.variant.val, *type.of[IndexOf(type, View(of.variant.discriminant))]);
      case kOption:
        return of.option ? Write(*of.option, *type.of[0]) : out_.Null();
      case kResult:
        out_.Map(1);
        out_.Text(of.result.is_ok ? "ok" : "err");
        return of.result.val ? Write(*of.result.val, *type.of[of.result.is_ok ? 0 : 1]) : out_.Null();
      case kFlags:
        out_.Array(of.flags.size);
        for (size_t i = 0; i < of.flags.size; i++) out_.Text(View(of.flags.data[i]));
        return;
      case kResource:
        return WriteResource(of.resource, type);
      default:
        throw Refused("a value has an unknown kind");
    }
  }

 private:
  CborWriter& out_;
  wasmtime_context_t* context_;

  void WriteList(const wasmtime_component_vallist_t& list, const Type& element) {
    if (element.kind == kU8) {
      std::string bytes(list.size, '\0');
      for (size_t i = 0; i < list.size; i++) bytes[i] = static_cast<char>(list.data[i].of.u8);
      return out_.Bytes(bytes);
    }
    out_.Array(list.size);
    for (size_t i = 0; i < list.size; i++) Write(list.data[i], element);
  }

  void WriteResource(const wasmtime_component_resource_any_t* resource, const Type& type) {
    wasmtime_component_resource_host_t* found = nullptr;
    Require(wasmtime_component_resource_any_to_host(context_, resource, &found), "a resource is not the host's");
    const ResourceHostPtr host(found);
    if (wasmtime_component_resource_host_type(host.get()) != type.resource)
      throw Refused("a resource has another type");
    out_.Unsigned(wasmtime_component_resource_host_rep(host.get()));
  }
};

class ValueReader {
 public:
  ValueReader(CborReader& in, wasmtime_context_t* context, ReadCounts& counts)
      : in_(in), context_(context), counts_(counts) {}

  // A value is empty until its parts are: what throws leaves a value that can be released.
  void Read(wasmtime_component_val_t& out, const Type& type) {
    Count(1);
    auto& of = out.of;
    const auto done = [&] { out.kind = type.kind; };
    switch (type.kind) {
      case kBool:
        of.boolean = in_.Bool();
        return;
      case kS8:
        return done(), void(of.s8 = Integer<int8_t>());
      case kU8:
        return done(), void(of.u8 = Integer<uint8_t>());
      case kS16:
        return done(), void(of.s16 = Integer<int16_t>());
      case kU16:
        return done(), void(of.u16 = Integer<uint16_t>());
      case kS32:
        return done(), void(of.s32 = Integer<int32_t>());
      case kU32:
        return done(), void(of.u32 = Integer<uint32_t>());
      case kS64:
        return done(), void(of.s64 = Integer<int64_t>());
      case kU64:
        return done(), void(of.u64 = in_.Unsigned());
      case kF32:
        return done(), void(of.f32 = static_cast<float>(in_.Number()));
      case kF64:
        return done(), void(of.f64 = in_.Number());
      case kChar:
        of.character = OnlyScalar(in_.Text());
        if (!IsScalar(of.character)) throw Malformed("a text is not one character");
        return done();
      case kString:
        Copy(of.string, in_.Text());
        return done();
      case kEnum:
        Copy(of.enumeration, type.names[IndexOf(type, in_.Text())]);
        return done();
      case kList:
        return ReadList(out, *type.of[0]);
      case kTuple:
        if (in_.Array() != type.of.size()) throw Malformed("a tuple has another length");
        wasmtime_component_valtuple_new_uninit(&of.tuple, type.of.size());
        Clear(of.tuple.data, of.tuple.size);
        done();
        for (size_t i = 0; i < type.of.size(); i++) Read(of.tuple.data[i], *type.of[i]);
        return;
      case kRecord:
        return ReadRecord(out, type);
      case kVariant:
        return ReadVariant(out, type);
      case kOption:
        of.option = in_.Null() ? nullptr : Boxed(*type.of[0]);
        return done();
      case kResult:
        return ReadResult(out, type);
      case kFlags:
        return ReadFlags(out, type);
      case kOwn:
      case kBorrow:
        if (type.kind == kOwn) counts_.owned++;
        of.resource = MakeResource(context_, type.kind == kOwn, Integer<uint32_t>(), type.resource);
        out.kind = kResource;
        return;
      default:
        throw Refused("a value has an unknown kind");
    }
  }

 private:
  CborReader& in_;
  wasmtime_context_t* context_;
  ReadCounts& counts_;

  void Count(size_t values) {
    counts_.values += values;
    if (counts_.values > kMaxValues) throw Malformed("it has too many values");
  }

  template <class Number>
  Number Integer() {
    return static_cast<Number>(in_.Integer(static_cast<int64_t>(std::numeric_limits<Number>::min()),
                                           static_cast<int64_t>(std::numeric_limits<Number>::max())));
  }

  static void Clear(wasmtime_component_val_t* values, size_t count) {
    for (size_t i = 0; i < count; i++) values[i] = {};
  }

  wasmtime_component_val_t* Boxed(const Type& type) {
    Value value;
    Read(value.raw(), type);
    auto raw = value.Release();
    return wasmtime_component_val_new(&raw);
  }

  void ReadList(wasmtime_component_val_t& out, const Type& element) {
    auto& list = out.of.list;
    if (element.kind == kU8) {
      const auto bytes = in_.Bytes();
      counts_.bytes += bytes.size();
      if (counts_.bytes > kMaxListBytes)
        throw Malformed("it has more than " + std::to_string(kMaxListBytes) + " bytes in lists of bytes");
      wasmtime_component_vallist_new_uninit(&list, bytes.size());
      for (size_t i = 0; i < bytes.size(); i++) {
        list.data[i] = {};
        list.data[i].kind = kU8;
        list.data[i].of.u8 = static_cast<uint8_t>(bytes[i]);
      }
      out.kind = kList;
      return;
    }
    const size_t count = in_.Array();
    if (count > kMaxValues) throw Malformed("it has too many values");
    wasmtime_component_vallist_new_uninit(&list, count);
    Clear(list.data, count);
    out.kind = kList;
    for (size_t i = 0; i < count; i++) Read(list.data[i], element);
  }

  // All fields, in the order of the type.
  void ReadRecord(wasmtime_component_val_t& out, const Type& type) {
    if (in_.Map() != type.of.size()) throw Malformed("a record has another number of fields");
    auto& record = out.of.record;
    wasmtime_component_valrecord_new_uninit(&record, type.of.size());
    for (size_t i = 0; i < type.of.size(); i++) {
      Copy(record.data[i].name, type.names[i]);
      record.data[i].val = {};
    }
    out.kind = kRecord;
    for (size_t i = 0; i < type.of.size(); i++) {
      if (in_.Text() != type.names[i]) throw Malformed("a record has no field \"" + type.names[i] + "\" at its place");
      Read(record.data[i].val, *type.of[i]);
    }
  }

  void ReadVariant(wasmtime_component_val_t& out, const Type& type) {
    const size_t members = in_.Map();
    Expect("tag");
    const size_t which = IndexOf(type, in_.Text());
    if (members != (type.of[which] ? 2U : 1U)) throw Malformed("a case has a value where it has none, or none");
    auto& variant = out.of.variant;
    variant.val = nullptr;
    if (type.of[which]) {
      Expect("val");
      variant.val = Boxed(*type.of[which]);
    }
    Copy(variant.discriminant, type.names[which]);
    out.kind = kVariant;
  }

  void ReadResult(wasmtime_component_val_t& out, const Type& type) {
    if (in_.Map() != 1) throw Malformed("a result has another form");
    const auto name = in_.Text();
    if (name != "ok" && name != "err") throw Malformed("a result is neither ok nor err");
    auto& result = out.of.result;
    result.is_ok = name == "ok";
    result.val = nullptr;
    const auto& of = type.of[result.is_ok ? 0 : 1];
    if (of)
      result.val = Boxed(*of);
    else if (!in_.Null())
      throw Malformed("a result has a value where it has none");
    out.kind = kResult;
  }

  void ReadFlags(wasmtime_component_val_t& out, const Type& type) {
    const size_t count = in_.Array();
    if (count > type.names.size()) throw Malformed("a flag is given twice");
    std::vector<size_t> given;
    for (size_t i = 0; i < count; i++) {
      given.push_back(IndexOf(type, in_.Text()));
      if (i > 0 && given[i] <= given[i - 1]) throw Malformed("flags are not in the order of the type");
    }
    auto& flags = out.of.flags;
    wasmtime_component_valflags_new_uninit(&flags, count);
    for (size_t i = 0; i < count; i++) Copy(flags.data[i], type.names[given[i]]);
    out.kind = kFlags;
  }

  void Expect(std::string_view name) {
    if (in_.Text() != name) throw Malformed("a variant has another form");
  }
};

}  // namespace

void WriteValue(CborWriter& out, const wasmtime_component_val_t& value, const Type& type, wasmtime_context_t* context) {
  ValueWriter(out, context).Write(value, type);
}

void ReadValue(CborReader& in, wasmtime_component_val_t& out, const Type& type, wasmtime_context_t* context,
               ReadCounts& counts) {
  ValueReader(in, context, counts).Read(out, type);
}

wasmtime_component_resource_any_t* MakeResource(wasmtime_context_t* context, bool is_owned, uint32_t number,
                                                uint32_t type) {
  const ResourceHostPtr host(wasmtime_component_resource_host_new(is_owned, number, type));
  wasmtime_component_resource_any_t* resource = nullptr;
  Require(wasmtime_component_resource_host_to_any(context, host.get(), &resource), "a resource cannot be passed");
  return resource;
}

}  // namespace aana::sandbox
