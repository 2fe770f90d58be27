// The thread that watches: heartbeat, leader election, looks at all ranks of the host, diagnosis, report.
#pragma once

#include <dtdebug/diagnose/diagnose.hpp>
#include <dtdebug/watch/collect.hpp>
#include <dtdebug/watch/freeze.hpp>
#include <dtdebug/watch/leader.hpp>
#include <dtdebug/watch/neighbours.hpp>
#include <dtdebug/watch/publish.hpp>
#include <dtdebug/watch/settings.hpp>

#include <atomic>
#include <cstring>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace watch {

inline constexpr std::uint64_t tick_ns = 50'000'000;       ///< heartbeat, and how soon a request is seen
inline constexpr std::uint64_t look_ns = 200'000'000;      ///< the leader compares all ranks this often
inline constexpr std::uint64_t still_ns = 100'000'000;     ///< a job that has not moved for so long is looked at once
inline constexpr std::uint64_t confirm_ns = 100'000'000;   ///< what a look suspects must still hold after this time
inline constexpr std::uint64_t barrier_ns = 1'000'000'000; ///< ranks that have not frozen by then are evidence
inline constexpr std::uint64_t farewell_ns = 700'000'000;  ///< how long a SIGTERM waits for a report to begin
inline constexpr std::uint64_t leaving_ns = 2'000'000'000; ///< the same for a rank that crashes: no launcher waits yet
inline constexpr std::uint64_t report_ns = 4'000'000'000;  ///< and for it to be out once the stacks are taken

inline constexpr std::uint64_t pause_ns = 1'000'000'000; ///< a tick that is late by so much: the process was stopped

/// Reasons to look at once. Set from signal handlers: lock-free atomics.
struct wake_reasons {
  std::atomic<int> terminate{0}; ///< a SIGTERM waits for the report
  std::atomic<int> leaving{0};   ///< this rank crashes or exits and waits for the report
  std::atomic<int> request{0};   ///< SIGUSR2 or DT_DIAGNOSE
  std::atomic<int> stop{0};      ///< the session ends
};

/// One per process. Never calls MPI, NCCL or CUDA; holds no lock that the trainer takes.
class watchdog {
public:
  watchdog(const settings &how) : how_(how), job_(how.directory), leadership_(how.directory, how.rank) {}
  watchdog(const watchdog &) = delete;
  watchdog &operator=(const watchdog &) = delete;
  ~watchdog() = default;

  /// Starts the thread, with all signals blocked in it. False when the system has no thread to give.
  bool start() {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    running_ = ::pthread_create(
                   &thread_, nullptr,
                   [](void *self) -> void * {
                     static_cast<watchdog *>(self)->run();
                     return nullptr;
                   },
                   this) == 0;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return running_;
  }

  /// Ends the thread and hands leadership on. Waits at most for one look.
  void stop() {
    if (running_) {
      reasons.stop.store(1);
      wake();
      ::pthread_join(thread_, nullptr);
      running_ = false;
    }
    leadership_.resign();
  }

  /// Async-signal-safe.
  void wake() noexcept { neighbours_.wake(); }

  /// For a rank that is about to end by a fault or an exit in the middle of the job: waits until a report is out that
  /// may name it, since launchers kill the others soon after. At most farewell_ns. Async-signal-safe; does nothing in
  /// the watchdog's own thread.
  void farewell() noexcept {
    if (!running_ || ::pthread_equal(::pthread_self(), thread_) != 0) {
      return;
    }
    frozen_before_ = frozen_.load();
    reasons.leaving.store(1);
    wake();
    const std::uint64_t begin = os::monotonic_ns();
    while (reported_.load() == 0 && os::monotonic_ns() - begin < farewell_limit()) {
      const timespec pause{0, 5'000'000};
      ::nanosleep(&pause, nullptr);
    }
  }

  /// The last comparison, when every rank has ended. Returns true if there was a finding. Called after `stop`.
  bool look_at_the_end() {
    job_.discover();
    model::job_snapshot job = collect();
    job.settled = true;
    return judge(job, "the clean end", true);
  }

  wake_reasons reasons;

private:
  const settings &how_;
  job_collector job_;
  leadership leadership_;
  neighbours neighbours_;
  pthread_t thread_{};
  bool running_ = false;
  std::atomic<int> reported_{0}; ///< a report is out, by this rank or by the leader
  std::uint64_t last_look_ = 0;
  std::uint64_t mark_ = 0;                      ///< of the job's progress; see job_collector::progress_mark
  std::uint64_t still_since_ = 0;               ///< when the mark last changed
  std::atomic<std::uint64_t> frozen_before_{0}; ///< `frozen_` when a rank began to wait for its last report
  std::atomic<std::uint64_t> frozen_{0}; ///< number of the last diagnosis for which this rank captured its stacks
  std::set<std::string> candidates_;     ///< verdicts of the last look: a second look must confirm them
  std::set<std::string> published_;
  std::string seen_report_; ///< non-leaders: the report that was announced last

  void run() {
    ::pthread_setname_np(::pthread_self(), "dtdebug-watch");
    // Ranks that spin on every core must not keep their watcher from running. Only for those who may; its helpers
    // inherit it.
    ::setpriority(PRIO_PROCESS, 0, -10);
    std::uint64_t told_to_end = 0;
    while (reasons.stop.load() == 0) {
      try {
        beat();
        const bool leader = leadership_.hold();
        const std::uint64_t now = os::monotonic_ns();
        if (reasons.terminate.load() != 0 && told_to_end == 0) {
          told_to_end = now;
          frozen_before_ = frozen_.load();
        }
        const bool asked = take_request(leader);
        neighbours_.discover(how_.directory, how_.world_size, how_.rank);
        if (leader && (asked || told_to_end != 0 || time_to_look(now))) {
          last_look_ = now;
          look(asked);
        }
        follow_freeze();
        follow();
        if (told_to_end != 0 && (now - told_to_end >= farewell_limit() || !published_.empty())) {
          die_of_sigterm();
        }
      } catch (const std::exception &error) {
        switch_off(error.what());
        return;
      }
      wait_a_tick(told_to_end != 0 || !candidates_.empty() ? tick_ns / 2 : tick_ns);
    }
  }

  /// A wish for a diagnosis, of this rank or passed on by another: only the leader can fulfil it.
  bool take_request(bool leader) {
    const std::string wish = how_.directory + "/request";
    const bool own = reasons.request.exchange(0) != 0;
    if (!leader) {
      if (own) {
        replace_file(wish, "");
      }
      return false;
    }
    return ::unlink(wish.c_str()) == 0 || own;
  }

  /// At regular intervals; and as soon as nothing moves any more, which is when a contradiction can hold.
  bool time_to_look(std::uint64_t now) {
    const std::uint64_t mark = job_.progress_mark();
    if (mark != mark_) {
      mark_ = mark;
      still_since_ = now;
    }
    const std::uint64_t since = now - last_look_;
    return since >= look_ns || (!candidates_.empty() && since >= confirm_ns) ||
           (now - still_since_ >= still_ns && last_look_ < still_since_ + still_ns);
  }

  /// A report that is being made is waited for a little longer.
  std::uint64_t farewell_limit() const noexcept {
    const std::uint64_t until_begun = reasons.leaving.load() != 0 ? leaving_ns : farewell_ns;
    return frozen_.load() != frozen_before_.load() ? report_ns : until_begun;
  }

  /// A leader asks for stacks: the number of its diagnosis stands in the file `freeze`.
  void follow_freeze() {
    const std::uint64_t epoch = read_number(how_.directory + "/freeze");
    if (epoch > frozen_) {
      frozen_ = epoch;
      freeze(epoch);
    }
  }

  /// What a small file of the run directory says; "" when it is not there.
  static std::string read_file(const std::string &path) {
    std::string text;
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0) {
      char buffer[4096];
      for (ssize_t size; (size = ::read(fd, buffer, sizeof buffer)) > 0 && text.size() < (1U << 20U);) {
        text.append(buffer, static_cast<std::size_t>(size));
      }
      ::close(fd);
    }
    return text;
  }

  static std::uint64_t read_number(const std::string &path) {
    return std::strtoull(read_file(path).c_str(), nullptr, 10);
  }

  /// Alarm, freeze, barrier: all ranks of the host capture their stacks; the wait for them has a deadline.
  void freeze_all(model::diagnosis_timing &timing) {
    const std::uint64_t begin = os::monotonic_ns();
    const std::uint64_t epoch = std::max(frozen_.load(), read_number(how_.directory + "/freeze")) + 1;
    replace_file(how_.directory + "/freeze", std::to_string(epoch));
    frozen_ = epoch;
    freeze(epoch);
    timing.freeze = ms_since(begin);
    while (os::monotonic_ns() - begin < barrier_ns && !job_.all_frozen(epoch)) {
      wait_a_tick(tick_ns / 5);
    }
    timing.barrier = ms_since(begin) - timing.freeze;
  }

  static double ms_since(std::uint64_t begin) { return static_cast<double>(os::monotonic_ns() - begin) / 1e6; }

  void wait_a_tick(std::uint64_t ns) {
    const std::uint64_t begin = os::monotonic_ns();
    if (neighbours_.wait(ns)) {
      last_look_ = 0; // a death is looked at now
    }
    const std::uint64_t waited = os::monotonic_ns() - begin;
    if (waited > ns + pause_ns) {
      blackbox::note_desc note;
      note.kind = static_cast<std::uint32_t>(model::note_kind::paused);
      note.value = waited - ns;
      blackbox::append_note(record::box(), note);
    }
  }

  void beat() {
    blackbox::live_state &live = *record::box().live;
    __atomic_store_n(&live.heartbeat_ticks, record::now_ticks(), __ATOMIC_RELAXED);
    __atomic_store_n(&live.heartbeat_mono_ns, os::monotonic_ns(), __ATOMIC_RELEASE);
  }

  model::job_snapshot collect() {
    model::job_snapshot job = job_.collect(true);
    job.timeout = static_cast<model::time_ns>(how_.timeout_ns);
    job.environment = how_.environment;
    neighbours_.note_stopped(job);
    return job;
  }

  void look(bool asked) {
    job_.discover();
    if (job_.size() < static_cast<std::size_t>(how_.world_size) && !asked &&
        os::monotonic_ns() - record::box().who->start_mono_ns < how_.timeout_ns) {
      return; // ranks are still starting; one that never comes is missed after the timeout
    }
    model::job_snapshot job = collect();
    const bool dying = reasons.terminate.load() != 0; // there will be no second look
    judge(job, asked ? "request" : dying ? "SIGTERM" : "watching", asked || dying);
  }

  /// Most frames of a report are in the module that holds this code, or in the same program.
  static void warm_up_resolver() {
    const blackbox::box &own = record::box();
    const auto here = reinterpret_cast<std::uintptr_t>(&watchdog::note_termination);
    for (std::uint64_t i = 0; i < own.live->module_count; ++i) {
      const blackbox::module_slot &slot = own.modules[i];
      if (here >= slot.begin && here < slot.end) {
        stacks::the_resolver().warm_up(here, {{slot.base, slot.begin, slot.end, own.strings + slot.path}});
      }
    }
  }

  static std::string key_of(const model::verdict &verdict) {
    std::string key = verdict.kind + "|" + verdict.group + "|" + (verdict.seq ? std::to_string(*verdict.seq) : "");
    for (const std::int32_t rank : verdict.ranks) {
      key += "," + std::to_string(rank);
    }
    return key;
  }

  /// Publishes what two looks in a row agree on. `at_once`: there will be no second look.
  bool judge(model::job_snapshot &job, const char *trigger, bool at_once) {
    const std::uint64_t begin = os::monotonic_ns();
    diagnose::options options;
    options.settled = job.settled;
    if (at_once) {
      options.min_wait_ns = 0; // what has just begun to differ will not be seen again
    }
    options.verify = how_.how_much == level::verify || job.settled;
    model::diagnosis found = diagnose::diagnose(job, options);
    std::set<std::string> keys;
    bool confirmed = at_once;
    bool fresh = false;
    for (const model::verdict &verdict : found.verdicts) {
      const std::string key = key_of(verdict);
      keys.insert(key);
      confirmed = confirmed || candidates_.count(key) != 0;
      fresh = fresh || published_.count(key) == 0;
    }
    if (candidates_.empty() && !keys.empty() && !at_once) {
      warm_up_resolver(); // it reads while the second look is waited for
    }
    candidates_ = keys;
    if (found.verdicts.empty() && trigger == std::string("request")) {
      say(report::text_report(job, found)); // who asks gets an answer, also when it is that nothing was found
    }
    if (found.verdicts.empty() || !fresh || !confirmed) {
      return !found.verdicts.empty();
    }
    published_.insert(keys.begin(), keys.end());
    if (!job.settled) { // ranks still live: take their stacks, then judge what is seen together with them
      model::diagnosis_timing timing;
      freeze_all(timing);
      const std::uint64_t collecting = os::monotonic_ns();
      job = collect();
      timing.collect = ms_since(collecting);
      const std::uint64_t judging = os::monotonic_ns();
      model::diagnosis again = diagnose::diagnose(job, options);
      timing.diagnose = ms_since(judging);
      if (!again.verdicts.empty()) {
        found = std::move(again);
        for (const model::verdict &verdict : found.verdicts) {
          published_.insert(key_of(verdict));
        }
      }
      found.timing = timing;
    }
    found.trigger = trigger;
    found.timing.total = ms_since(begin);
    publish(how_.directory, job, found);
    announce(found);
    return true;
  }

  /// Tells the other ranks of the host: one line each, the exit status if the job is to end, and what was published,
  /// so that the next leader does not publish it again.
  void announce(const model::diagnosis &found) {
    std::string text = std::to_string(report::exit_status(found)) + "\n" + found.verdicts.front().kind + ": " +
                       found.verdicts.front().headline + "\n";
    for (const std::string &key : published_) {
      text += key + "\n";
    }
    replace_file(how_.directory + "/verdict", text);
    seen_report_ = text;
    reported_.store(1);
    act(report::exit_status(found));
  }

  void follow() {
    const std::string text = read_file(how_.directory + "/verdict");
    if (text.empty() || text == seen_report_) {
      return;
    }
    seen_report_ = text;
    reported_.store(1);
    std::istringstream lines(text);
    std::string status;
    std::string headline;
    std::getline(lines, status);
    std::getline(lines, headline);
    for (std::string key; std::getline(lines, key);) {
      published_.insert(key);
    }
    say("dtdebug: rank " + std::to_string(how_.rank) + ": " + headline + "\n");
    act(std::atoi(status.c_str()));
  }

  void act(int status) {
    if (how_.action == on_hang::abort) {
      // The other ranks read the verdict within a tick; all evidence is in files that outlive the processes.
      wait_a_tick(4 * tick_ns);
      note_termination();
      ::_exit(status);
    }
    if (how_.action == on_hang::hold) {
      say("dtdebug: rank " + std::to_string(how_.rank) + " is held: gdb -p " + std::to_string(::getpid()) + "\n");
    }
  }

  static void note_termination() {
    blackbox::live_state &live = *record::box().live;
    live.end_ticks = record::now_ticks();
    __atomic_store_n(&live.end, static_cast<std::uint32_t>(blackbox::end_state::terminated), __ATOMIC_RELEASE);
  }

  void die_of_sigterm() {
    ::signal(SIGTERM, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGTERM);
    ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
    ::kill(::getpid(), SIGTERM);
  }

  void switch_off(const char *why) {
    record::box().live->disabled = 1;
    say("dtdebug: rank " + std::to_string(how_.rank) + ": the watchdog failed and is off (" + why +
        "); calls are still recorded in " + how_.directory + "\n");
  }
};

} // namespace watch
} // namespace DTDEBUG_ABI
} // namespace dtdebug
