#include "structure/debug_servers.hpp"

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include <dlfcn.h>

namespace culprit::structure {
namespace {

using Clock = std::chrono::steady_clock;

/// Servers that ask further servers, or unpack what they are asked for, take some seconds.
constexpr int kPatienceSeconds = 15;

std::atomic<bool> mute = false;
thread_local Clock::time_point deadline;

std::chrono::seconds patience() {
  int seconds = 0;
  if (const char* const text = std::getenv("DEBUGINFOD_TIMEOUT"); text != nullptr) {
    const std::string_view digits = text;
    std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  }
  return std::chrono::seconds(seconds > 0 ? seconds : kPatienceSeconds);
}

/// debuginfod's client looks the servers up in the environment for each question. Shortened in place, since
/// changing the environment would not be safe beside other threads that read it.
void stop_asking() {
  mute = true;
  if (char* const urls = std::getenv("DEBUGINFOD_URLS"); urls != nullptr) *urls = '\0';
}

/// debuginfod's client calls this about once per second; `size` is 0 until a server answers. Not 0: give up.
int on_progress(debuginfod_client*, long /*done*/, long size) {
  if (mute) return 1;
  if (size > 0 || Clock::now() < deadline) return 0;
  stop_asking();
  return 1;
}

using Progress = int (*)(debuginfod_client*, long, long);
using SetProgress = void (*)(debuginfod_client*, Progress);

/// Of the client library that libdwfl has loaded; null where there is none. It stays loaded.
SetProgress find_set_progress() {
  void* const library = ::dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr
                            : reinterpret_cast<SetProgress>(::dlsym(library, "debuginfod_set_progressfn"));
}

}  // namespace

void bound_question(Dwfl* session) {
  const char* const urls = std::getenv("DEBUGINFOD_URLS");
  if (urls == nullptr || *urls == '\0') return;
  debuginfod_client* const client = dwfl_get_debuginfod_client(session);
  if (client == nullptr) return;
  deadline = Clock::now() + patience();
  if (static const SetProgress set_progress = find_set_progress(); set_progress != nullptr)
    set_progress(client, on_progress);
}

bool servers_are_mute() {
  return mute;
}

}  // namespace culprit::structure
