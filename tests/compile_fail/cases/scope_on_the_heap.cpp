// A guard cannot outlive its scope.
// expect: (use of|call to|deleted).*(deleted|operator new)
#include <dtdebug/record.hpp>
void use(dtdebug::call_site &site) {
#if defined(CONTROL)
  const dtdebug::record::scope guard(site, "use", dtdebug::barrier("dp"));
#else
  new dtdebug::record::scope(site, "use", dtdebug::barrier("dp"));
#endif
}
