#include "runtime/events/papi_library.hpp"

#include <cstring>

#include <dlfcn.h>
#include <pthread.h>

namespace culprit::runtime {
namespace {

/// Newest first; the development link last, which may be any version.
constexpr const char* kNames[] = {"libpapi.so.7.2", "libpapi.so.7.1", "libpapi.so.7.0", "libpapi.so.7",
                                  "libpapi.so.6.0", "libpapi.so.6",   "libpapi.so.5",   "libpapi.so"};
constexpr int kLibraryVersion = 21;                            // PAPI_LIB_VERSION
constexpr int kMajorAndMinor = static_cast<int>(0xffff0000U);  // of a version; PAPI_VER_CURRENT

void* open_papi(int flags) {
  for (const char* name : kNames) {
    if (void* library = dlopen(name, flags)) return library;
  }
  return nullptr;
}

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool find_functions(void* library, PapiLibrary& papi) {
  return find(library, "PAPI_strerror", papi.strerror) && find(library, "PAPI_get_opt", papi.get_opt) &&
         find(library, "PAPI_library_init", papi.library_init) &&
         find(library, "PAPI_thread_init", papi.thread_init) &&
         find(library, "PAPI_register_thread", papi.register_thread) &&
         find(library, "PAPI_unregister_thread", papi.unregister_thread) &&
         find(library, "PAPI_num_components", papi.num_components) &&
         find(library, "PAPI_get_component_info", papi.get_component_info) &&
         find(library, "PAPI_get_event_component", papi.get_event_component) &&
         find(library, "PAPI_get_event_info", papi.get_event_info) &&
         find(library, "PAPI_enum_event", papi.enum_event) &&
         find(library, "PAPI_event_name_to_code", papi.event_name_to_code) &&
         find(library, "PAPI_create_eventset", papi.create_eventset) &&
         find(library, "PAPI_cleanup_eventset", papi.cleanup_eventset) &&
         find(library, "PAPI_destroy_eventset", papi.destroy_eventset) &&
         find(library, "PAPI_add_event", papi.add_event) && find(library, "PAPI_overflow", papi.overflow) &&
         find(library, "PAPI_get_overflow_event_index", papi.get_overflow_event_index) &&
         find(library, "PAPI_start", papi.start) && find(library, "PAPI_stop", papi.stop);
}

unsigned long own_thread() {
  return static_cast<unsigned long>(pthread_self());
}

// Where the text fields of PAPI_component_info_t begin, the same in all versions.
constexpr std::size_t kReasonOffset = 128 + 64 + 128 + 64 + 64 + 64;

}  // namespace

const char* load_papi(PapiLibrary& papi) {
  void* library = open_papi(RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return "PAPI is not installed";
  if (!find_functions(library, papi)) return "the PAPI library lacks functions (it is older than PAPI 5)";
  // It accepts only the version that the caller was built for: whichever it says itself.
  const int version = papi.get_opt(kLibraryVersion, nullptr) & kMajorAndMinor;
  if (papi.library_init(version) != version) return "PAPI does not start (papi_avail may say why)";
  if (papi.thread_init(own_thread) != kPapiOk) return "PAPI does not support threads here";
  return nullptr;
}

bool papi_in_use() {
  void* library = open_papi(RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library != nullptr) dlclose(library);
  return library != nullptr;
}

const char* papi_component_name(const PapiLibrary& papi, int component) {
  const auto* name = static_cast<const char*>(papi.get_component_info(component));
  return name == nullptr ? "" : name;
}

const char* papi_component_reason(const PapiLibrary& papi, int component) {
  const auto* bytes = static_cast<const char*>(papi.get_component_info(component));
  return bytes == nullptr ? "" : bytes + kReasonOffset;
}

}  // namespace culprit::runtime
