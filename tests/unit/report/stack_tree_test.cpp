// Stacks of many ranks as one tree.
#include <dtdebug/report/stack_tree.hpp>

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <vector>

using namespace dtdebug;

namespace {

/// A stack, outermost first as one reads it.
std::vector<model::frame> stack(std::initializer_list<const char *> functions) {
  std::vector<model::frame> out;
  for (const char *function : functions) {
    model::frame frame;
    frame.function = function;
    out.insert(out.begin(), frame);
  }
  return out;
}

std::size_t lines_of(const std::string &text) {
  std::size_t lines = 0;
  for (const char c : text) {
    lines += c == '\n' ? 1U : 0U;
  }
  return lines;
}

} // namespace

TEST_CASE("common frames stand once and ranks where they part") {
  report::stack_node root;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    report::add_stack(root, rank, stack({"main", "train()", "MPI_Allreduce", "inside the library"}));
  }
  report::add_stack(root, 3, stack({"main", "train()", "next_batch(loader&)", "read"}));
  const std::string text = report::stack_tree_text(root);
  CHECK(text == "  main\n"
                "  train\n"
                "  next_batch   [rank 3]\n"
                "    read\n"
                "  MPI_Allreduce   [ranks 0-2]\n");
}

TEST_CASE("what lies below the entry of a library is left out") {
  report::stack_node root;
  report::add_stack(root, 0, stack({"main", "PMPI_Wait", "opal_progress", "epoll_wait"}));
  CHECK(report::stack_tree_text(root) == "  main\n  PMPI_Wait\n");
}

TEST_CASE("frames of the start of a program and of dtdebug are left out") {
  report::stack_node root;
  report::add_stack(root, 0, stack({"_start", "__libc_start_main", "main", "dtdebug::v1::record::invoke", "work"}));
  CHECK(report::stack_tree_text(root) == "  main\n  work\n");
}

TEST_CASE("two threads of one rank count once") {
  report::stack_node root;
  report::add_stack(root, 7, stack({"main", "a"}));
  report::add_stack(root, 7, stack({"main", "b"}));
  CHECK(root.ranks == std::vector<std::int32_t>{7});
  CHECK(report::stack_tree_text(root) == "  main\n  a   [rank 7]\n  b   [rank 7]\n");
}

TEST_CASE("a frame says what is known of it") {
  model::frame frame;
  frame.function = "trainer::step(int, float*)";
  frame.file = "/long/way/to/step.cpp";
  frame.line = 12;
  frame.module = "/bin/train";
  CHECK(report::detail::frame_text(frame) == "trainer::step  step.cpp:12");
  frame.file.clear();
  CHECK(report::detail::frame_text(frame) == "trainer::step  (train)");
  frame.function.clear();
  frame.module.clear();
  CHECK(report::detail::frame_text(frame).rfind("??", 0) == 0);
  frame.function = "functor::operator()(int) const";
  CHECK(report::detail::frame_text(frame) == "functor::operator()");
}

TEST_CASE("names that act on a terminal are made visible") {
  model::frame frame;
  frame.function = "evil\x1b[2J\nname";
  CHECK(report::detail::frame_text(frame) == "evil\\x1b[2J\\x0aname");
}

TEST_CASE("a tree with many lines is cut, and says so") {
  report::stack_node root;
  for (std::int32_t rank = 0; rank < 100; ++rank) {
    report::add_stack(root, rank, stack({"main", ("f" + std::to_string(rank)).c_str()}));
  }
  const std::string text = report::stack_tree_text(root, 10);
  CHECK(lines_of(text) == 11);
  CHECK(text.find("…") != std::string::npos);
  CHECK(lines_of(report::stack_tree_text(root, 500)) == 101);
}

TEST_CASE("a very deep stack is no danger") {
  std::vector<model::frame> deep(2000);
  for (std::size_t i = 0; i < deep.size(); ++i) {
    deep[i].function = "recurse" + std::to_string(i);
  }
  report::stack_node root;
  report::add_stack(root, 0, deep);
  CHECK(lines_of(report::stack_tree_text(root)) == 61);
}

TEST_CASE("no stack makes no text") { CHECK(report::stack_tree_text({}).empty()); }
