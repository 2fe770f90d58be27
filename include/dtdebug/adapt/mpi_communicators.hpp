// Creation and end of communicators.
//
// A creation is a group of its own in the black box: its members are those who must come. The record of it is op
// group_create on that group, as diagnose/ expects it. When the new communicator has just these members, the group of
// the creation becomes the communicator's; else it is left and the communicator gets a group of its own.
#pragma once

#include <dtdebug/adapt/mpi_run.hpp>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace adapt::mpi {

namespace detail {

/// "MPI_Comm_split of dp".
struct creation_name {
  char text[96] = {};
  creation_name(const char *call, std::uint16_t parent) noexcept {
    const char *of = parent != world::no_group ? record::box().groups[parent].name : "";
    const char *const parts[] = {call, of[0] != '\0' ? " of " : "", of};
    std::size_t at = 0;
    for (const char *part : parts) {
      for (; *part != '\0' && at + 1 < sizeof text; ++part) {
        text[at++] = *part;
      }
    }
  }
};

/// Ends the group of a creation: it becomes the communicator's, or the communicator gets its own.
inline void adopt(MPI_Comm created, std::uint16_t slot, const member_list &expected) noexcept {
  member_list members;
  int remote_at = 0;
  const bool known = created != MPI_COMM_NULL && members_of(created, members, remote_at);
  if (!known || !(members == expected) || is_inter(created)) {
    world::set_state(record::box(), slot, world::slot_state::freed);
    if (created != MPI_COMM_NULL) {
      find(created);
    }
    return;
  }
  attach(created, slot, remote_at);
  const given_name name(created);
  const numbered_name number(record::box().groups[slot].ordinal);
  world::set_name(record::box().groups[slot], name.or_null() != nullptr ? name.text : number.text);
  world::set_state(record::box(), slot, world::slot_state::live);
}

/// For MPI_Comm_idup, whose new communicator has the members that the creation expected, at its completion.
inline void adopt_by_group(MPI_Comm created, std::uint16_t slot) noexcept {
  member_list members;
  int remote_at = 0;
  if (created != MPI_COMM_NULL && members_of(created, members, remote_at)) {
    adopt(created, slot, members);
  }
}

inline call_desc describe_creation(std::uint16_t slot) noexcept {
  call_desc call;
  call.op = op_kind::group_create;
  call.group = slot;
  return call;
}

/// Runs a creation in which `expected` take part.
template <typename Call>
int run_creation(std::uint32_t site, const char *name, MPI_Comm parent, const member_list &expected, MPI_Comm *created,
                 Call call) {
  const creation_name called(name, find(parent).slot);
  const std::uint16_t slot = add_group(expected, name, called.text, world::slot_state::creating);
  if (slot == world::no_group) {
    return call();
  }
  open_record recorded(site, describe_creation(slot));
  const int result = call();
  if (result == MPI_SUCCESS) {
    adopt(*created, slot, expected);
  } else {
    world::set_state(record::box(), slot, world::slot_state::freed);
  }
  return recorded.end(result);
}

/// Runs a creation in which all members of `parent` take part.
template <typename Call>
int run_creation(std::uint32_t site, const char *name, MPI_Comm parent, MPI_Comm *created, Call call) {
  member_list expected;
  int remote_at = 0;
  if (parent == MPI_COMM_NULL || find(parent).slot == world::no_group || !members_of(parent, expected, remote_at)) {
    return call();
  }
  return run_creation(site, name, parent, expected, created, call);
}

} // namespace detail

// X(name, communicator whose members take part, where the new one goes, parameters, arguments).
#define DT_DETAIL_MPI_CREATIONS(X)                                                                                     \
  X(Comm_dup, comm, created, (MPI_Comm comm, MPI_Comm * created), (comm, created))                                     \
  X(Comm_dup_with_info, comm, created, (MPI_Comm comm, MPI_Info info, MPI_Comm * created), (comm, info, created))      \
  X(Comm_create, comm, created, (MPI_Comm comm, MPI_Group group, MPI_Comm * created), (comm, group, created))          \
  X(Comm_split, comm, created, (MPI_Comm comm, int color, int key, MPI_Comm *created), (comm, color, key, created))    \
  X(Comm_split_type, comm, created, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *created),              \
    (comm, type, key, info, created))                                                                                  \
  X(Cart_create, comm, created,                                                                                        \
    (MPI_Comm comm, int axes, const int *sizes, const int *periods, int reorder, MPI_Comm *created),                   \
    (comm, axes, sizes, periods, reorder, created))                                                                    \
  X(Cart_sub, comm, created, (MPI_Comm comm, const int *remains, MPI_Comm *created), (comm, remains, created))         \
  X(Graph_create, comm, created,                                                                                       \
    (MPI_Comm comm, int nodes, const int *index, const int *edges, int reorder, MPI_Comm *created),                    \
    (comm, nodes, index, edges, reorder, created))                                                                     \
  X(Dist_graph_create, comm, created,                                                                                  \
    (MPI_Comm comm, int n, const int *nodes, const int *degrees, const int *targets, const int *weights,               \
     MPI_Info info, int reorder, MPI_Comm *created),                                                                   \
    (comm, n, nodes, degrees, targets, weights, info, reorder, created))                                               \
  X(Dist_graph_create_adjacent, comm, created,                                                                         \
    (MPI_Comm comm, int indegree, const int *sources, const int *source_weights, int outdegree,                        \
     const int *destinations, const int *destination_weights, MPI_Info info, int reorder, MPI_Comm *created),          \
    (comm, indegree, sources, source_weights, outdegree, destinations, destination_weights, info, reorder, created))   \
  X(Intercomm_create, comm, created,                                                                                   \
    (MPI_Comm comm, int local_leader, MPI_Comm peer_comm, int remote_leader, int tag, MPI_Comm *created),              \
    (comm, local_leader, peer_comm, remote_leader, tag, created))                                                      \
  X(Intercomm_merge, comm, created, (MPI_Comm comm, int high, MPI_Comm *created), (comm, high, created))

#define DT_DETAIL_MPI_TRACE(name, parent, created, parameters, arguments)                                              \
  inline int traced_MPI_##name(std::uint32_t site, DT_DETAIL_MPI_LIST parameters) {                                    \
    return detail::run_creation(site, "MPI_" #name, parent, created, [&] { return PMPI_##name arguments; });           \
  }
DT_DETAIL_MPI_CREATIONS(DT_DETAIL_MPI_TRACE)
#undef DT_DETAIL_MPI_TRACE

/// Only the members of `group` take part.
inline int traced_MPI_Comm_create_group(std::uint32_t site, MPI_Comm comm, MPI_Group group, int tag,
                                        MPI_Comm *created) {
  const auto run = [&] { return PMPI_Comm_create_group(comm, group, tag, created); };
  member_list expected;
  if (group == MPI_GROUP_NULL || !expected.add(group) || expected.size() == 0) {
    return run();
  }
  return detail::run_creation(site, "MPI_Comm_create_group", comm, expected, created, run);
}

inline int traced_MPI_Comm_idup(std::uint32_t site, MPI_Comm comm, MPI_Comm *created, MPI_Request *request) {
  member_list expected;
  int remote_at = 0;
  const comm_info parent = find(comm);
  if (parent.slot == world::no_group || !members_of(comm, expected, remote_at)) {
    return PMPI_Comm_idup(comm, created, request);
  }
  const detail::creation_name called("MPI_Comm_idup", parent.slot);
  const std::uint16_t slot = add_group(expected, "MPI_Comm_idup", called.text, world::slot_state::creating);
  if (slot == world::no_group) {
    return PMPI_Comm_idup(comm, created, request);
  }
  call_desc what = detail::describe_creation(slot);
  what.flags = flag_nonblocking;
  open_record recorded(site, what);
  const int result = recorded.end(PMPI_Comm_idup(comm, created, request), call_state::launched);
  if (result == MPI_SUCCESS) {
    tracked entry;
    entry.call = recorded.reference();
    entry.created = created;
    entry.group = slot;
    requests.put(key_of(*request), entry);
  }
  return result;
}

namespace detail {

template <typename Call>
int run_free(std::uint32_t site, MPI_Comm *comm, Call call) {
  call_desc what;
  what.op = op_kind::group_free;
  what.group = *comm != MPI_COMM_NULL ? find(*comm).slot : world::no_group;
  return what.group != world::no_group ? run_blocking(site, what, call) : call();
}

} // namespace detail

inline int traced_MPI_Comm_free(std::uint32_t site, MPI_Comm *comm) {
  return detail::run_free(site, comm, [&] { return PMPI_Comm_free(comm); });
}

inline int traced_MPI_Comm_disconnect(std::uint32_t site, MPI_Comm *comm) {
  return detail::run_free(site, comm, [&] { return PMPI_Comm_disconnect(comm); });
}

inline int traced_MPI_Comm_set_name(std::uint32_t, MPI_Comm comm, const char *name) {
  const int result = PMPI_Comm_set_name(comm, name);
  if (result == MPI_SUCCESS && name != nullptr && name[0] != '\0') {
    name_group(comm, name);
  }
  return result;
}

} // namespace adapt::mpi
} // namespace DTDEBUG_ABI
} // namespace dtdebug
