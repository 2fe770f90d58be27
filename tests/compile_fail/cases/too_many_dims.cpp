// A shape has at most 8 dims.
// expect: DT_SHAPED takes at most 8 dimensions
// off too
#include <dtdebug/record.hpp>
float *use(float *data) {
#if defined(CONTROL)
  return DT_SHAPED(data, 1, 2, 3, 4, 5, 6, 7, 8);
#else
  return DT_SHAPED(data, 1, 2, 3, 4, 5, 6, 7, 8, 9);
#endif
}
