// DT_COLLECTIVE of a function that no adapter knows says which header to include.
// expect: dtdebug has no adapter for this function. Include <dtdebug/mpi\.hpp>, <dtdebug/nccl\.hpp>
// expect: or use DT_SCOPE_COLLECTIVE
#include <dtdebug/record.hpp>
int own_all_reduce(float *data, int count);
int use(float *data) {
#if defined(CONTROL)
  return own_all_reduce(data, 4);
#else
  return DT_COLLECTIVE(own_all_reduce, data, 4);
#endif
}
