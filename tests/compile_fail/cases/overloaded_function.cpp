// DT_COLLECTIVE of an overloaded function: a function with one signature is needed.
// expect: overloaded function|no matching|unable to deduce|could not be resolved|does not refer to
#include <dtdebug/record.hpp>
int exchange(float *data);
int exchange(double *data);
int use(float *data) {
#if defined(CONTROL)
  return exchange(data);
#else
  return DT_COLLECTIVE(exchange, data);
#endif
}
