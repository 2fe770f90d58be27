// DT_COLLECTIVE of a macro that looks like a function.
// expect: EXCHANGE
#include <dtdebug/record.hpp>
int exchange(float *data);
#define EXCHANGE(data) exchange(data)
int use(float *data) {
#if defined(CONTROL)
  return EXCHANGE(data);
#else
  return DT_COLLECTIVE(EXCHANGE, data);
#endif
}
