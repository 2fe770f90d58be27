#!/usr/bin/env python3
"""What a macro accepts and refuses is the same on and off.

usage: check_refusals.py --include DIR COMPILER…

Each line below stands in a function of its own that has the parameters of PRELUDE. Lines of ACCEPTED must compile in
both modes without a warning; each line of REFUSED must be named in an error in both. Exit status: 0 all hold, 1 not.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

PRELUDE = """\
#include <dtdebug/dtdebug.hpp>
#include <array>
#include <cstdint>
#include <string>
#include <vector>
enum plain_enum { one };
enum class strict_enum { one };
struct not_a_tensor {};
void use(int n, long l, unsigned long u, short s, std::uint8_t b, double d, bool flag, const char *text, float *p,
         void *v, std::string word, plain_enum e, strict_enum c, std::vector<float> &data, std::vector<std::int64_t> &shares,
         std::array<double, 4> &four, float (&array)[3], not_a_tensor other, dtdebug::start_options options) {
"""
UNUSED = """\
  static_cast<void>(n), static_cast<void>(l), static_cast<void>(u), static_cast<void>(s), static_cast<void>(b);
  static_cast<void>(d), static_cast<void>(flag), static_cast<void>(text), static_cast<void>(p), static_cast<void>(v);
  static_cast<void>(word), static_cast<void>(e), static_cast<void>(c), static_cast<void>(data), static_cast<void>(four);
  static_cast<void>(array), static_cast<void>(other), static_cast<void>(options), static_cast<void>(shares);
}
"""
ACCEPTED = """\
DT_START();
DT_START({});
DT_START(options);
DT_START({0, 4, 0, "/tmp/x", 500});
DT_STEP(n);
DT_STEP(l);
DT_STEP(u);
DT_STEP(s);
DT_STEP(b);
DT_STEP(e);
DT_STEP(n + 1);
DT_PHASE("forward");
DT_PHASE(text);
DT_PHASE(word.c_str());
DT_DECISION("name", 0);
DT_DECISION("name", n);
DT_DECISION("name", u);
DT_DECISION("name", flag);
DT_DECISION(text, text);
DT_DECISION("name", n > 3);
DT_DIAGNOSE("loss is NaN");
DT_DIAGNOSE(text);
DT_GROUP("dp", "dp");
DT_GROUP("dp", text, 0, l, u);
p = DT_SHAPED(p, n);
p = DT_SHAPED(p, "w", n, l, u);
p = DT_SHAPED(p, text);
p = DT_SHAPED(array, 3);
v = DT_SHAPED(v, 1, 2, 3, 4, 5, 6, 7, 8);
DT_SCOPE_COLLECTIVE(dtdebug::all_reduce("dp", data, dtdebug::sum));
DT_SCOPE_COLLECTIVE(dtdebug::all_reduce("dp", p, n, dtdebug::redop::max));
DT_SCOPE_COLLECTIVE(dtdebug::all_reduce(text, v, u, dtdebug::dtype::bf16, dtdebug::avg));
DT_SCOPE_COLLECTIVE(dtdebug::reduce("dp", d, dtdebug::prod, 1));
DT_SCOPE_COLLECTIVE(dtdebug::broadcast("dp", four, 0));
DT_SCOPE_COLLECTIVE(dtdebug::all_gather("dp", array));
DT_SCOPE_COLLECTIVE(dtdebug::reduce_scatter("dp", dtdebug::tensor(p, n, 4).named("w"), dtdebug::sum));
DT_SCOPE_COLLECTIVE(dtdebug::gather("dp", p, n, 0));
DT_SCOPE_COLLECTIVE(dtdebug::scatter("dp", data, 0));
DT_SCOPE_COLLECTIVE(dtdebug::all_to_all("dp", data));
DT_SCOPE_COLLECTIVE(dtdebug::all_to_all_v("dp", dtdebug::buffer(p, 0), shares, shares));
DT_SCOPE_COLLECTIVE(dtdebug::all_gather_v("dp", data, {shares.data(), 2}));
DT_SCOPE_COLLECTIVE(dtdebug::gather_v("dp", data, 0));
DT_SCOPE_COLLECTIVE(dtdebug::scatter_v("dp", data, shares, 0));
DT_SCOPE_COLLECTIVE(dtdebug::reduce_scatter_v("dp", dtdebug::buffer(p, 0), shares, dtdebug::sum));
DT_SCOPE_COLLECTIVE(dtdebug::barrier("dp"));
DT_SCOPE_COLLECTIVE(dtdebug::send("dp", data, 1));
DT_SCOPE_COLLECTIVE(dtdebug::recv("dp", p, n, 1, 7));
DT_SCOPE_COLLECTIVE(dtdebug::scan("dp", n, dtdebug::sum));
DT_SCOPE_COLLECTIVE(dtdebug::exscan("dp", n, dtdebug::bit_or));
DT_SCOPE_COLLECTIVE(dtdebug::neighbor_exchange("dp", data));
const auto what = dtdebug::barrier("dp"); DT_SCOPE_COLLECTIVE(what);
dtdebug::step(n); dtdebug::phase("x"); dtdebug::decision("x", 1); dtdebug::fact("x", "y"); dtdebug::swallowed_error("x");
dtdebug::name_group("a", "b"); dtdebug::diagnose_now(); dtdebug::diagnose_now("x"); dtdebug::start(); dtdebug::finish();
p = dtdebug::shaped(p, "w", 3);
""".splitlines()
REFUSED = """\
DT_START(3);
DT_START("text");
DT_START(options, options);
DT_STEP("x");
DT_STEP(d);
DT_STEP(c);
DT_STEP(p);
DT_STEP();
DT_STEP(undeclared);
DT_PHASE(3);
DT_PHASE(word);
DT_PHASE(undeclared);
DT_DECISION("name", d);
DT_DECISION("name", c);
DT_DECISION("name", word);
DT_DECISION(n, 1);
DT_DECISION("name", undeclared);
DT_DIAGNOSE(n);
DT_DIAGNOSE(word);
DT_GROUP("dp", 3);
DT_GROUP(d, "dp");
DT_GROUP(other, "dp");
DT_GROUP("dp", "dp", "rank");
DT_GROUP("dp", "dp", d);
p = DT_SHAPED(p, 1, 2, 3, 4, 5, 6, 7, 8, 9);
p = DT_SHAPED(p, "w", 1, 2, 3, 4, 5, 6, 7, 8, l);
p = DT_SHAPED(p, d);
p = DT_SHAPED(p, other);
p = DT_SHAPED(undeclared, 1);
int *wrong = DT_SHAPED(p, 1);
DT_SCOPE_COLLECTIVE(3);
DT_SCOPE_COLLECTIVE("dp");
DT_SCOPE_COLLECTIVE(dtdebug::all_reduce("dp", data));
DT_SCOPE_COLLECTIVE(dtdebug::all_reduce("dp", other, dtdebug::sum));
DT_SCOPE_COLLECTIVE(dtdebug::all_reduce("dp", p, dtdebug::sum));
DT_SCOPE_COLLECTIVE(dtdebug::all_reduce("dp", p, d, dtdebug::sum));
DT_SCOPE_COLLECTIVE(dtdebug::all_reduce(d, data, dtdebug::sum));
DT_SCOPE_COLLECTIVE(dtdebug::all_reduce(other, data, dtdebug::sum));
DT_SCOPE_COLLECTIVE(dtdebug::broadcast("dp", v, 4, 0));
DT_SCOPE_COLLECTIVE(dtdebug::all_gather("dp", dtdebug::tensor(p, 1, 2, 3, 4, 5, 6, 7, u, u)));
DT_SCOPE_COLLECTIVE(dtdebug::barrier());
""".splitlines()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", required=True)
    parser.add_argument("compilers", nargs="+")
    options = parser.parse_args()
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion"]
    problems = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for compiler in options.compilers:
            for mode, define in (("on", ["-DDTDEBUG"]), ("off", [])):
                base = [compiler, *flags, *define, "-I", options.include]

                def compile_lines(lines, *more):
                    # Each in a function of its own: a compiler says once per function that a name is unknown.
                    text = PRELUDE[:PRELUDE.index("void use")]
                    for number, line in enumerate(lines):
                        use = PRELUDE[PRELUDE.index("void use"):].replace("void use", f"void use{number}").replace("\n", " ")
                        unused = UNUSED.replace("\n", " ")
                        text += f'{use}\n#line {number + 1} "use"\n{{ {line} }}\n{unused}\n'
                    source = folder / "use.cpp"
                    source.write_text(text)
                    return subprocess.run([*base, *more, "-fsyntax-only", str(source)], capture_output=True, text=True)

                done = compile_lines(ACCEPTED, "-Werror")
                if done.returncode != 0:
                    problems.append(f"{compiler}, {mode}: a line that should be accepted is not\n{done.stderr[:3000]}")
                limit = "-ferror-limit=0" if "clang" in compiler else "-fmax-errors=0"
                done = compile_lines(REFUSED, "-w", limit)
                named = {int(number) for number in re.findall(r"\buse:(\d+):", done.stderr)}
                problems += [f"{compiler}, {mode}: accepted: {line}" for number, line in enumerate(REFUSED, 1)
                             if number not in named or done.returncode == 0]
    print("\n".join(problems) if problems else
          f"{len(ACCEPTED)} uses are accepted and {len(REFUSED)} refused, on and off, by {', '.join(options.compilers)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
