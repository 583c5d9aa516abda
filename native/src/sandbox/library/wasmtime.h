// The part of the C API of libwasmtime 50.0.1 that the sandbox uses, as declarations only. The published library has no
// headers. The layout of some structures differs between versions, so the version of the library is fixed.
#pragma once
#include <cstddef>
#include <cstdint>

extern "C" {

// Bytes, errors.
struct wasm_byte_vec_t {
  size_t size;
  char* data;
};
using wasm_name_t = wasm_byte_vec_t;
void wasm_byte_vec_new(wasm_byte_vec_t* out, size_t size, const char* data);
void wasm_byte_vec_delete(wasm_byte_vec_t*);

struct wasmtime_error_t;
wasmtime_error_t* wasmtime_error_new(const char*);
void wasmtime_error_message(const wasmtime_error_t*, wasm_name_t* out);
void wasmtime_error_delete(wasmtime_error_t*);

// Engine.
struct wasm_config_t;
struct wasm_engine_t;
struct wasmtime_pooling_allocation_config_t;
wasm_config_t* wasm_config_new();
wasm_engine_t* wasm_engine_new_with_config(wasm_config_t*);  // takes the config
void wasm_engine_delete(wasm_engine_t*);
void wasmtime_engine_increment_epoch(wasm_engine_t*);
void wasmtime_config_wasm_component_model_set(wasm_config_t*, bool);
void wasmtime_config_wasm_component_model_async_set(wasm_config_t*, bool);
void wasmtime_config_concurrency_support_set(wasm_config_t*, bool);
void wasmtime_config_epoch_interruption_set(wasm_config_t*, bool);
void wasmtime_config_memory_init_cow_set(wasm_config_t*, bool);
void wasmtime_config_max_wasm_stack_set(wasm_config_t*, size_t);
void wasmtime_config_async_stack_size_set(wasm_config_t*, size_t);
void wasmtime_config_wasm_gc_set(wasm_config_t*, bool);
void wasmtime_config_wasm_threads_set(wasm_config_t*, bool);
void wasmtime_config_shared_memory_set(wasm_config_t*, bool);
void wasmtime_config_strategy_set(wasm_config_t*, uint8_t);  // 0 auto, 1 Cranelift, 2 Winch
void wasmtime_config_parallel_compilation_set(wasm_config_t*, bool);

wasmtime_pooling_allocation_config_t* wasmtime_pooling_allocation_config_new();
void wasmtime_pooling_allocation_config_delete(wasmtime_pooling_allocation_config_t*);
void wasmtime_pooling_allocation_strategy_set(wasm_config_t*, const wasmtime_pooling_allocation_config_t*);
void wasmtime_pooling_allocation_config_total_component_instances_set(wasmtime_pooling_allocation_config_t*, uint32_t);
void wasmtime_pooling_allocation_config_total_core_instances_set(wasmtime_pooling_allocation_config_t*, uint32_t);
void wasmtime_pooling_allocation_config_total_memories_set(wasmtime_pooling_allocation_config_t*, uint32_t);
void wasmtime_pooling_allocation_config_total_tables_set(wasmtime_pooling_allocation_config_t*, uint32_t);
void wasmtime_pooling_allocation_config_total_stacks_set(wasmtime_pooling_allocation_config_t*, uint32_t);
void wasmtime_pooling_allocation_config_total_gc_heaps_set(wasmtime_pooling_allocation_config_t*, uint32_t);
void wasmtime_pooling_allocation_config_max_core_instances_per_component_set(wasmtime_pooling_allocation_config_t*,
                                                                             uint32_t);
void wasmtime_pooling_allocation_config_max_memories_per_component_set(wasmtime_pooling_allocation_config_t*, uint32_t);
void wasmtime_pooling_allocation_config_max_tables_per_component_set(wasmtime_pooling_allocation_config_t*, uint32_t);
void wasmtime_pooling_allocation_config_max_memory_size_set(wasmtime_pooling_allocation_config_t*, size_t);
void wasmtime_pooling_allocation_config_table_elements_set(wasmtime_pooling_allocation_config_t*, size_t);
void wasmtime_pooling_allocation_config_linear_memory_keep_resident_set(wasmtime_pooling_allocation_config_t*, size_t);
void wasmtime_pooling_allocation_config_table_keep_resident_set(wasmtime_pooling_allocation_config_t*, size_t);
void wasmtime_pooling_allocation_config_async_stack_keep_resident_set(wasmtime_pooling_allocation_config_t*, size_t);

// Store.
struct wasmtime_store_t;
struct wasmtime_context_t;
wasmtime_store_t* wasmtime_store_new(wasm_engine_t*, void* data, void (*finalizer)(void*));
void wasmtime_store_delete(wasmtime_store_t*);
wasmtime_context_t* wasmtime_store_context(wasmtime_store_t*);
// Negative values keep the defaults (no limit, but 10,000 instances, tables and memories).
void wasmtime_store_limiter(wasmtime_store_t*, int64_t memory_size, int64_t table_elements, int64_t instances,
                            int64_t tables, int64_t memories);
void* wasmtime_context_get_data(const wasmtime_context_t*);
void wasmtime_context_set_epoch_deadline(wasmtime_context_t*, uint64_t ticks_beyond_current);
// `kind_out`: 0 continue, 1 yield (async stores only).
void wasmtime_store_epoch_deadline_callback(wasmtime_store_t*,
                                            wasmtime_error_t* (*)(wasmtime_context_t*, void*, uint64_t* delta_out,
                                                                  uint8_t* kind_out),
                                            void*, void (*finalizer)(void*));

// Values.
// Kinds of values. Those of types are the same but for the order of the integers (see values.h).
enum Kind : uint8_t {
  kBool,
  kS8,
  kU8,
  kS16,
  kU16,
  kS32,
  kU32,
  kS64,
  kU64,
  kF32,
  kF64,
  kChar,
  kString,
  kList,
  kRecord,
  kTuple,
  kVariant,
  kEnum,
  kOption,
  kResult,
  kFlags,
  kResource,  // of values
  kOwn = 21,
  kBorrow,  // of types
};
struct wasmtime_component_resource_any_t;
struct wasmtime_component_resource_host_t;
struct wasmtime_component_resource_type_t;
struct wasmtime_component_val_t;
struct wasmtime_component_valrecord_entry_t;
struct wasmtime_component_vallist_t {
  size_t size;
  wasmtime_component_val_t* data;
};
struct wasmtime_component_valrecord_t {
  size_t size;
  wasmtime_component_valrecord_entry_t* data;
};
struct wasmtime_component_valflags_t {
  size_t size;
  wasm_name_t* data;
};
struct wasmtime_component_valvariant_t {
  wasm_name_t discriminant;
  wasmtime_component_val_t* val;
};
struct wasmtime_component_valresult_t {
  bool is_ok;
  wasmtime_component_val_t* val;
};
struct wasmtime_component_val_t {
  uint8_t kind;
  union {
    bool boolean;
    int8_t s8;
    uint8_t u8;
    int16_t s16;
    uint16_t u16;
    int32_t s32;
    uint32_t u32;
    int64_t s64;
    uint64_t u64;
    float f32;
    double f64;
    uint32_t character;
    wasm_name_t string;
    wasmtime_component_vallist_t list, tuple;
    wasmtime_component_valrecord_t record;
    wasmtime_component_valvariant_t variant;
    wasm_name_t enumeration;
    wasmtime_component_val_t* option;
    wasmtime_component_valresult_t result;
    wasmtime_component_valflags_t flags;
    wasmtime_component_resource_any_t* resource;
  } of;
};
struct wasmtime_component_valrecord_entry_t {
  wasm_name_t name;
  wasmtime_component_val_t val;
};
void wasmtime_component_vallist_new_uninit(wasmtime_component_vallist_t*, size_t);
void wasmtime_component_valtuple_new_uninit(wasmtime_component_vallist_t*, size_t);
void wasmtime_component_valrecord_new_uninit(wasmtime_component_valrecord_t*, size_t);
void wasmtime_component_valflags_new_uninit(wasmtime_component_valflags_t*, size_t);
wasmtime_component_val_t* wasmtime_component_val_new(wasmtime_component_val_t*);  // moves the value to the heap
void wasmtime_component_val_delete(wasmtime_component_val_t*);

wasmtime_component_resource_host_t* wasmtime_component_resource_host_new(bool owned, uint32_t rep, uint32_t type);
uint32_t wasmtime_component_resource_host_rep(const wasmtime_component_resource_host_t*);
uint32_t wasmtime_component_resource_host_type(const wasmtime_component_resource_host_t*);
void wasmtime_component_resource_host_delete(wasmtime_component_resource_host_t*);
wasmtime_error_t* wasmtime_component_resource_any_to_host(wasmtime_context_t*, const wasmtime_component_resource_any_t*,
                                                          wasmtime_component_resource_host_t**);
wasmtime_error_t* wasmtime_component_resource_host_to_any(wasmtime_context_t*,
                                                          const wasmtime_component_resource_host_t*,
                                                          wasmtime_component_resource_any_t**);
wasmtime_component_resource_type_t* wasmtime_component_resource_type_new_host(uint32_t);
wasmtime_component_resource_type_t* wasmtime_component_resource_type_clone(const wasmtime_component_resource_type_t*);
bool wasmtime_component_resource_type_equal(const wasmtime_component_resource_type_t*,
                                            const wasmtime_component_resource_type_t*);
void wasmtime_component_resource_type_delete(wasmtime_component_resource_type_t*);

// Types.
struct wasmtime_component_list_type_t;
struct wasmtime_component_record_type_t;
struct wasmtime_component_tuple_type_t;
struct wasmtime_component_variant_type_t;
struct wasmtime_component_enum_type_t;
struct wasmtime_component_option_type_t;
struct wasmtime_component_result_type_t;
struct wasmtime_component_flags_type_t;
struct wasmtime_component_func_type_t;
struct wasmtime_component_type_t;
struct wasmtime_component_instance_type_t;
struct wasmtime_component_extern_t;
struct wasmtime_component_valtype_t {
  uint8_t kind;
  union {
    wasmtime_component_list_type_t* list;
    wasmtime_component_record_type_t* record;
    wasmtime_component_tuple_type_t* tuple;
    wasmtime_component_variant_type_t* variant;
    wasmtime_component_enum_type_t* enumeration;
    wasmtime_component_option_type_t* option;
    wasmtime_component_result_type_t* result;
    wasmtime_component_flags_type_t* flags;
    wasmtime_component_resource_type_t* resource;
  } of;
};
void wasmtime_component_valtype_delete(wasmtime_component_valtype_t*);
void wasmtime_component_list_type_element(const wasmtime_component_list_type_t*, wasmtime_component_valtype_t*);
bool wasmtime_component_record_type_field_nth(const wasmtime_component_record_type_t*, size_t, const char**, size_t*,
                                              wasmtime_component_valtype_t*);
bool wasmtime_component_tuple_type_types_nth(const wasmtime_component_tuple_type_t*, size_t,
                                             wasmtime_component_valtype_t*);
bool wasmtime_component_variant_type_case_nth(const wasmtime_component_variant_type_t*, size_t, const char**, size_t*,
                                              bool* has_payload, wasmtime_component_valtype_t*);
bool wasmtime_component_enum_type_names_nth(const wasmtime_component_enum_type_t*, size_t, const char**, size_t*);
bool wasmtime_component_flags_type_names_nth(const wasmtime_component_flags_type_t*, size_t, const char**, size_t*);
void wasmtime_component_option_type_ty(const wasmtime_component_option_type_t*, wasmtime_component_valtype_t*);
bool wasmtime_component_result_type_ok(const wasmtime_component_result_type_t*, wasmtime_component_valtype_t*);
bool wasmtime_component_result_type_err(const wasmtime_component_result_type_t*, wasmtime_component_valtype_t*);
bool wasmtime_component_func_type_async(const wasmtime_component_func_type_t*);
bool wasmtime_component_func_type_param_nth(const wasmtime_component_func_type_t*, size_t, const char**, size_t*,
                                            wasmtime_component_valtype_t*);
bool wasmtime_component_func_type_result(const wasmtime_component_func_type_t*, wasmtime_component_valtype_t*);

enum ItemKind : uint8_t {
  kItemComponent,
  kItemInstance,
  kItemModule,
  kItemFunc,
  kItemResource,
  kItemCoreFunc,
  kItemType
};
struct wasmtime_component_item_t {
  uint8_t kind;
  union {
    wasmtime_component_instance_type_t* instance;
    wasmtime_component_func_type_t* func;
    wasmtime_component_resource_type_t* resource;
    wasmtime_component_valtype_t type;
  } of;
};
void wasmtime_component_item_delete(wasmtime_component_item_t*);
void wasmtime_component_extern_type(const wasmtime_component_extern_t*, wasmtime_component_item_t*);
void wasmtime_component_extern_delete(wasmtime_component_extern_t*);
size_t wasmtime_component_type_import_count(const wasmtime_component_type_t*, const wasm_engine_t*);
bool wasmtime_component_type_import_nth(const wasmtime_component_type_t*, const wasm_engine_t*, size_t, const char**,
                                        size_t*, wasmtime_component_extern_t**);
size_t wasmtime_component_type_export_count(const wasmtime_component_type_t*, const wasm_engine_t*);
bool wasmtime_component_type_export_nth(const wasmtime_component_type_t*, const wasm_engine_t*, size_t, const char**,
                                        size_t*, wasmtime_component_extern_t**);
void wasmtime_component_type_delete(wasmtime_component_type_t*);
size_t wasmtime_component_instance_type_export_count(const wasmtime_component_instance_type_t*, const wasm_engine_t*);
bool wasmtime_component_instance_type_export_nth(const wasmtime_component_instance_type_t*, const wasm_engine_t*,
                                                 size_t, const char**, size_t*, wasmtime_component_extern_t**);

// Components.
struct wasmtime_component_t;
struct wasmtime_component_export_index_t;
struct wasmtime_component_linker_t;
struct wasmtime_component_linker_instance_t;
struct wasmtime_call_future_t;
struct wasmtime_component_instance_t {
  uint64_t store_id;
  uint32_t private_;
};
// 50.0.1 has a third private member, which the headers of 49 lack.
struct wasmtime_component_func_t {
  uint64_t store_id;
  uint32_t private1;
  uint32_t pad;
  uint32_t private2;
  void* private3;
};
wasmtime_error_t* wasmtime_component_new(const wasm_engine_t*, const uint8_t*, size_t, wasmtime_component_t**);
wasmtime_error_t* wasmtime_component_serialize(const wasmtime_component_t*, wasm_byte_vec_t*);
wasmtime_error_t* wasmtime_component_deserialize_file(const wasm_engine_t*, const char*, wasmtime_component_t**);
void wasmtime_component_delete(wasmtime_component_t*);
wasmtime_component_type_t* wasmtime_component_type(const wasmtime_component_t*);
wasmtime_component_export_index_t* wasmtime_component_get_export_index(const wasmtime_component_t*,
                                                                       const wasmtime_component_export_index_t*,
                                                                       const char*, size_t);
void wasmtime_component_export_index_delete(wasmtime_component_export_index_t*);
bool wasmtime_component_instance_get_func(const wasmtime_component_instance_t*, wasmtime_context_t*,
                                          const wasmtime_component_export_index_t*, wasmtime_component_func_t*);
wasmtime_call_future_t* wasmtime_component_func_call_async(const wasmtime_component_func_t*, wasmtime_context_t*,
                                                           const wasmtime_component_val_t*, size_t,
                                                           wasmtime_component_val_t*, size_t, wasmtime_error_t**);
bool wasmtime_call_future_poll(wasmtime_call_future_t*);
void wasmtime_call_future_delete(wasmtime_call_future_t*);

// Linker.
struct wasmtime_async_continuation_t {
  bool (*callback)(void*);
  void* env;
  void (*finalizer)(void*);
};
using component_callback_t = wasmtime_error_t* (*)(void*, wasmtime_context_t*, const wasmtime_component_func_type_t*,
                                                   wasmtime_component_val_t*, size_t, wasmtime_component_val_t*,
                                                   size_t);
using component_async_callback_t = void (*)(void*, wasmtime_context_t*, const wasmtime_component_func_type_t*,
                                            wasmtime_component_val_t*, size_t, wasmtime_component_val_t*, size_t,
                                            wasmtime_error_t**, wasmtime_async_continuation_t*);
using component_destructor_t = wasmtime_error_t* (*)(void*, wasmtime_context_t*, uint32_t);
wasmtime_component_linker_t* wasmtime_component_linker_new(const wasm_engine_t*);
void wasmtime_component_linker_delete(wasmtime_component_linker_t*);
wasmtime_component_linker_instance_t* wasmtime_component_linker_root(wasmtime_component_linker_t*);
wasmtime_call_future_t* wasmtime_component_linker_instantiate_async(const wasmtime_component_linker_t*,
                                                                    wasmtime_context_t*, const wasmtime_component_t*,
                                                                    wasmtime_component_instance_t*, wasmtime_error_t**);
wasmtime_error_t* wasmtime_component_linker_instance_add_instance(wasmtime_component_linker_instance_t*, const char*,
                                                                  size_t, wasmtime_component_linker_instance_t**);
wasmtime_error_t* wasmtime_component_linker_instance_add_func(wasmtime_component_linker_instance_t*, const char*,
                                                              size_t, component_callback_t, void*, void (*)(void*));
wasmtime_error_t* wasmtime_component_linker_instance_add_func_async(wasmtime_component_linker_instance_t*, const char*,
                                                                    size_t, component_async_callback_t, void*,
                                                                    void (*)(void*));
wasmtime_error_t* wasmtime_component_linker_instance_add_resource(wasmtime_component_linker_instance_t*, const char*,
                                                                  size_t, const wasmtime_component_resource_type_t*,
                                                                  component_destructor_t, void*, void (*)(void*));
void wasmtime_component_linker_instance_delete(wasmtime_component_linker_instance_t*);

}  // extern "C"

static_assert(sizeof(wasmtime_component_val_t) == 32);
static_assert(sizeof(wasmtime_component_valrecord_entry_t) == 48);
static_assert(sizeof(wasmtime_component_valtype_t) == 16);
static_assert(sizeof(wasmtime_component_item_t) == 24);
static_assert(sizeof(wasmtime_component_instance_t) == 16);
static_assert(sizeof(wasmtime_component_func_t) == 32);
static_assert(sizeof(wasmtime_async_continuation_t) == 24);
