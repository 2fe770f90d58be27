// The part of the program that is compiled without it.
#include <dtdebug/dtdebug.hpp>

#include <cstdio>

void start_session();
void step_on(int number);
long recorded_step();
long recorded_calls();

#if defined(MIXED_TYPES)
int directory_length(const dtdebug::start_options &options);
#endif

static void step_off(int number) {
  DT_STEP(number);
  dtdebug::step(number);
  DT_SCOPE_COLLECTIVE(dtdebug::barrier("world"));
}

static bool expect(long is, long should_be, const char *what) {
  if (is != should_be) {
    std::printf("%s is %ld, not %ld\n", what, is, should_be);
  }
  return is == should_be;
}

int main() {
  start_session();
  step_on(7);
  bool right = expect(recorded_step(), 7, "step after the part that is on");
  right = expect(recorded_calls(), 1, "calls after the part that is on") && right;
  step_off(99);
  right = expect(recorded_step(), 7, "step after the part that is off") && right;
  right = expect(recorded_calls(), 1, "calls after the part that is off") && right;
  step_on(8);
  right = expect(recorded_step(), 8, "step after the part that is on, again") && right;
  right = expect(recorded_calls(), 2, "calls after the part that is on, again") && right;
#if defined(MIXED_TYPES)
  right = right && directory_length({}) == 0;
#endif
  return right ? 0 : 1;
}
