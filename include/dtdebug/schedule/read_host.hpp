// Reads the statements that communicate with nobody: host behaviour, breadcrumbs, data, memory, environment.
#pragma once

#include <dtdebug/schedule/read_call.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace schedule {

class host_reader {
public:
  host_reader(reader &in, tensor_table &tensors, call_reader &calls) : in_(in), tensors_(tensors), calls_(calls) {}

  /// The rest of a line after its verb; fills `i`.
  bool read(instruction &i, const verb_name &verb, const std::vector<std::int32_t> &ranks) {
    i.what = verb.what;
    switch (verb.what) {
    case verb::sync: return sync(i);
    case verb::sleep: return sleep(i);
    case verb::exit: return number(i, "exit CODE", 255);
    case verb::kill: return kill(i);
    case verb::raise: return text(i, "throw \"text\"");
    case verb::oom: return text(i, "oom \"text\"");
    case verb::phase: return text(i, "phase \"name\"");
    case verb::step: return in_.at_end() || number(i, "step [N]", std::uint64_t{1} << 40U);
    case verb::decision: return value_of(i, "decision NAME VALUE");
    case verb::fact: return value_of(i, "fact NAME VALUE");
    case verb::memory: return memory(i);
    case verb::tensor: return tensor(i, ranks);
    case verb::poke: return poke(i, ranks);
    case verb::replicated: return replicated(i, ranks);
    case verb::finite: return finite(i, ranks);
    case verb::comm_error: return comm_error(i, ranks);
    case verb::mesh_check: return mesh_check(i, ranks);
    default: return in_.ends(std::string(verb.text));
    }
  }

private:
  bool sync(instruction &i) {
    const std::string form = "sync stream=NAME";
    constexpr std::string_view key = "stream=";
    if (!in_.next_is_word() || in_.peek().text.substr(0, key.size()) != key ||
        !is_name(in_.peek().text.substr(key.size()))) {
      return in_.fail(in_.found(), "`" + form + "`");
    }
    i.stream = in_.take().text.substr(key.size());
    return in_.ends(form);
  }

  bool sleep(instruction &i) {
    const auto time = in_.next_is_word() ? read_duration(in_.peek().text) : std::nullopt;
    if (!time) {
      return in_.fail(in_.found(), "a time, `sleep 500ms`");
    }
    in_.take();
    i.number = *time;
    return in_.ends("sleep 500ms");
  }

  bool number(instruction &i, const std::string &form, std::uint64_t most) {
    const auto value = in_.next_is_word() ? read_number(in_.peek().text, most) : std::nullopt;
    if (!value) {
      return in_.fail(in_.found(), "a number up to " + std::to_string(most) + ", `" + form + "`");
    }
    in_.take();
    i.number = static_cast<std::int64_t>(*value);
    return in_.ends(form);
  }

  bool kill(instruction &i) {
    std::vector<std::string_view> names;
    for (const signal_name &s : deadly_signals) {
      names.push_back(s.text);
      if (in_.next_is_word() && in_.peek().text == s.text) {
        in_.take();
        i.number = s.number;
        i.name = s.text;
        return in_.ends("kill SIGNAME");
      }
    }
    return in_.fail(in_.found(), "a signal that ends a process, `kill SIGKILL`",
                    in_.next_is_word() ? did_you_mean(in_.peek().text, names) : "");
  }

  bool text(instruction &i, const std::string &form) {
    const auto quoted = in_.take_quoted(form);
    i.text = quoted.value_or("");
    return quoted && in_.ends(form);
  }

  bool value_of(instruction &i, const std::string &form) {
    const auto name = in_.take_name("a name", form);
    if (!name) {
      return false;
    }
    if (in_.at_end()) {
      return in_.fail(in_.found(), "a value, one word or quoted, `" + form + "`");
    }
    i.name = *name;
    i.text = in_.take().text;
    return in_.ends(form);
  }

  std::optional<std::uint64_t> bytes(std::string_view key, const std::string &form) {
    if (in_.next_is_word() && in_.peek().text.substr(0, key.size()) == key) {
      if (const auto value = read_bytes(in_.peek().text.substr(key.size()))) {
        in_.take();
        return value;
      }
    }
    in_.fail(in_.found(), "`" + form + "`");
    return std::nullopt;
  }

  bool memory(instruction &i) {
    const std::string form = "memory used=70GiB total=80GiB";
    const auto used = bytes("used=", form);
    const auto total = used ? bytes("total=", form) : std::nullopt;
    i.index = used.value_or(0);
    i.total = total.value_or(0);
    return total && in_.ends(form);
  }

  bool equals_value(instruction &i, const std::string &form) {
    if (!in_.take_word("=", form)) {
      return false;
    }
    const auto value = in_.next_is_word() ? read_value(in_.peek().text) : std::nullopt;
    if (!value) {
      return in_.fail(in_.found(), "a number, `nan` or `inf`; `" + form + "`");
    }
    in_.take();
    i.value = *value;
    return in_.ends(form);
  }

  bool tensor(instruction &i, const std::vector<std::int32_t> &ranks) {
    const std::string form = "tensor NAME f32[16] = 1.5";
    const auto name = in_.take_name("the tensor's name", form);
    if (!name) {
      return false;
    }
    i.name = *name;
    in_.unsure_tensors.insert(*name); // until the line is known to be good
    const auto what = in_.next_is_word() ? read_shape(in_.peek().text) : std::nullopt;
    if (!what) {
      return in_.fail(in_.found(), "a dtype and up to 8 dims, `" + form + "`");
    }
    if (what->count() > in_.limits().tensor_elements) {
      return in_.fail(shown(in_.peek().text) + " has more than " + std::to_string(in_.limits().tensor_elements) +
                          " elements",
                      "less: the data of a declared tensor are really held");
    }
    in_.take();
    i.type = what->type;
    i.dims = what->dims;
    i.has_data = true;
    if (!equals_value(i, form) || !tensors_.declare(ranks, *name, *what)) {
      return false;
    }
    in_.unsure_tensors.erase(*name);
    return true;
  }

  bool poke(instruction &i, const std::vector<std::int32_t> &ranks) {
    const std::string form = "poke NAME[3] = 2.5";
    const std::string_view word = in_.next_is_word() ? in_.peek().text : std::string_view();
    const std::size_t open = word.find('[');
    const auto index = open != std::string_view::npos && word.back() == ']'
                           ? read_number(word.substr(open + 1, word.size() - open - 2))
                           : std::nullopt;
    if (!index || !is_name(word.substr(0, open))) {
      return in_.fail(in_.found(), "`" + form + "`");
    }
    in_.take();
    i.name = word.substr(0, open);
    i.index = *index;
    const auto what = tensors_.find(ranks, i.name);
    if (!what) {
      return false;
    }
    return *index < what->count() ? equals_value(i, form)
                                  : in_.fail("`" + i.name + "` has no element " + std::to_string(*index),
                                             "an index below " + std::to_string(what->count()));
  }

  bool replicated(instruction &i, const std::vector<std::int32_t> &ranks) {
    const std::string form = "replicated GROUP TENSOR";
    const auto group = in_.take_name("a group", form);
    if (!group || !calls_.in_group(ranks, *group)) {
      return false;
    }
    i.group = *group;
    return finite(i, ranks, form);
  }

  bool finite(instruction &i, const std::vector<std::int32_t> &ranks, const std::string &form = "finite TENSOR") {
    const auto name = in_.take_name("a declared tensor", form);
    i.name = name.value_or("");
    return name && tensors_.find(ranks, *name) && in_.ends(form);
  }

  bool comm_error(instruction &i, const std::vector<std::int32_t> &ranks) {
    const auto group = in_.take_name("a group", "comm_error GROUP \"text\"");
    i.group = group.value_or("");
    return group && calls_.in_group(ranks, *group) && text(i, "comm_error GROUP \"text\"");
  }

  bool mesh_check(instruction &i, const std::vector<std::int32_t> &ranks) {
    const std::string form = "mesh_check MESH AXIS GROUP";
    const auto mesh = in_.take_name("a mesh", form);
    const auto axis = mesh ? in_.take_name("an axis", form) : std::nullopt;
    const auto group = axis ? in_.take_name("a group", form) : std::nullopt;
    if (!group || !calls_.in_group(ranks, *group)) {
      return false;
    }
    for (const std::int32_t r : ranks) {
      if (!has_axis(r, *mesh, *axis)) {
        return in_.fail("rank " + std::to_string(r) + " has no axis `" + *axis + "` of a mesh `" + *mesh + "`",
                        "a mesh of the header that these ranks have");
      }
    }
    i.name = *mesh;
    i.text = *axis;
    i.group = *group;
    return in_.ends(form);
  }

  bool has_axis(std::int32_t rank, const std::string &mesh, const std::string &axis) {
    for (const std::size_t m : in_.view(rank).meshes) {
      const declaration &d = in_.out().declarations[m];
      for (const auto &[name, size] : d.axes) {
        if (d.name == mesh && name == axis) {
          return true;
        }
      }
    }
    return false;
  }

  reader &in_;
  tensor_table &tensors_;
  call_reader &calls_;
};

} // namespace schedule
} // namespace DTDEBUG_ABI
} // namespace dtdebug
