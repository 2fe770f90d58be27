// Communicators as groups of the black box: members, identity, name. Everything here is local to the rank.
//
// The identity of a communicator is its content, equal on all members without a message between them: the world ranks
// of its members and how many communicators with just these members this rank has met before.
#pragma once

#include <dtdebug/adapt/mpi_finalize.hpp>
#include <dtdebug/adapt/mpi_include.hpp>
#include <dtdebug/record/description.hpp>
#include <dtdebug/record/session.hpp>

#include <cstdlib>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace adapt::mpi {

/// What is cached on each communicator. `slot` is no_group where its calls are not recorded: the group table is full,
/// or it reaches processes outside of MPI_COMM_WORLD.
struct comm_info {
  std::uint16_t slot = world::no_group;
  bool inter = false;
  int rank = 0;
  int size = 0;        ///< of the remote side for an inter-communicator: what its collectives count in
  int peer_offset = 0; ///< added to a peer's rank to get its position in the group
  bool alone() const noexcept { return !inter && size == 1; }
};

/// World ranks of the members of a group in its order.
class member_list {
public:
  member_list() noexcept = default;
  ~member_list() { std::free(ranks_); }
  member_list(const member_list &) = delete;
  member_list &operator=(const member_list &) = delete;

  /// Appends the members of `group`. False when there is no memory or a member is outside of MPI_COMM_WORLD.
  bool add(MPI_Group group) noexcept {
    int more = 0;
    MPI_Group world = MPI_GROUP_NULL;
    if (PMPI_Group_size(group, &more) != MPI_SUCCESS || PMPI_Comm_group(MPI_COMM_WORLD, &world) != MPI_SUCCESS) {
      return false;
    }
    const auto total = static_cast<std::size_t>(size_) + static_cast<std::size_t>(more);
    auto *grown = static_cast<std::int32_t *>(std::realloc(ranks_, (total + 1) * sizeof(std::int32_t)));
    auto *positions = static_cast<int *>(std::malloc((static_cast<std::size_t>(more) + 1) * sizeof(int)));
    ranks_ = grown != nullptr ? grown : ranks_;
    bool known = grown != nullptr && positions != nullptr;
    if (known) {
      for (int i = 0; i < more; ++i) {
        positions[i] = i;
      }
      known = PMPI_Group_translate_ranks(group, more, positions, world, ranks_ + size_) == MPI_SUCCESS;
      for (int i = 0; i < more; ++i) {
        known = known && ranks_[size_ + i] != MPI_UNDEFINED;
      }
      size_ += more;
    }
    std::free(positions);
    PMPI_Group_free(&world);
    return known;
  }

  bool operator==(const member_list &other) const noexcept {
    return size_ == other.size_ &&
           std::memcmp(ranks_, other.ranks_, static_cast<std::size_t>(size_) * sizeof(std::int32_t)) == 0;
  }
  const std::int32_t *data() const noexcept { return ranks_; }
  int size() const noexcept { return size_; }
  std::int32_t position_of(std::int32_t world_rank) const noexcept {
    for (int i = 0; i < size_; ++i) {
      if (ranks_[i] == world_rank) {
        return i;
      }
    }
    return -1;
  }

private:
  std::int32_t *ranks_ = nullptr;
  int size_ = 0;
};

namespace detail {

inline int my_world_rank() noexcept {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

inline bool is_inter(MPI_Comm comm) noexcept {
  int inter = 0;
  return PMPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS && inter != 0;
}

/// Both sides of an inter-communicator in one list, the side with the lower first world rank in front, so that both
/// sides make the same list. `remote_at` is where the other side begins.
inline bool both_sides(MPI_Group local, MPI_Group remote, member_list &out, int &remote_at) noexcept {
  member_list here;
  member_list there;
  if (!here.add(local) || !there.add(remote) || here.size() == 0 || there.size() == 0) {
    return false;
  }
  const bool local_first = here.data()[0] < there.data()[0];
  remote_at = local_first ? here.size() : 0;
  return out.add(local_first ? local : remote) && out.add(local_first ? remote : local);
}

} // namespace detail

/// Members of a communicator: both sides of an inter-communicator. Cold.
inline bool members_of(MPI_Comm comm, member_list &out, int &remote_at) noexcept {
  remote_at = 0;
  MPI_Group local = MPI_GROUP_NULL;
  if (PMPI_Comm_group(comm, &local) != MPI_SUCCESS) {
    return false;
  }
  bool known = false;
  if (detail::is_inter(comm)) {
    MPI_Group remote = MPI_GROUP_NULL;
    if (PMPI_Comm_remote_group(comm, &remote) == MPI_SUCCESS) {
      known = detail::both_sides(local, remote, out, remote_at);
      PMPI_Group_free(&remote);
    }
  } else {
    known = out.add(local);
  }
  PMPI_Group_free(&local);
  return known;
}

namespace detail {

/// "comm 7": the n-th group of this rank.
struct numbered_name {
  char text[24] = "comm ";
  explicit numbered_name(std::uint64_t number) noexcept {
    char digits[20];
    int count = 0;
    do {
      digits[count++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0 && count < 18);
    for (int i = 0; i < count; ++i) {
      text[5 + i] = digits[count - 1 - i];
    }
  }
};

} // namespace detail

/// Adds a group with an identity of its own for each combination of members and `kind`. `name` null: "comm N".
inline std::uint16_t add_group(const member_list &members, const char *kind, const char *name,
                               world::slot_state state) noexcept {
  const blackbox::box &box = record::box();
  const auto size = static_cast<std::uint32_t>(members.size());
  const std::uint64_t kind_hash = hash_string(kind);
  const std::uint64_t content = world::group_id(members.data(), size, kind_hash, 0);
  world::group_desc what;
  what.id = world::group_id(members.data(), size, kind_hash, blackbox::next_ordinal(box, mix(content, 0x6772)));
  const detail::numbered_name number(__atomic_load_n(&box.live->group_ordinal, __ATOMIC_RELAXED));
  what.name = name != nullptr ? name : number.text;
  what.members = members.data();
  what.size = size;
  what.my_index = members.position_of(detail::my_world_rank());
  what.state = state;
  return world::add_group(box, what);
}

namespace detail {

inline int comm_keyval = MPI_KEYVAL_INVALID; ///< of comm_info
inline int end_keyval = MPI_KEYVAL_INVALID;  ///< on MPI_COMM_SELF: tells that MPI_Finalize has begun
inline std::uint64_t comm_epoch = 1;         ///< atomic; counts up when a handle may have become another communicator

/// MPI frees a communicator: by MPI_Comm_free, or all of them in MPI_Finalize.
inline int forget_comm(MPI_Comm comm, int, void *value, void *) noexcept {
  auto *info = static_cast<comm_info *>(value);
  __atomic_fetch_add(&comm_epoch, 1, __ATOMIC_ACQ_REL);
  if (info != nullptr) {
    if (comm != MPI_COMM_WORLD && record::recording()) {
      world::set_state(record::box(), info->slot, world::slot_state::freed);
    }
    std::free(info);
  }
  return MPI_SUCCESS;
}

/// Creates the keyvals once. Two threads may come at a time under MPI_THREAD_MULTIPLE: the loser drops his.
inline bool make_keyvals() noexcept {
  if (__atomic_load_n(&comm_keyval, __ATOMIC_ACQUIRE) != MPI_KEYVAL_INVALID) {
    return true;
  }
  int mine = MPI_KEYVAL_INVALID;
  if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_comm, &mine, nullptr) != MPI_SUCCESS) {
    return false;
  }
  int expected = MPI_KEYVAL_INVALID;
  if (!__atomic_compare_exchange_n(&comm_keyval, &expected, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    PMPI_Comm_free_keyval(&mine);
    return true;
  }
  if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, note_finalize, &end_keyval, nullptr) == MPI_SUCCESS) {
    PMPI_Comm_set_attr(MPI_COMM_SELF, end_keyval, nullptr);
  }
  return true;
}

/// Attaches a slot to a communicator.
inline comm_info attach(MPI_Comm comm, std::uint16_t slot, int remote_at) noexcept {
  comm_info info;
  info.slot = slot;
  info.inter = is_inter(comm);
  info.peer_offset = info.inter ? remote_at : 0;
  PMPI_Comm_rank(comm, &info.rank);
  if (info.inter) {
    PMPI_Comm_remote_size(comm, &info.size);
  } else {
    PMPI_Comm_size(comm, &info.size);
  }
  auto *kept = static_cast<comm_info *>(std::malloc(sizeof(comm_info)));
  if (kept == nullptr || !make_keyvals()) {
    std::free(kept);
    return info;
  }
  *kept = info;
  PMPI_Comm_set_attr(comm, comm_keyval, kept);
  return info;
}

/// Name that the program gave the communicator by MPI_Comm_set_name; empty if none.
struct given_name {
  char text[MPI_MAX_OBJECT_NAME] = {};
  explicit given_name(MPI_Comm comm) noexcept {
    int length = 0;
    if (PMPI_Comm_get_name(comm, text, &length) != MPI_SUCCESS) {
      text[0] = '\0';
    }
  }
  const char *or_null() const noexcept { return text[0] != '\0' ? text : nullptr; }
};

/// First sight of a communicator.
DT_DETAIL_NOINLINE inline comm_info meet(MPI_Comm comm) noexcept {
  if (comm == MPI_COMM_WORLD) {
    return attach(comm, world::world_group, 0);
  }
  member_list members;
  int remote_at = 0;
  if (!members_of(comm, members, remote_at)) {
    return attach(comm, world::no_group, 0);
  }
  const given_name name(comm);
  return attach(comm, add_group(members, is_inter(comm) ? "inter" : "intra", name.or_null(), world::slot_state::live),
                remote_at);
}

struct last_comm {
  MPI_Comm comm;
  std::uint64_t epoch;
  comm_info info;
};

} // namespace detail

/// What is known of a communicator; registers it at first sight. ~2 ns for the one that the thread used last, else one
/// attribute look-up. Registration is local and cold.
inline comm_info find(MPI_Comm comm) noexcept {
  static thread_local detail::last_comm last{};
  const std::uint64_t epoch = __atomic_load_n(&detail::comm_epoch, __ATOMIC_ACQUIRE);
  if (last.epoch == epoch && last.comm == comm) {
    return last.info;
  }
  if (comm == MPI_COMM_NULL || !detail::make_keyvals()) {
    return {};
  }
  void *kept = nullptr;
  int known = 0;
  PMPI_Comm_get_attr(comm, detail::comm_keyval, &kept, &known);
  last = {comm, epoch, known != 0 ? *static_cast<comm_info *>(kept) : detail::meet(comm)};
  return last.info;
}

} // namespace adapt::mpi

/// Gives a communicator the name that reports use. Local, cold; nothing for MPI_COMM_NULL.
inline void name_group(MPI_Comm comm, const char *label) noexcept {
  if (!record::recording() || label == nullptr) {
    return;
  }
  const std::uint16_t slot = adapt::mpi::find(comm).slot;
  if (slot != world::no_group) {
    world::set_name(record::box().groups[slot], label);
  }
}

/// Descriptions take a communicator for their group: dtdebug::all_reduce(comm, data, dtdebug::sum).
template <>
struct group_handle<MPI_Comm> {
  static std::uint16_t slot_of(MPI_Comm comm) noexcept {
    return record::recording() ? adapt::mpi::find(comm).slot : world::no_group;
  }
};

} // namespace DTDEBUG_ABI
} // namespace dtdebug
