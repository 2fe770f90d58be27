// Black boxes of a run directory → snapshots for the diagnosis. Works on live jobs and on the files of dead ones.
#pragma once

#include <dtdebug/blackbox/reader.hpp>
#include <dtdebug/core/hash.hpp>
#include <dtdebug/model/snapshot.hpp>
#include <dtdebug/os/clock.hpp>
#include <dtdebug/watch/liveness.hpp>
#include <dtdebug/watch/pc_lines.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <dirent.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace watch {

/// Text of a fixed array that may lack its terminator.
template <std::size_t Size>
std::string text_of(const char (&chars)[Size]) {
  return std::string(chars, ::strnlen(chars, Size));
}

/// Converts ticks of one rank to the clock of the job.
class tick_clock {
public:
  /// `here`: the box is of this host and boot, so that its counter can be read now where there was no heartbeat yet.
  tick_clock(const blackbox::identity &who, const blackbox::live_state &live, std::uint64_t job_start_mono, bool here)
      : ticks_(who.start_ticks), mono_(static_cast<double>(who.start_mono_ns)),
        job_(static_cast<double>(job_start_mono)) {
    std::uint64_t ticks = live.heartbeat_ticks;
    std::uint64_t mono = live.heartbeat_mono_ns;
    if (ticks <= ticks_ && here) {
      ticks = os::ticks(os::has_steady_counter());
      mono = os::monotonic_ns();
    }
    if (ticks > ticks_ && mono > who.start_mono_ns) {
      rate_ = (static_cast<double>(mono) - mono_) / static_cast<double>(ticks - ticks_);
    }
  }
  model::time_ns operator()(std::uint64_t ticks) const {
    if (ticks == 0) {
      return model::never;
    }
    const double since = static_cast<double>(static_cast<std::int64_t>(ticks - ticks_)) * rate_;
    return static_cast<model::time_ns>(std::max(0.0, mono_ - job_ + since));
  }

private:
  std::uint64_t ticks_;
  double mono_;
  double job_;
  double rate_ = 1.0; // of a rank that died before its first heartbeat: right where ticks are nanoseconds
};

/// Reads one rank's file into a snapshot.
class rank_collector {
public:
  rank_collector(const blackbox::reader &from, bool probe_process) : from_(from), probe_(probe_process) {}

  bool identity(blackbox::identity &out) const { return from_.copy(blackbox::section_kind::identity, 0, out); }

  model::rank_snapshot collect(std::uint64_t job_start_mono) {
    model::rank_snapshot rank;
    blackbox::identity who;
    blackbox::live_state live;
    if (!identity(who) || !from_.copy(blackbox::section_kind::live, 0, live)) {
      rank.missing_evidence.push_back("the file is cut off before its identity");
      return rank;
    }
    const tick_clock clock(who, live, job_start_mono, probe_);
    rank.rank = static_cast<std::int32_t>(who.rank);
    rank.world_size = static_cast<std::int32_t>(who.world_size);
    rank.host = text_of(who.host);
    rank.pid = who.pid;
    rank.program = text_of(who.program);
    rank.step = static_cast<std::int64_t>(live.step) - 1;
    rank.heartbeat = clock(live.heartbeat_ticks);
    rank.phase_since = clock(live.phase_ticks);
    rank.ended = clock(live.end_ticks);
    set_liveness(rank, who, live, probe_);
    read_names(rank, live);
    rank.phase = phase_index(rank, live.phase);
    read_groups(rank);
    read_calls(rank, clock);
    read_stacks(rank, live);
    read_notes(rank, live, clock);
    count_losses(rank, live);
    return rank;
  }

private:
  static constexpr std::uint64_t unreadable = UINT64_MAX; ///< no group can be read from the slot

  const blackbox::reader &from_;
  bool probe_;
  std::vector<std::string> labels_;
  std::vector<loaded_module> modules_;
  std::unordered_map<std::uint32_t, std::uint32_t> site_index_;
  std::unordered_map<std::uint32_t, std::uint32_t> phase_index_;
  std::vector<std::uint32_t> group_index_; ///< slot → index in the snapshot
  std::vector<std::uint64_t> group_since_; ///< slot → ticks from which on it holds this group

  std::string pooled(std::uint32_t offset) const {
    char buffer[1024];
    from_.string(offset, buffer, sizeof buffer);
    return buffer;
  }

  void read_names(model::rank_snapshot &rank, const blackbox::live_state &live) {
    rank.sites.emplace_back();
    rank.phases.emplace_back();
    const std::uint64_t sites = from_.count(blackbox::section_kind::sites);
    for (std::uint64_t i = 0; i < sites; ++i) {
      blackbox::site_slot slot;
      if (from_.copy(blackbox::section_kind::sites, i, slot) && slot.key > 1) {
        model::site site;
        site.file = pooled(slot.file);
        site.line = slot.line;
        site.function = pooled(slot.function);
        site.text = pooled(slot.text);
        site.pc = slot.pc;
        site_index_[static_cast<std::uint32_t>(i) + 1] = static_cast<std::uint32_t>(rank.sites.size());
        rank.sites.push_back(std::move(site));
      }
    }
    modules_ = read_modules(live);
    resolve_sites(rank.sites, modules_);
    labels_.resize(from_.count(blackbox::section_kind::labels) + 1);
    for (std::uint64_t i = 0; i + 1 < labels_.size(); ++i) {
      blackbox::label_slot slot;
      if (from_.copy(blackbox::section_kind::labels, i, slot) && slot.key > 1) {
        labels_[i + 1] = text_of(slot.text);
      }
    }
  }

  std::vector<loaded_module> read_modules(const blackbox::live_state &live) const {
    std::vector<loaded_module> modules;
    const std::uint64_t count = std::min(live.module_count, from_.count(blackbox::section_kind::modules));
    for (std::uint64_t i = 0; i < count; ++i) {
      blackbox::module_slot slot;
      if (from_.copy(blackbox::section_kind::modules, i, slot)) {
        modules.push_back({slot.base, slot.begin, slot.end, pooled(slot.path)});
      }
    }
    return modules;
  }

  std::string label(std::uint32_t id) const { return id < labels_.size() ? labels_[id] : std::string(); }

  std::uint32_t phase_index(model::rank_snapshot &rank, std::uint32_t label_id) {
    if (label_id == 0) {
      return 0;
    }
    const auto [at, fresh] = phase_index_.emplace(label_id, static_cast<std::uint32_t>(rank.phases.size()));
    if (fresh) {
      rank.phases.push_back(label(label_id));
    }
    return at->second;
  }

  void read_groups(model::rank_snapshot &rank) {
    // A group has ranks of this job, and of few others that it has spawned or met. More is damage.
    const auto most_members = static_cast<std::uint64_t>(std::clamp(rank.world_size, 4096, 1 << 20));
    const std::uint64_t slots = std::min<std::uint64_t>(from_.count(blackbox::section_kind::groups), 65536);
    group_index_.assign(std::max<std::uint64_t>(slots, 1), 0);
    group_since_.assign(group_index_.size(), unreadable);
    for (std::uint64_t i = 1; i < slots; ++i) {
      blackbox::group_slot slot;
      if (!from_.group_at(i, slot)) {
        continue;
      }
      model::group group;
      group.id = slot.id;
      group.name = text_of(slot.name);
      group.my_index = slot.my_index;
      group.state = static_cast<model::group_state>(std::min<std::uint32_t>(slot.state, 3));
      group.ordinal = slot.ordinal;
      group.next_seq = slot.next_seq;
      group.rolling = slot.rolling;
      group.mesh = text_of(slot.mesh);
      group.axis = text_of(slot.axis);
      for (std::uint32_t run = 0; run < slot.run_count; ++run) {
        blackbox::member_run members;
        if (!from_.copy(blackbox::section_kind::members, std::uint64_t{slot.first_run} + run, members) ||
            group.members.size() + std::uint64_t{members.count} > most_members) {
          group.members.clear();
          break;
        }
        for (std::uint32_t k = 0; k < members.count; ++k) {
          group.members.push_back(
              static_cast<std::int32_t>(members.first + static_cast<std::int64_t>(members.stride) * k));
        }
      }
      for (const blackbox::hash_block &block : slot.blocks) {
        if (block.block != 0 && block.filled == blackbox::block_positions) {
          group.block_hash[block.block - 1] = block.sum;
        }
      }
      if (!from_.still_is(i, slot)) {
        continue; // freed and used again at this moment: the runs may be the next group's
      }
      group_index_[i] = static_cast<std::uint32_t>(rank.groups.size());
      group_since_[i] = slot.created_ticks;
      rank.groups.push_back(std::move(group));
    }
    group_since_[0] = rank.groups.empty() ? unreadable : 0; // calls of no group are shown with the world
  }

  std::int32_t world_rank(const model::rank_snapshot &rank, std::uint32_t group, std::int32_t position) const {
    if (position < 0 || group >= rank.groups.size()) {
      return position;
    }
    const std::vector<std::int32_t> &members = rank.groups[group].members;
    return static_cast<std::size_t>(position) < members.size() ? members[static_cast<std::size_t>(position)] : position;
  }

  void read_calls(model::rank_snapshot &rank, const tick_clock &clock) {
    const std::uint64_t rings = from_.count(blackbox::section_kind::rings);
    std::vector<std::int64_t> sent(4096);
    std::vector<std::int64_t> received(4096);
    for (std::uint64_t r = 0; r < rings; ++r) {
      blackbox::ring_header ring;
      if (!from_.ring(r, ring)) {
        continue;
      }
      const auto thread = static_cast<std::uint32_t>(rank.threads.size());
      model::thread_state state;
      state.tid = ring.tid;
      state.name = text_of(ring.thread_name);
      state.recording = true;
      rank.threads.push_back(std::move(state));
      const std::uint64_t first = ring.head > ring.capacity ? ring.head - ring.capacity : 0;
      rank.calls_lost += first;
      for (std::uint64_t n = first; n < ring.head; ++n) {
        blackbox::record record;
        if (!from_.record_at(r, ring, n, record)) {
          ++rank.calls_lost;
          continue;
        }
        if (of_other_group(record.group, record.entered)) {
          rank.calls_lost += since(record.group) == unreadable ? 1U : 0U;
          continue;
        }
        rank.calls.push_back(call_of(rank, record, thread, clock));
        std::uint32_t sent_count = 0;
        std::uint32_t received_count = 0;
        if (from_.splits_of(r, ring, record, sent.data(), sent_count, received.data(), received_count,
                            static_cast<std::uint32_t>(sent.size()))) {
          rank.calls.back().splits.assign(sent.begin(), sent.begin() + sent_count);
          rank.calls.back().recv_splits.assign(received.begin(), received.begin() + received_count);
        }
      }
    }
    // Within one thread the order of the ring; between threads the time of entry.
    std::stable_sort(rank.calls.begin(), rank.calls.end(),
                     [](const model::call &a, const model::call &b) { return a.entered < b.entered; });
    for (std::size_t i = 0; i < rank.calls.size(); ++i) {
      rank.calls[i].order = i;
    }
  }

  /// True for what belongs to a freed group whose slot another group has now. Nobody waits for a freed group.
  bool of_other_group(std::uint32_t slot, std::uint64_t ticks) const { return ticks < since(slot); }
  std::uint64_t since(std::uint32_t slot) const { return slot < group_since_.size() ? group_since_[slot] : unreadable; }

  model::call call_of(model::rank_snapshot &rank, const blackbox::record &record, std::uint32_t thread,
                      const tick_clock &clock) {
    model::call call;
    call.op = static_cast<op_kind>(record.op < op_kind_count ? record.op : 0);
    call.type = static_cast<dtype>(record.type < dtype_count ? record.type : 0);
    call.reduce = static_cast<redop>(record.reduce < redop_count ? record.reduce : 0);
    call.state = static_cast<call_state>(record.state <= 8 ? record.state : 0);
    call.flags = record.flags;
    call.group = record.group < group_index_.size() ? group_index_[record.group] : 0;
    call.seq = record.seq;
    call.count = record.count;
    call.element_size = record.element_size;
    call.root = world_rank(rank, call.group, record.root);
    call.tag = record.tag;
    call.has_dims = (record.shape & 0x80U) != 0;
    const unsigned dims = std::min<unsigned>(record.shape & 0x7fU, max_dims);
    call.dims.assign(record.dims, record.dims + dims);
    call.label = label(record.label);
    call.hard = record.hard;
    call.soft = record.soft;
    const auto site = site_index_.find(record.site);
    call.site = site != site_index_.end() ? site->second : 0;
    call.thread = thread;
    call.stream = record.stream;
    call.entered = clock(record.entered);
    call.left = clock(record.left);
    call.step = static_cast<std::int64_t>(record.step) - 1;
    call.phase = phase_index(rank, record.phase);
    call.batch = record.batch;
    return call;
  }

  /// Stacks of the last freeze, joined with the threads that record.
  void read_stacks(model::rank_snapshot &rank, const blackbox::live_state &live) {
    const std::uint64_t count = std::min(live.stack_count, from_.count(blackbox::section_kind::stacks));
    for (std::uint64_t i = 0; i < count; ++i) {
      blackbox::stack_slot slot;
      if (!from_.copy(blackbox::section_kind::stacks, i, slot) || slot.tid == 0) {
        continue;
      }
      auto thread = std::find_if(rank.threads.begin(), rank.threads.end(),
                                 [&slot](const model::thread_state &known) { return known.tid == slot.tid; });
      if (thread == rank.threads.end()) {
        thread = rank.threads.insert(rank.threads.end(), model::thread_state{});
        thread->tid = slot.tid;
      }
      thread->name = text_of(slot.name);
      thread->answered = slot.answered != 0;
      thread->kernel_state = std::string(1, slot.state != '\0' ? slot.state : '?');
      const std::string wait = text_of(slot.wait);
      thread->kernel_state += wait.empty() ? "" : " in " + wait;
      const std::uint32_t frames = std::min(slot.frame_count, blackbox::max_frames);
      for (std::uint32_t k = 0; k < frames && thread->answered; ++k) {
        model::frame frame;
        frame.address = slot.frames[k];
        thread->stack.push_back(frame);
      }
    }
    resolve_stacks(rank.threads, modules_);
  }

  void read_notes(model::rank_snapshot &rank, const blackbox::live_state &live, const tick_clock &clock) {
    const std::uint64_t capacity = from_.count(blackbox::section_kind::notes);
    if (capacity == 0) {
      return;
    }
    const std::uint64_t first = live.note_head > capacity ? live.note_head - capacity : 0;
    for (std::uint64_t n = first; n < live.note_head; ++n) {
      blackbox::note_slot slot;
      if (!from_.note_at(n, slot) || of_other_group(slot.group, slot.ticks)) {
        continue;
      }
      model::note note;
      note.kind = static_cast<model::note_kind>(
          slot.kind <= static_cast<std::uint32_t>(model::note_kind::neighbour_stopped) ? slot.kind : 0);
      note.name = text_of(slot.name);
      note.text = text_of(slot.text);
      note.value = slot.value;
      note.value2 = slot.value2;
      note.group = slot.group < group_index_.size() ? group_index_[slot.group] : 0;
      note.ordinal = slot.ordinal;
      note.order = slot.order;
      note.step = static_cast<std::int64_t>(slot.step) - 1;
      note.at = clock(slot.ticks);
      rank.notes.push_back(std::move(note));
    }
    if (first > 0) {
      rank.missing_evidence.push_back(std::to_string(first) + " older notes were overwritten");
    }
  }

  static void count_losses(model::rank_snapshot &rank, const blackbox::live_state &live) {
    const auto say = [&rank](std::uint64_t number, const char *what) {
      if (number > 0) {
        rank.missing_evidence.push_back(std::to_string(number) + what);
      }
    };
    rank.groups_lost = live.groups_unrecorded;
    say(live.calls_unrecorded, " calls were made by threads for which there was no ring");
    say(live.groups_unrecorded, " groups found no room in the table");
    say(live.messages_untracked, " messages could not be counted");
    say(live.members_unrecorded, " groups have no member list: its table is full");
    say(live.labels_unrecorded, " labels found no room in the table");
    say(live.sites_unrecorded, " calls have no source line: the table of lines is full");
    say(live.strings_cut, " texts (file names, calls as written) found no room");
    if (live.disabled != 0) {
      rank.missing_evidence.push_back("dtdebug switched itself off on this rank (error " +
                                      std::to_string(live.disabled) + ")");
    }
  }
};

/// All black boxes of a run directory, kept open between looks.
class job_collector {
public:
  explicit job_collector(std::string directory) : directory_(std::move(directory)) {}

  /// Looks for files that have come since. Returns how many are open. Cold.
  std::size_t discover() {
    DIR *open = ::opendir(directory_.c_str());
    if (open == nullptr) {
      return files_.size();
    }
    while (const dirent *entry = ::readdir(open)) {
      unsigned rank = 0;
      int used = 0;
      if (std::sscanf(entry->d_name, "rank-%u.dtbb%n", &rank, &used) == 1 && entry->d_name[used] == '\0' &&
          rank < largest_world && files_.find(rank) == files_.end()) {
        auto file = std::make_unique<blackbox::reader>();
        const blackbox::read_error error = file->open((directory_ + "/" + entry->d_name).c_str());
        if (error == blackbox::read_error::none) {
          files_.emplace(rank, std::move(file));
          errors_.erase(rank);
        } else {
          errors_[rank] = std::string(entry->d_name) + " " + blackbox::describe(error);
        }
      }
    }
    ::closedir(open);
    return files_.size();
  }

  /// What all ranks look like now. `probe` asks /proc whether their processes live; off for files from elsewhere.
  model::job_snapshot collect(bool probe) {
    model::job_snapshot job;
    std::uint64_t start = UINT64_MAX;
    std::uint32_t world = 0;
    std::unordered_map<std::uint32_t, std::uint32_t> believed;
    for (const auto &[rank, file] : files_) {
      blackbox::identity who;
      if (file->copy(blackbox::section_kind::identity, 0, who)) {
        start = std::min(start, who.start_mono_ns);
        ++believed[who.world_size];
        world = std::max(world, rank + 1);
        job.job = text_of(who.job);
      }
    }
    // The world is as large as most ranks believe it to be; a rank of which there is a file is always in it.
    std::uint32_t votes = 0;
    for (const auto &[size, count] : believed) {
      if ((count > votes || (count == votes && size > world)) && size <= largest_world) {
        votes = count;
        world = std::max(world, size);
      }
    }
    job.ranks.resize(world);
    model::time_ns last = 0;
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      model::rank_snapshot &out = job.ranks[rank];
      const auto file = files_.find(rank);
      if (file != files_.end()) {
        rank_collector collector(*file->second, probe);
        out = collector.collect(start);
        last = std::max(last, out.heartbeat);
        for (const model::call &call : out.calls) {
          last = std::max({last, call.entered, call.left});
        }
      } else {
        out.life = model::liveness::never_started;
        const auto error = errors_.find(rank);
        out.missing_evidence.push_back(error != errors_.end() ? error->second : "there is no black box of this rank");
      }
      out.rank = static_cast<std::int32_t>(rank);
    }
    if (!job.ranks.empty() && !stacks::the_resolver().problem().empty()) {
      job.ranks.front().missing_evidence.push_back(stacks::the_resolver().problem());
    }
    job.now = probe && start != UINT64_MAX ? static_cast<model::time_ns>(os::monotonic_ns() - start) : last;
    return job;
  }

  /// True when every rank whose process runs has captured its stacks for diagnosis `epoch`.
  bool all_frozen(std::uint64_t epoch) const {
    return std::all_of(files_.begin(), files_.end(), [epoch](const auto &entry) {
      blackbox::live_state live;
      blackbox::identity who;
      if (!entry.second->copy(blackbox::section_kind::live, 0, live) || live.frozen_epoch >= epoch || live.end != 0 ||
          !entry.second->copy(blackbox::section_kind::identity, 0, who)) {
        return true;
      }
      const process_stat now = read_process_stat(who.pid);
      return !now.found || now.state == 'Z' || now.state == 'T' || now.state == 't';
    });
  }

  /// Changes whenever a rank makes a call, writes a note or ends. A few loads per rank.
  std::uint64_t progress_mark() const {
    std::uint64_t mark = 0;
    for (const auto &[rank, file] : files_) {
      blackbox::live_state live;
      if (file->copy(blackbox::section_kind::live, 0, live)) {
        mark += mix(rank, 1) * (live.note_head + live.end + live.step + 1);
      }
      const std::uint64_t rings = file->count(blackbox::section_kind::rings);
      blackbox::ring_header ring;
      for (std::uint64_t r = 0; r < rings && file->ring(r, ring); ++r) {
        mark += mix(rank, r + 2) * ring.head;
      }
    }
    return mark;
  }

  std::size_t size() const { return files_.size(); }
  const std::string &directory() const { return directory_; }
  bool has_errors() const { return !errors_.empty(); }

private:
  static constexpr std::uint32_t largest_world = 1U << 20; ///< more ranks than this come from damaged files

  std::string directory_;
  std::unordered_map<std::uint32_t, std::unique_ptr<blackbox::reader>> files_;
  std::unordered_map<std::uint32_t, std::string> errors_;
};

} // namespace watch
} // namespace DTDEBUG_ABI
} // namespace dtdebug
