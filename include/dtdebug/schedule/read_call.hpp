// Reads the statements that communicate: collectives, send, recv.
#pragma once

#include <dtdebug/schedule/reader.hpp>

#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace schedule {

/// Declared tensors, as each rank knows them.
class tensor_table {
public:
  explicit tensor_table(reader &in) : in_(in) {}

  /// False and a problem if a rank has one of that name already.
  bool declare(const std::vector<std::int32_t> &ranks, const std::string &name, const shape &what) {
    for (const std::int32_t r : ranks) {
      if (!known_.emplace(std::pair(name, r), what).second) {
        return in_.fail("rank " + std::to_string(r) + " has a tensor `" + name + "` already", "another name");
      }
    }
    return true;
  }

  /// The tensor that all these ranks mean by the name.
  std::optional<shape> find(const std::vector<std::int32_t> &ranks, const std::string &name) {
    std::optional<shape> common;
    for (const std::int32_t r : ranks) {
      const auto found = known_.find({name, r});
      if (found == known_.end()) {
        if (in_.unsure_tensors.count(name) == 0) {
          in_.fail("rank " + std::to_string(r) + " has no tensor `" + name + "`",
                   "a shape such as `f32[1024]`, or a tensor that was declared above for these ranks");
        } else {
          in_.fail("the declaration of `" + name + "` failed");
        }
        return std::nullopt;
      }
      if (common && !(*common == found->second)) {
        in_.fail("`" + name + "` is not the same tensor on all these ranks", "one line for each shape");
        return std::nullopt;
      }
      common = found->second;
    }
    return common;
  }

private:
  reader &in_;
  std::map<std::pair<std::string, std::int32_t>, shape> known_;
};

class call_reader {
public:
  call_reader(reader &in, tensor_table &tensors) : in_(in), tensors_(tensors) {}

  /// The rest of a line after its verb; fills `n.what`.
  bool read(node &n, const verb_name &verb, const std::vector<std::int32_t> &ranks) {
    instruction &i = n.what;
    i.what = verb::call;
    i.op = verb.op;
    const std::string form = form_of(verb);
    const auto group = in_.take_name("a group", form);
    if (!group || !in_group(ranks, *group)) {
      return false;
    }
    i.group = *group;
    return (i.op == op_kind::barrier || data(i, ranks, form)) && (!is_reduction(i.op) || redop(i, form)) &&
           options(n, form) && agrees_with_members(i, ranks);
  }

  /// True if every rank has the group.
  bool in_group(const std::vector<std::int32_t> &ranks, const std::string &group) {
    for (const std::int32_t r : ranks) {
      if (members_of(in_.out(), r, group) == nullptr) {
        return in_.fail("rank " + std::to_string(r) + " has no group `" + group + "`",
                        in_.unsure_groups.count(group) == 0
                            ? "`group " + group + " RANKS` in the header, with this rank"
                            : "its declaration to be mended");
      }
    }
    return true;
  }

private:
  static std::string form_of(const verb_name &verb) {
    std::string form = std::string(verb.text) + " GROUP";
    form += verb.op == op_kind::barrier ? "" : " TENSOR";
    form += is_reduction(verb.op) ? " REDOP" : "";
    form += is_rooted(verb.op) ? " root=R" : "";
    form += verb.op == op_kind::send ? " to=R" : verb.op == op_kind::recv ? " from=R" : "";
    form += verb.op == op_kind::all_to_all_v ? " splits=n,n,… recv=n,n,…" : "";
    return form;
  }

  bool data(instruction &i, const std::vector<std::int32_t> &ranks, const std::string &form) {
    if (!in_.next_is_word()) {
      return in_.fail(in_.found(), "a tensor, `" + form + "`");
    }
    const std::string word(in_.take().text);
    std::optional<shape> what;
    if (word.find('[') != std::string::npos) {
      what = read_shape(word);
      if (!what) {
        return in_.fail(shown(word) + " is no tensor", "a dtype and up to 8 dims, such as `f32[1024,4096]` or `i64[]`");
      }
    } else {
      what = tensors_.find(ranks, word);
      if (!what) {
        return false;
      }
      i.tensor = word;
    }
    i.type = what->type;
    i.dims = what->dims;
    i.has_data = true;
    return true;
  }

  bool redop(instruction &i, const std::string &form) {
    for (const auto op : schedule_redops) {
      if (in_.next_is_word() && in_.peek().text == name(op)) {
        in_.take();
        i.reduce = op;
        return true;
      }
    }
    return in_.fail(in_.found(), "one of sum, prod, min, max, avg; `" + form + "`");
  }

  bool options(node &n, const std::string &form) {
    std::set<std::string, std::less<>> seen;
    instruction &i = n.what;
    while (!in_.at_end()) {
      const token t = in_.take();
      const bool site = !t.quoted && t.text[0] == '@';
      const std::size_t equals = t.quoted ? std::string_view::npos : t.text.find('=');
      const std::string key = t.quoted ? "label" : site ? "@" : std::string(t.text.substr(0, equals));
      if (!t.quoted && !site && equals == std::string_view::npos) {
        return in_.fail("found " + shown(t), "`" + form + "`, then a label in quotes or `@file:line`");
      }
      if (!seen.insert(key).second) {
        return in_.fail("`" + key + "` is given twice", "each once");
      }
      if (t.quoted) {
        i.label = t.text;
      } else if (site) {
        const auto place = read_site(t.text.substr(1));
        if (!place) {
          return in_.fail("found " + shown(t), "`@file:line`");
        }
        i.file = place->first;
        i.line = place->second;
        n.has_site = true;
      } else if (!option(i, key, t.text.substr(equals + 1), t, form)) {
        return false;
      }
    }
    return wants(i, seen, form);
  }

  bool option(instruction &i, const std::string &key, std::string_view value, const token &t, const std::string &form) {
    const bool p2p = is_point_to_point(i.op);
    if (key == "stream") {
      i.stream = value;
      return is_name(value) || in_.fail("found " + shown(t), "`stream=NAME`");
    }
    if ((key == "root" && is_rooted(i.op)) || (key == "to" && i.op == op_kind::send) ||
        (key == "from" && i.op == op_kind::recv)) {
      const auto rank = in_.read_rank(value);
      i.root = rank.value_or(no_rank);
      return rank.has_value();
    }
    if (key == "tag" && p2p) {
      const auto tag = read_number(value, 0x7fffffff);
      i.tag = static_cast<std::int32_t>(tag.value_or(0));
      return tag || in_.fail("found " + shown(t), "`tag=n`");
    }
    if ((key == "splits" || key == "recv") && i.op == op_kind::all_to_all_v) {
      const auto numbers = read_numbers(value, std::uint64_t{1} << 40U);
      if (!numbers) {
        return in_.fail("found " + shown(t), "`" + key + "=n,n,…`, one for each member");
      }
      (key == "splits" ? i.splits : i.recv_splits).assign(numbers->begin(), numbers->end());
      return true;
    }
    return in_.fail("found " + shown(t), "`" + form + "`");
  }

  bool wants(const instruction &i, const std::set<std::string, std::less<>> &seen, const std::string &form) {
    const auto need = [&](const char *key) {
      return seen.count(key) != 0 || in_.fail("`" + std::string(key) + "=` is missing", "`" + form + "`");
    };
    return (!is_rooted(i.op) || need("root")) && (i.op != op_kind::send || need("to")) &&
           (i.op != op_kind::recv || need("from")) &&
           (i.op != op_kind::all_to_all_v || (need("splits") && need("recv")));
  }

  bool agrees_with_members(const instruction &i, const std::vector<std::int32_t> &ranks) {
    const std::uint64_t count = shape{i.type, i.dims}.count();
    for (const std::int32_t r : ranks) {
      const std::vector<std::int32_t> &members = *members_of(in_.out(), r, i.group);
      if (i.root != no_rank && std::find(members.begin(), members.end(), i.root) == members.end()) {
        return in_.fail("rank " + std::to_string(i.root) + " is not in the group `" + i.group + "` of rank " +
                            std::to_string(r),
                        "one of its members, " + rank_set(members).text());
      }
      if ((i.op == op_kind::reduce_scatter || i.op == op_kind::all_to_all) && count % members.size() != 0) {
        return in_.fail(std::to_string(count) + " elements do not divide among " + std::to_string(members.size()) +
                            " members",
                        "a multiple: the tensor is the whole input");
      }
      if (i.op == op_kind::all_to_all_v) {
        if (i.splits.size() != members.size() || i.recv_splits.size() != members.size()) {
          return in_.fail("`splits` and `recv` name " + std::to_string(i.splits.size()) + " and " +
                              std::to_string(i.recv_splits.size()) + " members",
                          std::to_string(members.size()) + " numbers each, one for each member in group order");
        }
        const std::int64_t sum = std::accumulate(i.splits.begin(), i.splits.end(), std::int64_t{0});
        if (static_cast<std::uint64_t>(sum) != count) {
          return in_.fail("`splits` add up to " + std::to_string(sum) + ", the tensor has " + std::to_string(count) +
                              " elements",
                          "equal numbers");
        }
      }
    }
    return true;
  }

  reader &in_;
  tensor_table &tensors_;
};

} // namespace schedule
} // namespace DTDEBUG_ABI
} // namespace dtdebug
