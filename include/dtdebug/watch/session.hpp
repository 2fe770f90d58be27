// Start and end of the session of a process.
#pragma once

#if !defined(__cpp_exceptions)
#error "the source that starts dtdebug needs -fexceptions: the others can do without, with <dtdebug/record.hpp>"
#endif

#include <dtdebug/record/diagnose_request.hpp>
#include <dtdebug/watch/last_words.hpp>
#include <dtdebug/watch/watchdog.hpp>

#include <climits>
#include <mutex>

#include <dirent.h>
#include <link.h>
#include <sys/stat.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace watch {
namespace detail {

/// Leaky: the watchdog and exit handlers may run after static destructors.
struct cold_session {
  settings how;
  std::string file;
  std::unique_ptr<watchdog> dog;
  std::atomic<int> phase{0}; ///< 0 not started, 1 running, 2 ended, 3 off
};

inline cold_session &cold() {
  static auto *session = new cold_session;
  return *session;
}

inline void complain(const std::string &what) {
  say("dtdebug: rank " + std::to_string(cold().how.rank) + ": " + what + "\n");
}

inline void note_identity(const settings &how) {
  blackbox::identity &who = *record::box().who;
  const auto copy = [](char *to, std::size_t size, const std::string &from) {
    from.copy(to, size - 1); // the box is zeroed
  };
  who.rank = static_cast<std::uint32_t>(how.rank);
  who.world_size = static_cast<std::uint32_t>(how.world_size);
  who.local_rank = static_cast<std::uint32_t>(how.local_rank);
  who.pid = static_cast<std::uint32_t>(::getpid());
  who.uid = static_cast<std::uint32_t>(::geteuid());
  who.process_start = read_process_stat(::getpid()).start;
  who.start_wall_ns = os::wall_ns();
  who.start_mono_ns = os::monotonic_ns();
  who.start_ticks = record::now_ticks();
  char host[64] = "";
  ::gethostname(host, sizeof host - 1);
  copy(who.host, sizeof who.host, host);
  copy(who.job, sizeof who.job, how.job);
  char program[PATH_MAX] = "";
  if (::readlink("/proc/self/exe", program, sizeof program - 1) > 0) {
    copy(who.program, sizeof who.program, program);
  }
  copy(who.library_version, sizeof who.library_version, DTDEBUG_VERSION_STRING);
}

/// The loaded modules, so that addresses of this process mean something after its death.
inline void note_modules() {
  ::dl_iterate_phdr(
      [](dl_phdr_info *info, std::size_t, void *) -> int {
        const blackbox::box &to = record::box();
        const std::uint64_t index = to.live->module_count;
        if (index >= to.sizes.modules) {
          return 1;
        }
        std::uint64_t begin = UINT64_MAX;
        std::uint64_t end = 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            const std::uint64_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            begin = std::min(begin, at);
            end = std::max(end, at + info->dlpi_phdr[i].p_memsz);
          }
        }
        blackbox::module_slot &slot = to.modules[index];
        slot.base = info->dlpi_addr;
        slot.begin = begin;
        slot.end = end;
        const bool main_program = info->dlpi_name == nullptr || *info->dlpi_name == '\0';
        slot.path = blackbox::add_string(to, main_program ? to.who->program : info->dlpi_name);
        to.live->module_count = index + 1;
        return 0;
      },
      nullptr);
}

/// Removes what an earlier run left under this rank's name; a live process of another job keeps its file.
inline bool clear_leftover(const std::string &file, const settings &how) {
  blackbox::reader old;
  const blackbox::read_error error = old.open(file.c_str());
  blackbox::identity who;
  if (error == blackbox::read_error::none && old.copy(blackbox::section_kind::identity, 0, who)) {
    if (!is_gone(who.pid, who.process_start) && who.pid != static_cast<std::uint32_t>(::getpid())) {
      complain("another live process (pid " + std::to_string(who.pid) + ") is rank " + std::to_string(how.rank) +
               " in " + how.directory + "; set DTDEBUG_DIR to another folder for this job");
      return false;
    }
  }
  ::unlink(file.c_str());
  ::unlink((how.directory + "/report.json").c_str());
  ::unlink((how.directory + "/report.txt").c_str());
  ::unlink((how.directory + "/verdict").c_str());
  ::unlink((how.directory + "/freeze").c_str());
  ::unlink((how.directory + "/request").c_str());
  return true;
}

inline bool make_directory(const std::string &path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) {
    return true;
  }
  const std::size_t slash = path.rfind('/');
  return errno == ENOENT && slash != std::string::npos && slash > 0 && make_directory(path.substr(0, slash)) &&
         (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST);
}

/// True when every rank's file says that its process has ended, this one included.
inline bool everybody_has_ended(const settings &how) {
  for (int rank = 0; rank < how.world_size; ++rank) {
    blackbox::reader file;
    blackbox::live_state live;
    blackbox::identity who;
    if (file.open((how.directory + "/rank-" + std::to_string(rank) + ".dtbb").c_str()) != blackbox::read_error::none ||
        !file.copy(blackbox::section_kind::live, 0, live) || !file.copy(blackbox::section_kind::identity, 0, who)) {
      return false;
    }
    if (static_cast<blackbox::end_state>(live.end) == blackbox::end_state::running &&
        !is_gone(who.pid, who.process_start)) {
      return false;
    }
  }
  return true;
}

inline void remove_run(const settings &how) {
  for (int rank = 0; rank < how.world_size; ++rank) {
    ::unlink((how.directory + "/rank-" + std::to_string(rank) + ".dtbb").c_str());
  }
  ::unlink((how.directory + "/freeze").c_str());
  ::unlink((how.directory + "/request").c_str());
  leadership::remove_files(how.directory);
  ::unlink((how.directory + "/end.lock").c_str());
  ::rmdir(how.directory.c_str()); // stays if the user keeps something else in it
}

/// Ends the session: the last rank to come compares all ranks once more.
inline void end_session(blackbox::end_state how_it_ends, int exit_code) {
  cold_session &session = cold();
  int running = 1;
  if (record::the_session.pid != static_cast<std::uint32_t>(::getpid()) ||
      !session.phase.compare_exchange_strong(running, 2)) {
    return;
  }
  blackbox::live_state &live = *record::box().live;
  if (session.dog) {
    session.dog->stop();
  }
  __atomic_store_n(&record::the_session.level, 0U, __ATOMIC_RELEASE);
  const int lock =
      ::open((session.how.directory + "/end.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock >= 0) {
    ::flock(lock, LOCK_EX); // held by a rank that ends, for the time of one diagnosis
  }
  live.exit_code = static_cast<std::uint32_t>(exit_code);
  live.end_ticks = record::now_ticks();
  __atomic_store_n(&live.end, static_cast<std::uint32_t>(how_it_ends), __ATOMIC_RELEASE);
  if (session.dog && everybody_has_ended(session.how)) {
    const bool found = session.dog->look_at_the_end();
    if (!found && !session.how.keep && ::access((session.how.directory + "/report.json").c_str(), F_OK) != 0) {
      remove_run(session.how);
    }
  }
  if (lock >= 0) {
    ::close(lock);
  }
}

inline void wait_for_report_of_this_end() noexcept {
  if (cold().dog && cold().how.world_size > 1) {
    cold().dog->farewell();
  }
}

inline void on_process_exit(int status, void *) noexcept {
  try {
    // In the middle of the job an exit with an error is what a report will be about.
    cold_session &session = cold();
    if (status != 0 && session.phase.load() == 1 && record::the_session.pid == static_cast<std::uint32_t>(::getpid())) {
      blackbox::live_state &live = *record::box().live;
      live.exit_code = static_cast<std::uint32_t>(status);
      live.end_ticks = record::now_ticks();
      __atomic_store_n(&live.end, static_cast<std::uint32_t>(blackbox::end_state::exited), __ATOMIC_RELEASE);
      wait_for_report_of_this_end();
    }
    // Where MPI_Finalize was seen, the session has ended already. Without a communication library that wants a
    // finalize, status 0 is how a program ends in good order.
    end_session(status == 0 ? blackbox::end_state::clean : blackbox::end_state::exited, status);
  } catch (...) {
    record::the_session.level = 0;
  }
}

inline void on_wake_signal(int signal) noexcept {
  const int saved = errno;
  cold_session &session = cold();
  if (session.dog && record::the_session.pid == static_cast<std::uint32_t>(::getpid())) {
    if (signal == SIGTERM) { // at once: the launcher's SIGKILL may follow
      record::box().live->end_ticks = record::now_ticks();
      __atomic_store_n(&record::box().live->end, static_cast<std::uint32_t>(blackbox::end_state::terminated),
                       __ATOMIC_RELEASE);
    }
    (signal == SIGTERM ? session.dog->reasons.terminate : session.dog->reasons.request).store(1);
    session.dog->wake();
  }
  errno = saved;
}

/// Takes a signal only where the program has left it at its default.
inline void take_signal(int signal) noexcept {
  struct sigaction now {};
  if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) {
    now = {};
    now.sa_handler = on_wake_signal;
    now.sa_flags = SA_RESTART;
    ::sigaction(signal, &now, nullptr);
  }
}

} // namespace detail
} // namespace watch

/// Starts the session of this process: black box, watchdog, handlers. Once; later calls do nothing. Never throws; when
/// it cannot record (read-only folder, full disk) it says so once and the program runs on without it.
inline void start(const start_options &options = {}) noexcept {
  watch::detail::cold_session &session = watch::detail::cold();
  int fresh = 0;
  if (!session.phase.compare_exchange_strong(fresh, 3)) {
    return;
  }
  try {
    session.how = watch::read_settings(options);
    const watch::settings &how = session.how;
    if (how.rank == 0) {
      for (const std::string &warning : how.warnings) {
        watch::detail::complain(warning);
      }
    }
    if (how.how_much == level::off) {
      return;
    }
    if (!watch::detail::make_directory(how.directory)) {
      watch::detail::complain("off: cannot make the run directory " + how.directory + ": " + std::strerror(errno) +
                              "; set DTDEBUG_DIR to a writable folder");
      return;
    }
    session.file = how.directory + "/rank-" + std::to_string(how.rank) + ".dtbb";
    if (!watch::detail::clear_leftover(session.file, how)) {
      return;
    }
    blackbox::capacities sizes;
    sizes.ring_records = how.ring_records;
    record::session_state &hot = record::the_session;
    hot.box = blackbox::create(session.file.c_str(), sizes);
    if (hot.box.file.base == nullptr) {
      watch::detail::complain("off: cannot make " + session.file + ": " + std::strerror(hot.box.file.error) +
                              "; set DTDEBUG_DIR to a folder with 5 MiB of room per rank");
      return;
    }
    watch::detail::note_identity(how);
    watch::detail::note_modules();
    hot.box.live->level = static_cast<std::uint32_t>(how.how_much);
    hot.box.live->timeout_ns = how.timeout_ns;
    world::group_desc everybody;
    everybody.id = world::group_id(nullptr, static_cast<std::uint32_t>(how.world_size), hash_string("world"), 0);
    everybody.name = "world";
    everybody.size = static_cast<std::uint32_t>(how.world_size);
    everybody.my_index = how.rank;
    world::add_group(hot.box, everybody);
    hot.pid = static_cast<std::uint32_t>(::getpid());
    watch::forget_in_children();
    watch::catch_fatal_signals();
    ::on_exit(watch::detail::on_process_exit, nullptr);
    blackbox::publish(hot.box);
    if (how.how_much >= level::watch) {
      session.dog = std::make_unique<watch::watchdog>(how);
      if (!stacks::install()) {
        watch::detail::complain("every real-time signal is taken: reports will have no stacks");
      }
      watch::detail::wait_for_report = watch::detail::wait_for_report_of_this_end;
      watch::detail::take_signal(SIGTERM);
      watch::detail::take_signal(SIGUSR2);
      __atomic_store_n(
          &record::request_diagnosis, +[]() noexcept { watch::detail::on_wake_signal(SIGUSR2); }, __ATOMIC_RELEASE);
      if (!session.dog->start()) {
        watch::detail::complain("no thread for the watchdog: calls are recorded in " + how.directory +
                                ", nothing is watched");
      }
    }
    session.phase.store(1);
    __atomic_store_n(&hot.level, static_cast<std::uint32_t>(how.how_much), __ATOMIC_RELEASE);
    if (how.rank == 0 && !how.quiet) {
      watch::say((how.how_much >= level::watch ? "dtdebug: watching " : "dtdebug: recording ") +
                 std::to_string(how.world_size) + " ranks, timeout " + std::to_string(how.timeout_ns / 1'000'000) +
                 " ms, run directory " + how.directory + "\n");
    }
  } catch (const std::exception &error) {
    watch::say(std::string("dtdebug: off: ") + error.what() + "\n");
  }
}

/// The clean end of the session. The last rank to end compares the calls of all ranks once more.
inline void finish() noexcept {
  try {
    watch::detail::end_session(blackbox::end_state::clean, 0);
  } catch (const std::exception &error) {
    watch::say(std::string("dtdebug: off: ") + error.what() + "\n");
  }
}

} // namespace DTDEBUG_ABI
} // namespace dtdebug
