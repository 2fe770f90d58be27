// expect: (deleted function|deleted constructor)
// off too
#include <dtdebug/record.hpp>
void use() {
#if defined(CONTROL)
  DT_STEP(3);
#else
  DT_STEP("x");
#endif
}
