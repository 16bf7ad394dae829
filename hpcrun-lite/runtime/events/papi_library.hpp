#pragma once

#include <cstddef>

// PAPI, loaded when it is asked for and never linked: declared here are the few functions that are used,
// whose binary interface has been the same since PAPI 5. Source: papi.h and the manual pages PAPI_*(3).
namespace culprit::runtime {

inline constexpr int kPapiOk = 0;
inline constexpr int kPapiNoEvent = -7;      ///< PAPI_ENOEVNT
inline constexpr int kPapiConflict = -8;     ///< PAPI_ECNFLCT: no counter left for it
inline constexpr int kPapiManyPasses = -27;  ///< PAPI_EMULPASS: conflict, as newer versions name it
inline constexpr int kPapiNull = -1;         ///< an event set that does not exist yet
inline constexpr int kPapiPresets = static_cast<int>(0x80000000U);  ///< PAPI_PRESET_MASK
inline constexpr int kPapiEnumerateEvents = 0;                      ///< PAPI_ENUM_EVENTS: the next one
inline constexpr int kPapiEnumerateFirst = 1;                       ///< PAPI_ENUM_FIRST

using PapiOverflowHandler = void (*)(int event_set, void* address, long long counters, void* context);

struct PapiLibrary {
  char* (*strerror)(int);
  int (*get_opt)(int, void*);
  int (*library_init)(int);
  int (*thread_init)(unsigned long (*)());
  int (*register_thread)();
  int (*unregister_thread)();
  int (*num_components)();
  const void* (*get_component_info)(int);
  int (*get_event_component)(int);
  int (*get_event_info)(int, void*);
  int (*enum_event)(int*, int);
  int (*event_name_to_code)(const char*, int*);
  int (*create_eventset)(int*);
  int (*cleanup_eventset)(int);
  int (*destroy_eventset)(int*);
  int (*add_event)(int, int);
  int (*overflow)(int, int, int, int, PapiOverflowHandler);
  int (*get_overflow_event_index)(int, long long, int*, int*);
  int (*start)(int);
  int (*stop)(int, long long*);
};

/// Loads PAPI into a namespace of its own and initializes it, threads included. Null, or why not, in static
/// text. Not from a handler. In a child of a process that did so, it starts PAPI anew.
const char* load_papi(PapiLibrary& papi);

/// True if the program has PAPI for itself.
bool papi_in_use();

/// The name of a component, and why it is disabled (empty where it is not, or does not say).
const char* papi_component_name(const PapiLibrary& papi, int component);
const char* papi_component_reason(const PapiLibrary& papi, int component);

/// Symbol and description of an event, from what get_event_info fills in.
struct PapiEventInfo {
  char bytes[32768];  ///< above the size of PAPI_event_info_t in any version (7.0: 8 KB)
  [[nodiscard]] const char* symbol() const { return bytes + sizeof(unsigned); }
  [[nodiscard]] const char* description() const {
    constexpr std::size_t kSymbol = 1024;
    constexpr std::size_t kLabel = 64;
    return bytes + sizeof(unsigned) + kSymbol + kLabel;
  }
};

/// Of PAPI's components only this one interrupts the program, and can sample.
inline constexpr const char* kPapiSamplingComponent = "perf_event";

}  // namespace culprit::runtime
