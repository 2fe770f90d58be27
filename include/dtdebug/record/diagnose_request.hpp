// DT_DIAGNOSE: how the hot path reaches the watchdog, of which it knows nothing.
#pragma once

#include <dtdebug/record/breadcrumbs.hpp>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace record {

/// Wakes the watchdog for a diagnosis; set by watch/ before recording begins, null at level `record`. Atomic.
DT_DETAIL_VISIBLE inline void (*request_diagnosis)() noexcept = nullptr;

} // namespace record

/// Asks for a diagnosis now, of whatever there is to see. Returns at once; the report comes from the watchdog. Without
/// one, the wish is on record all the same.
inline void diagnose_now(const char *reason = "") noexcept {
  if (record::recording()) {
    record::note(note_type::request, "diagnosis requested", reason);
    if (auto *request = __atomic_load_n(&record::request_diagnosis, __ATOMIC_ACQUIRE)) {
      request();
    }
  }
}

} // namespace DTDEBUG_ABI
} // namespace dtdebug
