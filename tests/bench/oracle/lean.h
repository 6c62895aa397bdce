/* A stand-in for <lean/lean.h>: just enough of the runtime's interface for a front end that only builds values with it.
   An object is a heap block with an optional string; nothing is ever freed. */
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <stdbool.h>

typedef struct lean_object {
  int m_rc;
  char *text;
} lean_object;

static inline lean_object *standin(const char *text, size_t size) {
  lean_object *object = calloc(1, sizeof *object);
  object->m_rc = 1;
  object->text = calloc(1, size + 1);
  memcpy(object->text, text, size);
  return object;
}

static inline lean_object *lean_mk_string(const char *text) { return standin(text, strlen(text)); }
static inline lean_object *lean_mk_string_from_bytes(const char *text, size_t size) { return standin(text, size); }
static inline const char *lean_string_cstr(lean_object *object) { return object->text; }

static inline lean_object *lean_string_append(lean_object *left, lean_object *right) {
  size_t a = strlen(left->text), b = strlen(right->text);
  lean_object *joined = standin("", 0);
  joined->text = calloc(1, a + b + 1);
  memcpy(joined->text, left->text, a);
  memcpy(joined->text + a, right->text, b);
  return joined;
}

static inline void lean_inc(lean_object *object) { (void)object; }
static inline void lean_dec(lean_object *object) { (void)object; }
static inline lean_object *lean_box(size_t value) { (void)value; return standin("", 0); }
static inline lean_object *lean_unsigned_to_nat(unsigned value) { (void)value; return standin("", 0); }
static inline lean_object *lean_int_to_int(int value) { (void)value; return standin("", 0); }
static inline lean_object *lean_alloc_ctor(unsigned tag, unsigned fields, unsigned size) {
  (void)tag; (void)fields; (void)size;
  return standin("", 0);
}
static inline void lean_ctor_set(lean_object *object, unsigned index, lean_object *value) {
  (void)object; (void)index; (void)value;
}
static inline lean_object *lean_mk_empty_array(void) { return standin("", 0); }
static inline lean_object *lean_alloc_array(size_t size, size_t capacity) {
  (void)size; (void)capacity;
  return standin("", 0);
}
static inline lean_object *lean_array_push(lean_object *array, lean_object *value) { (void)value; return array; }
static inline lean_object *lean_array_to_list(lean_object *array) { return array; }
static inline lean_object *lean_io_mk_world(void) { return standin("", 0); }
static inline bool lean_io_result_is_ok(lean_object *result) { (void)result; return true; }
static inline lean_object *lean_io_result_take_value(lean_object *result) { return result; }
static inline lean_object *lean_io_result_get_error(lean_object *result) { return result; }
