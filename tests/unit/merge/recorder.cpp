#include "recorder.hpp"

#include <cstdlib>
#include <stdexcept>

namespace recorder {

Directory::Directory() {
  std::string name = (std::filesystem::temp_directory_path() / "culprit-merge-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
  path_ = name;
}

Directory::~Directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Process::Process(const std::filesystem::path& file, const Who& who)
    : file_(std::make_unique<measurement::LiveFile>()) {
  static const measurement::ProcessDescription::Event events[] = {{"REALTIME", "ns", kPeriod}};
  static const char* const arguments[] = {"app", "-x", nullptr};
  measurement::ProcessDescription description;
  description.program = who.program.c_str();
  description.arguments = arguments;
  description.directory = "/scratch";
  description.host = who.host.c_str();
  description.pid = who.pid;
  description.start_ns = 1'000'000'000;
  description.start_realtime_ns = 1'700'000'000'000'000'000;
  description.events = events;
  description.event_count = 1;
  description.traced = who.traced;
  if (const int error = file_->create(file.c_str(), description); error != 0) {
    throw std::runtime_error("cannot create " + file.string());
  }
  if (who.rank >= 0) {
    file_->set_rank(who.rank, static_cast<std::uint32_t>(who.world), who.run.c_str(), "Some MPI 1.0");
  }
}

Process::~Process() {
  if (!sealed_) file_->forget();
}

std::uint32_t Process::module(const std::string& path, unsigned flags) {
  next_load_address_ += 0x10000;
  return file_->module(next_load_address_, path.c_str(), nullptr, 0, flags);
}

measurement::ThreadTree& Process::thread(cct::FrameKey start_routine) {
  measurement::ThreadTree* tree =
      file_->add_thread(1000 + threads_, threads_ == 0, start_routine, 1'000'000'000 + threads_);
  if (tree == nullptr) throw std::runtime_error("no further thread");
  ++threads_;
  return *tree;
}

void Process::seal() {
  if (file_->seal(measurement::EndReason::exit, 2'000'000'000) != 0) throw std::runtime_error("cannot seal");
  sealed_ = true;
}

void sample(measurement::ThreadTree& tree, const std::vector<At>& path, measurement::SampleValues values,
            Below below) {
  measurement::NodeIndex node = tree.program_root();
  if (below == Below::thread_root) node = tree.thread_root();
  if (below == Below::partial) {
    node = tree.partial();
    tree.counters().count_partial(values.time_ns);
  }
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool leaf = i + 1 == path.size();
    node = tree.child(node, {.offset = path[i].offset,
                             .module = path[i].module,
                             .kind = leaf ? cct::FrameKind::sample : cct::FrameKind::call});
  }
  tree.record(node, values);
}

measurement::SampleValues work(std::uint64_t periods) {
  return {.time_ns = periods * kPeriod, .weight = periods, .cpu_ns = periods * kPeriod};
}

measurement::SampleValues marked(std::uint64_t periods, measurement::WaitKind kind) {
  return {.time_ns = periods * kPeriod, .weight = periods, .blocked = false, .mark = kind};
}

}  // namespace recorder
