// The part of the program that is compiled with -DDTDEBUG.
#include <dtdebug/dtdebug.hpp>

void start_session() { DT_START(); }

void step_on(int number) {
  DT_STEP(number);
  DT_SCOPE_COLLECTIVE(dtdebug::barrier("world"));
}

long recorded_step() {
  return dtdebug::record::recording() ? static_cast<long>(dtdebug::record::box().live->step) - 1 : -2;
}

long recorded_calls() { return dtdebug::record::recording() ? static_cast<long>(dtdebug::record::calls_so_far()) : -2; }

#if defined(MIXED_TYPES)
int directory_length(const dtdebug::start_options &options) { return options.directory != nullptr ? 1 : 0; }
#endif
