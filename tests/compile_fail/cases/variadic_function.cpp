// DT_COLLECTIVE of a function with `...`.
// expect: DT_COLLECTIVE takes the name of a function with fixed parameters
#include <dtdebug/record.hpp>
int say(const char *format, ...);
int use() {
#if defined(CONTROL)
  return say("%d", 1);
#else
  return DT_COLLECTIVE(say, "%d", 1);
#endif
}
