// A program of one rank as a user of the library writes it; both consumer projects build it, on and off.
#include <dtdebug/dtdebug.hpp>

int main() {
  DT_START();
  DT_STEP(1);
  DT_PHASE("forward");
#if defined(DTDEBUG) != EXPECT_DTDEBUG
#error "whether the macros are on is the choice of this target alone"
#endif
  return 0;
}
