// Arguments of the MPI collectives in the vocabulary of core/: one `fill_X` for MPI_X, MPI_IX and MPI_X_init.
#pragma once

#include <dtdebug/adapt/mpi_groups.hpp>
#include <dtdebug/adapt/mpi_types.hpp>
#include <dtdebug/record/shaped.hpp>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace adapt::mpi {

/// A call on a communicator on its way to the recorder.
struct description {
  comm_info where;
  call_desc call;

  explicit description(MPI_Comm comm, op_kind op) noexcept : where(find(comm)) {
    call.op = op;
    call.group = where.slot;
    record::take_annotation(call);
  }
  bool recorded() const noexcept { return where.slot != world::no_group; }
  bool is_root(int root) const noexcept { return root == (where.inter ? MPI_ROOT : where.rank); }
  void flag(call_flag bit) noexcept { call.flags = static_cast<std::uint8_t>(call.flags | bit); }
};

/// A collective. Zero elements take a position like any other count: the call matches all the same (MPI 3.1 §5.1).
struct collective : description {
  explicit collective(MPI_Comm comm) noexcept : description(comm, op_kind::none) {
    flag(flag_strict_mode);
    if (where.alone() || where.inter) {
      flag(flag_no_position);
    }
  }
};

namespace detail {

/// Space for the splits of one `_v` call of this thread; grows once per thread to the largest communicator.
class split_space {
public:
  split_space() noexcept = default;
  ~split_space() { std::free(words_); }
  split_space(const split_space &) = delete;
  split_space &operator=(const split_space &) = delete;

  /// Two arrays of `count` numbers, null without memory.
  std::int64_t *get(std::size_t count) noexcept {
    if (2 * count > capacity_) {
      auto *grown = static_cast<std::int64_t *>(std::realloc(words_, 2 * count * sizeof(std::int64_t)));
      if (grown == nullptr) {
        return nullptr;
      }
      words_ = grown;
      capacity_ = 2 * count;
    }
    return words_;
  }

private:
  std::int64_t *words_ = nullptr;
  std::size_t capacity_ = 0;
};

inline std::int64_t *splits_of(int members) noexcept {
  static thread_local split_space space;
  return members > 0 ? space.get(static_cast<std::size_t>(members)) : nullptr;
}

constexpr std::uint64_t counted(int count) noexcept { return count > 0 ? static_cast<std::uint64_t>(count) : 0U; }

inline void set_type(call_desc &call, const element &of) noexcept {
  call.type = of.type;
  call.element_size = of.size;
}

inline void set_data(call_desc &call, int count, MPI_Datatype type, int times = 1) noexcept {
  const element of = element_of(type);
  set_type(call, of);
  call.count = counted(count) * of.factor * counted(times);
}

inline void set_root(call_desc &call, int root) noexcept { call.root = root >= 0 ? root : no_rank; }

/// Counts of one side in elements of `call`: a receive type of another size is converted where that comes out even.
inline void put_splits(std::int64_t *to, const call_desc &call, const int *counts, int members,
                       MPI_Datatype type) noexcept {
  const element of = element_of(type);
  const std::uint64_t bytes = of.size * of.factor;
  const std::uint64_t unit = call.element_size != 0 ? call.element_size : 1;
  for (int i = 0; i < members; ++i) {
    to[i] = static_cast<std::int64_t>(counted(counts[i]) * bytes / unit);
  }
}

inline void set_splits(description &d, const int *sent, MPI_Datatype sent_type, const int *received,
                       MPI_Datatype received_type) noexcept {
  const int members = d.where.size;
  std::int64_t *space = d.where.inter ? nullptr : splits_of(members);
  if (space == nullptr) {
    return;
  }
  d.call.split_count = static_cast<std::uint32_t>(members);
  if (sent != nullptr) {
    put_splits(space, d.call, sent, members, sent_type);
    d.call.splits = space;
  }
  if (received != nullptr) {
    put_splits(space + members, d.call, received, members, received_type);
    d.call.recv_splits = space + members;
  }
}

inline std::uint64_t sum_of(const std::int64_t *splits, std::uint32_t count) noexcept {
  std::int64_t sum = 0;
  for (std::uint32_t i = 0; splits != nullptr && i < count; ++i) {
    sum += splits[i];
  }
  return static_cast<std::uint64_t>(sum);
}

inline void fill_reduction(description &d, op_kind kind, const void *send, int count, MPI_Datatype type, MPI_Op op,
                           int times = 1) noexcept {
  d.call.op = kind;
  set_data(d.call, count, type, times);
  d.call.reduce = redop_of(op);
  if (send == MPI_IN_PLACE) {
    d.flag(flag_in_place);
  }
}

/// Splits in bytes, where every member has a type of its own. Types at a neighbour that gets nothing are not looked at.
inline void set_byte_splits(std::int64_t *to, const int *counts, const MPI_Datatype *types, int members) noexcept {
  for (int i = 0; i < members; ++i) {
    to[i] = counts[i] > 0 ? static_cast<std::int64_t>(counted(counts[i]) * bytes_of(types[i])) : 0;
  }
}

} // namespace detail

inline void fill_Barrier(description &d, MPI_Comm) noexcept { d.call.op = op_kind::barrier; }

inline void fill_Bcast(description &d, const void *, int count, MPI_Datatype type, int root, MPI_Comm) noexcept {
  d.call.op = op_kind::broadcast;
  detail::set_data(d.call, count, type);
  detail::set_root(d.call, root);
}

inline void fill_Gather(description &d, const void *send, int send_count, MPI_Datatype send_type, const void *,
                        int recv_count, MPI_Datatype recv_type, int root, MPI_Comm) noexcept {
  d.call.op = op_kind::gather;
  detail::set_root(d.call, root);
  const bool remote_root = d.where.inter && d.is_root(root);
  if (remote_root || (d.is_root(root) && send == MPI_IN_PLACE)) {
    detail::set_data(d.call, recv_count, recv_type);
    d.flag(flag_in_place);
  } else if (root != MPI_PROC_NULL) {
    detail::set_data(d.call, send_count, send_type);
  }
}

inline void fill_Gatherv(description &d, const void *send, int send_count, MPI_Datatype send_type, const void *,
                         const int *recv_counts, const int *, MPI_Datatype recv_type, int root, MPI_Comm) noexcept {
  d.call.op = op_kind::gather_v;
  detail::set_root(d.call, root);
  if (!d.is_root(root)) {
    if (root != MPI_PROC_NULL) {
      detail::set_data(d.call, send_count, send_type);
    }
  } else if (!d.where.inter) {
    const bool in_place = send == MPI_IN_PLACE;
    detail::set_data(d.call, in_place ? recv_counts[d.where.rank] : send_count, in_place ? recv_type : send_type);
    detail::set_splits(d, nullptr, recv_type, recv_counts, recv_type);
  }
}

inline void fill_Scatter(description &d, const void *, int send_count, MPI_Datatype send_type, const void *,
                         int recv_count, MPI_Datatype recv_type, int root, MPI_Comm) noexcept {
  d.call.op = op_kind::scatter;
  detail::set_root(d.call, root);
  if (d.is_root(root)) {
    detail::set_data(d.call, send_count, send_type);
  } else if (root != MPI_PROC_NULL) {
    detail::set_data(d.call, recv_count, recv_type);
  }
}

inline void fill_Scatterv(description &d, const void *, const int *send_counts, const int *, MPI_Datatype send_type,
                          const void *, int recv_count, MPI_Datatype recv_type, int root, MPI_Comm) noexcept {
  d.call.op = op_kind::scatter_v;
  detail::set_root(d.call, root);
  if (!d.is_root(root)) {
    if (root != MPI_PROC_NULL) {
      detail::set_data(d.call, recv_count, recv_type);
    }
  } else if (!d.where.inter) {
    detail::set_data(d.call, send_counts[d.where.rank], send_type);
    detail::set_splits(d, send_counts, send_type, nullptr, send_type);
  }
}

inline void fill_Allgather(description &d, const void *send, int send_count, MPI_Datatype send_type, const void *,
                           int recv_count, MPI_Datatype recv_type, MPI_Comm) noexcept {
  d.call.op = op_kind::all_gather;
  const bool in_place = send == MPI_IN_PLACE;
  detail::set_data(d.call, in_place ? recv_count : send_count, in_place ? recv_type : send_type);
  if (in_place) {
    d.flag(flag_in_place);
  }
}

inline void fill_Allgatherv(description &d, const void *send, int send_count, MPI_Datatype send_type, const void *,
                            const int *recv_counts, const int *, MPI_Datatype recv_type, MPI_Comm) noexcept {
  d.call.op = op_kind::all_gather_v;
  const bool in_place = send == MPI_IN_PLACE;
  detail::set_data(d.call, in_place ? recv_counts[d.where.rank] : send_count, in_place ? recv_type : send_type);
  detail::set_splits(d, nullptr, recv_type, recv_counts, recv_type);
}

inline void fill_Alltoall(description &d, const void *send, int send_count, MPI_Datatype send_type, const void *,
                          int recv_count, MPI_Datatype recv_type, MPI_Comm) noexcept {
  d.call.op = op_kind::all_to_all;
  const bool in_place = send == MPI_IN_PLACE;
  detail::set_data(d.call, in_place ? recv_count : send_count, in_place ? recv_type : send_type, d.where.size);
  if (in_place) {
    d.flag(flag_in_place);
  }
}

inline void fill_Alltoallv(description &d, const void *send, const int *send_counts, const int *,
                           MPI_Datatype send_type, const void *, const int *recv_counts, const int *,
                           MPI_Datatype recv_type, MPI_Comm) noexcept {
  d.call.op = op_kind::all_to_all_v;
  const bool in_place = send == MPI_IN_PLACE;
  const element sent = element_of(in_place ? recv_type : send_type);
  detail::set_type(d.call, sent);
  if (!in_place && element_of(recv_type).size != sent.size) {
    detail::set_type(d.call, {dtype::u8, 1, 1}); // elements of two sizes: pairs are compared in bytes
  }
  detail::set_splits(d, in_place ? recv_counts : send_counts, in_place ? recv_type : send_type, recv_counts, recv_type);
  d.call.count = detail::sum_of(d.call.splits, d.call.split_count);
}

inline void fill_Alltoallw(description &d, const void *send, const int *send_counts, const int *,
                           const MPI_Datatype *send_types, const void *, const int *recv_counts, const int *,
                           const MPI_Datatype *recv_types, MPI_Comm) noexcept {
  d.call.op = op_kind::all_to_all_v;
  detail::set_type(d.call, {dtype::u8, 1, 1});
  const int members = d.where.size;
  std::int64_t *space = d.where.inter ? nullptr : detail::splits_of(members);
  if (space != nullptr) {
    const bool in_place = send == MPI_IN_PLACE;
    detail::set_byte_splits(space, in_place ? recv_counts : send_counts, in_place ? recv_types : send_types, members);
    detail::set_byte_splits(space + members, recv_counts, recv_types, members);
    d.call.splits = space;
    d.call.recv_splits = space + members;
    d.call.split_count = static_cast<std::uint32_t>(members);
    d.call.count = detail::sum_of(space, d.call.split_count);
  }
}

inline void fill_Reduce(description &d, const void *send, const void *, int count, MPI_Datatype type, MPI_Op op,
                        int root, MPI_Comm) noexcept {
  detail::fill_reduction(d, op_kind::reduce, send, count, type, op);
  detail::set_root(d.call, root);
}

inline void fill_Allreduce(description &d, const void *send, const void *, int count, MPI_Datatype type, MPI_Op op,
                           MPI_Comm) noexcept {
  detail::fill_reduction(d, op_kind::all_reduce, send, count, type, op);
}

inline void fill_Scan(description &d, const void *send, const void *, int count, MPI_Datatype type, MPI_Op op,
                      MPI_Comm) noexcept {
  detail::fill_reduction(d, op_kind::scan, send, count, type, op);
}

inline void fill_Exscan(description &d, const void *send, const void *, int count, MPI_Datatype type, MPI_Op op,
                        MPI_Comm) noexcept {
  detail::fill_reduction(d, op_kind::exscan, send, count, type, op);
}

inline void fill_Reduce_scatter_block(description &d, const void *send, const void *, int recv_count, MPI_Datatype type,
                                      MPI_Op op, MPI_Comm) noexcept {
  detail::fill_reduction(d, op_kind::reduce_scatter, send, recv_count, type, op, d.where.size);
}

inline void fill_Reduce_scatter(description &d, const void *send, const void *, const int *recv_counts,
                                MPI_Datatype type, MPI_Op op, MPI_Comm) noexcept {
  detail::fill_reduction(d, op_kind::reduce_scatter_v, send, 0, type, op);
  detail::set_splits(d, recv_counts, type, nullptr, type);
  d.call.count = detail::sum_of(d.call.splits, d.call.split_count);
}

/// Neighbourhood collectives: this rank's share per neighbour where it is one number.
template <typename... Rest>
void fill_Neighbor_allgather(description &d, const void *, int send_count, MPI_Datatype send_type, Rest...) noexcept {
  d.call.op = op_kind::neighbor_exchange;
  detail::set_data(d.call, send_count, send_type);
}
template <typename... Rest>
void fill_Neighbor_allgatherv(description &d, const void *, int send_count, MPI_Datatype send_type, Rest...) noexcept {
  d.call.op = op_kind::neighbor_exchange;
  detail::set_data(d.call, send_count, send_type);
}
template <typename... Rest>
void fill_Neighbor_alltoall(description &d, const void *, int send_count, MPI_Datatype send_type, Rest...) noexcept {
  d.call.op = op_kind::neighbor_exchange;
  detail::set_data(d.call, send_count, send_type);
}
template <typename... Rest>
void fill_Neighbor_alltoallv(description &d, const void *, const int *, const int *, MPI_Datatype send_type,
                             Rest...) noexcept {
  d.call.op = op_kind::neighbor_exchange;
  detail::set_type(d.call, element_of(send_type));
}
template <typename... Rest>
void fill_Neighbor_alltoallw(description &d, const void *, Rest...) noexcept {
  d.call.op = op_kind::neighbor_exchange;
  detail::set_type(d.call, {dtype::u8, 1, 1});
}

} // namespace adapt::mpi
} // namespace DTDEBUG_ABI
} // namespace dtdebug
