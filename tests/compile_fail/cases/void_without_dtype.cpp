// An address without a type needs a dtype.
// expect: the elements of a void \* have no type: pass a dtype
// off too
#include <dtdebug/record.hpp>
void use(void *data) {
#if defined(CONTROL)
  DT_SCOPE_COLLECTIVE(dtdebug::broadcast("dp", data, 4, dtdebug::dtype::f32, 0));
#else
  DT_SCOPE_COLLECTIVE(dtdebug::broadcast("dp", data, 4, 0));
#endif
}
