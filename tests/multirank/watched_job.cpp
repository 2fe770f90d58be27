#include "watched_job.hpp"

#include <dtdebug/repro.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

namespace dtdebug::testing {
namespace {

using nlohmann::json;

/// A folder of its own, removed with what is in it.
class temporary_folder {
public:
  temporary_folder() {
    char name[] = "/tmp/dtdebug-multirank-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path_ = name;
  }
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder &) = delete;
  temporary_folder &operator=(const temporary_folder &) = delete;
  const std::filesystem::path &path() const { return path_; }

private:
  std::filesystem::path path_;
};

reported_verdict read_verdict(const json &from) {
  reported_verdict v;
  v.kind = from.value("kind", "");
  v.group = from.value("group", "");
  v.op = from.value("op", "");
  v.other = from.value("other", "");
  v.site = from.value("site", "");
  v.other_site = from.value("other_site", "");
  v.confidence = from.value("confidence", "");
  v.ranks = from.value("ranks", std::vector<int>());
  v.with = from.value("with", std::vector<int>());
  v.chain = from.value("chain", std::vector<int>());
  v.fields = from.value("fields", std::vector<std::string>());
  v.seq = from.value("seq", -1);
  v.peer = from.value("peer", -1);
  v.step = from.value("step", -1);
  v.tie = from.value("tie", false);
  return v;
}

std::vector<reported_verdict> read_report(const std::filesystem::path &directory) {
  std::vector<reported_verdict> out;
  std::ifstream file(directory / "report.json");
  const json report = json::parse(file, nullptr, false);
  if (report.is_object()) {
    for (const json &verdict : report.value("verdicts", json::array())) {
      out.push_back(read_verdict(verdict));
    }
  }
  return out;
}

/// Nothing of the surroundings decides how dtdebug behaves here.
void set_environment(const std::filesystem::path &directory, const char *timeout) {
  for (const char *name : {"DTDEBUG_LEVEL", "DTDEBUG_KEEP", "DTDEBUG_ON_HANG", "DTDEBUG_LOG", "DTDEBUG_RING"}) {
    ::unsetenv(name);
  }
  ::setenv("DTDEBUG_DIR", directory.c_str(), 1);
  ::setenv("DTDEBUG_TIMEOUT", timeout, 1);
}

} // namespace

outcome watch_job(int count, const std::function<void(host_comm &)> &body, const job_options &options) {
  const temporary_folder folder;
  const std::filesystem::path directory = folder.path() / "run";
  set_environment(directory, options.timeout);
  outcome out;
  local_options how;
  how.on_line = [&out](int rank, bool, std::string_view line) {
    out.output += "[" + std::to_string(rank) + "] " + std::string(line) + "\n";
  };
  const auto ended = [](const rank_end &rank) { return rank.ended; };
  how.poll = [&](const std::vector<rank_end> &ends) {
    out.ends = ends;
    if (!options.until_report || std::all_of(ends.begin(), ends.end(), ended)) {
      return true;
    }
    out.verdicts = read_report(directory);
    return out.verdicts.empty();
  };
  const auto start = std::chrono::steady_clock::now();
  run_ranks(count, body, how);
  out.deadline_passed = std::chrono::steady_clock::now() - start >= how.deadline;
  if (out.verdicts.empty()) {
    out.verdicts = read_report(directory);
  }
  std::error_code absent;
  for (const auto &entry : std::filesystem::directory_iterator(directory, absent)) {
    out.left_over.push_back(entry.path().filename());
  }
  return out;
}

} // namespace dtdebug::testing
