// Copies the sources that contexts name into the database, within bounds of size and time. A thread of its
// own reads: a file system that does not answer must not hold up a merge. Only plain text in regular files is
// copied, and only what all who measured may read (docs/security.md).
#include "merge/attribution/sources.hpp"

#include "files/named_file.hpp"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

namespace culprit::merge {
namespace {

/// Text has no control characters but blanks, and the end of file of older systems.
bool is_plain_text(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char character) {
    const auto code = static_cast<unsigned char>(character);
    constexpr unsigned char kFirstBlank = '\t', kLastBlank = '\r', kEndOfFile = 0x1a, kFirstShown = ' ';
    return code >= kFirstShown || (code >= kFirstBlank && code <= kLastBlank) || code == kEndOfFile;
  });
}

/// One file after the other, read by a thread that may never come back; without one where none can be had.
class PatientReader {
 public:
  PatientReader(ReadSource read, std::chrono::milliseconds patience)
      : read_(std::move(read)), state_(std::make_shared<State>()), patience_(patience) {
    try {
      std::thread([state = state_, reading = read_] { serve(*state, reading); }).detach();
      served_ = true;
    } catch (const std::system_error&) {
      served_ = false;
    }
  }
  ~PatientReader() {
    const std::lock_guard lock(state_->mutex);
    state_->ended = true;
    state_->changed.notify_all();
  }
  PatientReader(const PatientReader&) = delete;
  PatientReader& operator=(const PatientReader&) = delete;

  /// The file's text; nothing where there was no answer in time: then there will be none to anything.
  std::optional<std::string> read(const std::string& path, files::Readership& readership) {
    if (!served_) return read_(path, readership);
    std::unique_lock lock(state_->mutex);
    state_->path = path;
    state_->asked = true;
    state_->changed.notify_all();
    if (!state_->changed.wait_for(lock, patience_, [&] { return !state_->asked; })) return std::nullopt;
    readership.restrict_to(state_->readership);
    return std::move(state_->text);
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool asked = false, ended = false;
    std::string path, text;
    files::Readership readership;
  };

  static void serve(State& state, const ReadSource& read) {
    std::unique_lock lock(state.mutex);
    for (;;) {
      state.changed.wait(lock, [&] { return state.asked || state.ended; });
      if (state.ended) return;
      const std::string path = state.path;
      lock.unlock();
      files::Readership readership;
      std::string text;
      try {
        text = read(path, readership);
      } catch (const std::exception&) {
        text.clear();  // memory is short: this one is left out
      }
      lock.lock();
      state.text = std::move(text);
      state.readership = readership;
      state.asked = false;
      state.changed.notify_all();
    }
  }

  ReadSource read_;
  bool served_ = false;
  std::shared_ptr<State> state_;
  std::chrono::milliseconds patience_;
};

}  // namespace

ReadSource read_source_for(SourceRights rights) {
  return [rights = std::move(rights)](const std::filesystem::path& path, files::Readership& readership) {
    std::error_code error;
    files::Readership own;
    const files::Descriptor file =
        files::open_for(rights.readers, path, rights.shared, kMaxSourceBytes, own, error);
    std::string text = error ? std::string() : files::read_whole(file.get(), error);
    if (error || text.size() > kMaxSourceBytes || !is_plain_text(text)) return std::string();
    readership.restrict_to(own);
    return text;
  };
}

CopiedSources copy_sources(std::span<const database::Context> contexts, std::span<const std::string> strings,
                           const ReadSource& read, std::chrono::milliseconds patience) {
  std::set<database::StringId> named;
  for (const database::Context& context : contexts) {
    // What is relative would be whatever lies here now.
    if (std::filesystem::path(strings[context.file]).is_absolute()) named.insert(context.file);
  }
  CopiedSources sources;
  if (named.empty()) return sources;
  PatientReader reader(read, patience);
  std::uint64_t total = 0;
  for (const database::StringId file : named) {
    files::Readership readership;
    std::optional<std::string> text = reader.read(strings[file], readership);
    if (!text) {
      sources.problem = strings[file] +
                        ": this source did not answer in time: it and those behind it are not "
                        "copied (check its file system, or leave out sources: --no-source)";
      break;
    }
    if (text->empty() || total + text->size() > kMaxSourcesBytes) continue;
    total += text->size();
    sources.readership.restrict_to(readership);
    sources.files.push_back({.path = file, .text = std::move(*text)});
  }
  return sources;
}

}  // namespace culprit::merge
