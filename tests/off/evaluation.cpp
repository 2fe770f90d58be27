// How often each macro evaluates its arguments: once when on, never when off; DT_COLLECTIVE and DT_SHAPED always once.
// And each macro stands where a statement may stand: in an unbraced if and else, in a loop, in a lambda, in a template.
#include <dtdebug/dtdebug.hpp>

#include <cstdio>
#include <cstdlib>
#include <vector>

extern "C" inline int exchange(float *data, int count, const void *nothing) {
  return nothing == nullptr ? static_cast<int>(data[0]) + count : -1;
}
extern "C" inline int nothing_to_say() { return 7; }

#if defined(DTDEBUG)
constexpr int when_on = 1;
namespace dtdebug::record {
template <>
struct adapter<&::exchange> {
  static int call(std::uint32_t, float *data, int count, const void *nothing) { return exchange(data, count, nothing); }
};
template <>
struct adapter<&::nothing_to_say> {
  static int call(std::uint32_t) { return nothing_to_say(); }
};
} // namespace dtdebug::record
#else
constexpr int when_on = 0;
#endif

namespace {

int failures = 0;
int evaluations = 0;

template <typename Value>
Value counted(Value value) {
  ++evaluations;
  return value;
}

void expect(int times, const char *what) {
  if (evaluations != times) {
    std::printf("%s: %d evaluations, not %d\n", what, evaluations, times);
    ++failures;
  }
  evaluations = 0;
}

void expect_value(bool right, const char *what) {
  if (!right) {
    std::printf("%s: wrong value\n", what);
    ++failures;
  }
}

template <typename Number>
void in_a_template(Number number) {
  DT_STEP(counted(number));
  DT_DECISION("number", counted(number));
}

// The same statement in every position that has no braces around it.
void without_braces(bool which) {
  if (which)
    DT_STEP(1);
  else
    DT_PHASE("no");
  if (which)
    DT_GROUP("dp", "dp");
  else
    DT_DECISION("no", 0);
  if (which)
    DT_SCOPE_COLLECTIVE(dtdebug::barrier("world"));
  else
    DT_DIAGNOSE("no");
  if (!which)
    DT_START();
  else
    DT_COLLECTIVE(nothing_to_say);
  for (int i = 0; i < 2; ++i)
    DT_SCOPE_COLLECTIVE(dtdebug::barrier("world"));
  while (!which)
    DT_DIAGNOSE("never");
  which ? DT_STEP(2) : DT_PHASE("an expression");
}

} // namespace

int main() {
  DT_START(counted(dtdebug::start_options{}));
  expect(when_on, "DT_START");
  DT_STEP(counted(1));
  expect(when_on, "DT_STEP");
  DT_PHASE(counted("forward"));
  expect(when_on, "DT_PHASE");
  DT_DECISION(counted("left"), counted(3L));
  expect(2 * when_on, "DT_DECISION");
  DT_GROUP(counted("tp"), counted("tensor parallel"), counted(0), counted(0U));
  expect(4 * when_on, "DT_GROUP");
  {
    float loss = 0;
    DT_SCOPE_COLLECTIVE(counted(dtdebug::all_reduce(counted("tp"), counted(&loss), counted(1), counted(dtdebug::sum))));
    expect(5 * when_on, "DT_SCOPE_COLLECTIVE");
  }
  DT_DIAGNOSE(counted("the test asks")); // one rank that is well: nothing is found
  expect(when_on, "DT_DIAGNOSE");

  std::vector<float> data(8, 2.0F);
  float *const shaped = DT_SHAPED(counted(data.data()), counted("data"), counted(2), counted(4U));
  expect(1 + 3 * when_on, "DT_SHAPED");
  expect_value(shaped == data.data(), "DT_SHAPED");
  const int sum = DT_COLLECTIVE(exchange, counted(data.data()), counted(3), counted(nullptr));
  expect(3, "DT_COLLECTIVE");
  expect_value(sum == 5, "DT_COLLECTIVE");
  // Literals that stand for pointers, no argument at all, one call inside the other, commas in template arguments.
  expect_value(DT_COLLECTIVE(exchange, data.data(), 3, NULL) == 5, "NULL");
  expect_value(DT_COLLECTIVE(exchange, data.data(), 3, 0) == 5, "literal 0");
  expect_value(DT_COLLECTIVE(exchange, data.data(), 3, nullptr) == 5, "nullptr");
  expect_value(DT_COLLECTIVE(nothing_to_say) == 7, "no arguments");
  expect_value(DT_COLLECTIVE(exchange, DT_SHAPED(data.data(), 8), DT_COLLECTIVE(nothing_to_say), nullptr) == 9,
               "nested");
  expect_value(DT_COLLECTIVE(exchange, std::vector<float, std::allocator<float>>(1, 4.0F).data(), 0, nullptr) == 4,
               "template commas");

  in_a_template(5);
  in_a_template(5UL);
  expect(4 * when_on, "in a template");
  without_braces(true);
  const int only_for_the_macro = 3;
  [&] { DT_STEP(only_for_the_macro); }();
  std::printf("%s: %d failures\n", when_on != 0 ? "on" : "off", failures);
  return failures == 0 ? 0 : 1;
}
