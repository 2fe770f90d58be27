// What a rank says of itself between its calls: step, phase, decisions, errors, facts.
#pragma once

#include <dtdebug/core/natural.hpp>
#include <dtdebug/record/session.hpp>

namespace dtdebug {
inline namespace DTDEBUG_ABI {

/// Kinds of notes; numbers as model::note_kind and docs/FORMAT.md.
enum class note_type : std::uint32_t {
  error = 1,
  decision = 2,
  fact = 3,
  memory = 4,
  out_of_memory = 5,
  comm_error = 6,
  non_finite = 7,
  replica = 8,
  mesh_check = 9,
  mesh = 10,
  phase = 11,
  step = 12,
  scope_exception = 13,
  finite_ok = 14,
  request = 15,
};

namespace record {

/// Writes a note down. The ordinal (k-th of this kind and name) and the position between the calls are added here.
/// Thread-safe, ~150 ns, never fails.
DT_DETAIL_NOINLINE inline void note(note_type kind, const char *name, const char *text, std::uint64_t value = 0,
                                    std::uint64_t value2 = 0, std::uint16_t group = 0) noexcept {
  if (!recording() || the_session.pid == 0) {
    return;
  }
  blackbox::note_desc what;
  what.kind = static_cast<std::uint32_t>(kind);
  what.group = group;
  what.name = name;
  what.text = text;
  what.value = value;
  what.value2 = value2;
  what.ordinal = blackbox::next_ordinal(box(), mix(hash_string(name, 77), static_cast<std::uint64_t>(kind)), group);
  what.order = calls_so_far();
  blackbox::append_note(box(), what);
}

} // namespace record

/// The rank begins step `n` (an epoch's batch, an engine's iteration). Every later record carries it. ~20 ns.
inline void step(natural n) noexcept {
  if (record::recording()) {
    const blackbox::box &to = record::box();
    __atomic_store_n(&to.live->step_ticks, record::now_ticks(), __ATOMIC_RELAXED);
    __atomic_store_n(&to.live->step, n.value + 1, __ATOMIC_RELEASE);
  }
}

/// The rank enters a phase ("forward", "data loading"). Told of a rank that is in no call. ~40 ns.
inline void phase(const char *name) noexcept {
  if (record::recording()) {
    const blackbox::box &to = record::box();
    __atomic_store_n(&to.live->phase_ticks, record::now_ticks(), __ATOMIC_RELAXED);
    __atomic_store_n(&to.live->phase, blackbox::label_id(to, name, hash_string(name)), __ATOMIC_RELEASE);
  }
}

namespace record::detail {

inline void note_decision(const char *name, bool negative, std::uint64_t magnitude) noexcept {
  char text[24];
  char *end = text + sizeof text;
  char *at = end;
  *--at = '\0';
  std::uint64_t rest = magnitude;
  do {
    *--at = static_cast<char>('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (negative) {
    *--at = '-';
  }
  note(note_type::decision, name, at, negative ? 0 - magnitude : magnitude);
}

} // namespace record::detail

/// A control-flow decision that all ranks should take alike: the k-th decision of one name is compared across ranks.
/// An overload for each integer type, so that a literal 0 is a number and not a null pointer.
inline void decision(const char *name, long long value) noexcept {
  const auto word = static_cast<std::uint64_t>(value);
  record::detail::note_decision(name, value < 0, value < 0 ? 0 - word : word);
}
inline void decision(const char *name, unsigned long long value) noexcept {
  record::detail::note_decision(name, false, value);
}
inline void decision(const char *name, int value) noexcept { decision(name, static_cast<long long>(value)); }
inline void decision(const char *name, long value) noexcept { decision(name, static_cast<long long>(value)); }
inline void decision(const char *name, unsigned value) noexcept {
  decision(name, static_cast<unsigned long long>(value));
}
inline void decision(const char *name, unsigned long value) noexcept {
  decision(name, static_cast<unsigned long long>(value));
}
inline void decision(const char *name, const char *value) noexcept {
  record::note(note_type::decision, name, value, hash_string(value));
}

/// Something that should agree on all ranks (a version, a setting), as this rank sees it.
inline void fact(const char *name, const char *value) noexcept { record::note(note_type::fact, name, value); }

/// An error that the program handles by itself: if others then wait for this rank, the report names it.
inline void swallowed_error(const char *text) noexcept { record::note(note_type::error, "error", text); }

} // namespace DTDEBUG_ABI
} // namespace dtdebug
