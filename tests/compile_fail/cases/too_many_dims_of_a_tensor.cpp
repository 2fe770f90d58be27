// expect: a shape has at most 8 dimensions
// off too
#include <dtdebug/record.hpp>
void use(float *data) {
#if defined(CONTROL)
  DT_SCOPE_COLLECTIVE(dtdebug::all_gather("dp", dtdebug::tensor(data, 1, 2, 3, 4, 5, 6, 7, 8)));
#else
  DT_SCOPE_COLLECTIVE(dtdebug::all_gather("dp", dtdebug::tensor(data, 1, 2, 3, 4, 5, 6, 7, 8, 9)));
#endif
}
