// docs/FORMAT.md against the layout that the compiler sees.
#include "layout_facts.hpp"

#include <dtdebug/core/call_desc.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace dtdebug;
using namespace dtdebug::testing;

namespace {

std::vector<std::string> lines_of_document() {
  const std::string here = __FILE__;
  std::ifstream file(here.substr(0, here.rfind('/')) + "/../../../docs/FORMAT.md");
  REQUIRE(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

/// Cells of a table row, without blanks and backquotes.
std::vector<std::string> cells_of(const std::string &row) {
  std::vector<std::string> cells;
  std::istringstream in(row.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) {
    std::string bare;
    for (const char c : cell) {
      if (c != '`' && (c != ' ' || !bare.empty())) {
        bare += c;
      }
    }
    bare.erase(bare.find_last_not_of(' ') + 1);
    cells.push_back(bare);
  }
  return cells;
}

bool is_number(const std::string &text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

/// Rows under the heading "### `name` …", up to the next heading.
std::vector<std::vector<std::string>> table_of(const std::string &name) {
  std::vector<std::vector<std::string>> rows;
  bool inside = false;
  for (const std::string &line : lines_of_document()) {
    if (line.rfind("#", 0) == 0) {
      inside = line.rfind("### `" + name + "`", 0) == 0;
    } else if (inside && line.rfind("|", 0) == 0 && is_number(cells_of(line)[0])) {
      rows.push_back(cells_of(line));
    }
  }
  return rows;
}

/// Number → name, of a table of values.
std::map<std::uint64_t, std::string> values_of(const std::string &heading) {
  std::map<std::uint64_t, std::string> out;
  for (const std::vector<std::string> &row : table_of(heading)) {
    for (std::size_t i = 0; i + 1 < row.size(); i += 2) {
      if (is_number(row[i])) {
        out[std::stoull(row[i])] = row[i + 1];
      }
    }
  }
  return out;
}

template <typename Kind>
std::map<std::uint64_t, std::string> names_of(int count) {
  std::map<std::uint64_t, std::string> out;
  for (int i = 0; i < count; ++i) {
    out[static_cast<std::uint64_t>(i)] = name(static_cast<Kind>(i));
  }
  return out;
}

} // namespace

TEST_CASE("fields follow one another without a gap, and every byte of a structure is in a field") {
  for (const structure_fact &structure : layout_facts()) {
    CAPTURE(structure.name);
    std::size_t end = 0;
    for (const field_fact &field : structure.fields) {
      CAPTURE(field.name);
      CHECK(field.offset == end);
      end = field.offset + field.size;
    }
    CHECK(end == structure.size);
  }
}

TEST_CASE("the document has each field with its offset and size, and no other") {
  for (const structure_fact &structure : layout_facts()) {
    CAPTURE(structure.name);
    const std::vector<std::vector<std::string>> rows = table_of(structure.name);
    REQUIRE(rows.size() == structure.fields.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      REQUIRE(rows[i].size() == 4);
      CHECK(rows[i][0] == std::to_string(structure.fields[i].offset));
      CHECK(rows[i][1] == std::to_string(structure.fields[i].size));
      CHECK(rows[i][2] == structure.fields[i].name);
      CHECK(rows[i][3].size() > 3);
    }
    bool headed = false;
    for (const std::string &line : lines_of_document()) {
      headed |= line == "### `" + structure.name + "`, " + std::to_string(structure.size) + " bytes";
    }
    CHECK(headed);
  }
}

TEST_CASE("the document has every op, dtype, reduction and state with its number") {
  CHECK(values_of("op_kind") == names_of<op_kind>(op_kind_count));
  CHECK(values_of("dtype") == names_of<dtype>(dtype_count));
  CHECK(values_of("redop") == names_of<redop>(redop_count));
  CHECK(values_of("call_state") == names_of<call_state>(9));
}

TEST_CASE("the document says the version, the magic and the byte order mark") {
  std::string text;
  for (const std::string &line : lines_of_document()) {
    text += line + "\n";
  }
  CHECK(text.find("This is version " + std::to_string(blackbox::format_version) + " of the format") !=
        std::string::npos);
  CHECK(text.find("44 54 42 42 4f 58 0d 0a") != std::string::npos);
  CHECK(text.find("0x01020304") != std::string::npos);
}

TEST_CASE("the document has every kind of section with its number and entry") {
  const std::map<std::uint64_t, std::string> kinds = values_of("section_kind");
  const char *names[] = {"identity", "live",  "groups",   "members", "sites",  "labels",
                         "strings",  "notes", "messages", "modules", "stacks", "rings"};
  REQUIRE(kinds.size() == std::size(names));
  for (std::size_t i = 0; i < std::size(names); ++i) {
    CHECK(kinds.at(i + 1) == names[i]);
  }
}
