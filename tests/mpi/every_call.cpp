// Makes every MPI call that dtdebug records, legally, on three ranks, and checks what the black box then says.
//
// Built twice: with DT_COLLECTIVE (EVERY_CALL_MACROS) and as plain MPI with the hooks forced in from outside. Exit
// status: 0 all as expected, else 1 with one line per difference.
#if defined(EVERY_CALL_MACROS)
#include <dtdebug/dtdebug.hpp>
#include <dtdebug/mpi.hpp>
#define CALL(...) check((DT_COLLECTIVE(__VA_ARGS__)), #__VA_ARGS__, __LINE__)
#else
#define CALL(function, ...) check(function(__VA_ARGS__), #function, __LINE__)
#endif

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

namespace record = dtdebug::record;
namespace blackbox = dtdebug::blackbox;
using dtdebug::call_state;
using dtdebug::op_kind;

int rank = 0;
int size = 0;
int failures = 0;
std::uint64_t seen = 0; // records that an earlier `expect` has looked at

void check(int result, const char *what, int line) {
  if (result != MPI_SUCCESS) {
    std::printf("rank %d: every_call.cpp:%d: %s returned %d\n", rank, line, what, result);
    ++failures;
  }
}

void require(bool holds, const char *what, int line) {
  if (!holds) {
    std::printf("rank %d: every_call.cpp:%d: not so: %s\n", rank, line, what);
    ++failures;
  }
}
#define REQUIRE(...) require((__VA_ARGS__), #__VA_ARGS__, __LINE__)

/// Records of this thread since the last look.
std::vector<blackbox::record> fresh() {
  std::vector<blackbox::record> out;
  blackbox::ring_header *ring = record::my_ring();
  for (; ring != nullptr && seen < ring->head; ++seen) {
    out.push_back(blackbox::records_of(ring)[seen & (ring->capacity - 1)]);
  }
  return out;
}

/// The fresh records are calls of these ops in this order, all done.
std::vector<blackbox::record> expect(const std::vector<op_kind> &ops, int line) {
  std::vector<blackbox::record> records = fresh();
  bool same = records.size() == ops.size();
  bool done = true;
  for (std::size_t i = 0; i < records.size(); ++i) {
    same = same && records[i].op == static_cast<unsigned>(ops[i]);
    done = done && records[i].state == static_cast<unsigned>(call_state::done);
  }
  if (!same || !done) {
    ++failures;
    std::printf("rank %d: every_call.cpp:%d: recorded:", rank, line);
    for (const blackbox::record &r : records) {
      std::printf(" %s(%s)", dtdebug::name(static_cast<op_kind>(r.op)),
                  dtdebug::name(static_cast<call_state>(r.state)));
    }
    std::printf("\n");
    records.resize(ops.size());
  }
  return records;
}
#define EXPECT(...) expect({__VA_ARGS__}, __LINE__)

std::uint64_t id_of(const blackbox::record &r) { return record::box().groups[r.group].id; }

/// The value is the same on all ranks of `comm`. Not recorded: PMPI.
bool agreed(std::uint64_t value, MPI_Comm comm) {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  PMPI_Allreduce(&value, &low, 1, MPI_UINT64_T, MPI_MIN, comm);
  PMPI_Allreduce(&value, &high, 1, MPI_UINT64_T, MPI_MAX, comm);
  return low == high;
}

struct buffers {
  std::vector<int> in = std::vector<int>(64, 1);
  std::vector<int> out = std::vector<int>(64, 0);
  std::vector<int> ones = std::vector<int>(8, 1);
  std::vector<int> offsets{0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<int> byte_offsets{0, 4, 8, 12, 16, 20, 24, 28};
  std::vector<MPI_Aint> wide_offsets{0, 4, 8, 12, 16, 20, 24, 28};
  std::vector<MPI_Datatype> types = std::vector<MPI_Datatype>(8, MPI_INT);
};

void blocking_collectives(MPI_Comm comm) {
  buffers b;
  int *const in = b.in.data();
  int *const out = b.out.data();
  const int *const ones = b.ones.data();
  const int *const at = b.offsets.data();
  fresh();
  CALL(MPI_Barrier, comm);
  CALL(MPI_Bcast, in, 5, MPI_INT, 1, comm);
  CALL(MPI_Gather, in, 2, MPI_INT, out, 2, MPI_INT, 1, comm);
  CALL(MPI_Scatter, in, 2, MPI_INT, out, 2, MPI_INT, 0, comm);
  CALL(MPI_Allgather, in, 3, MPI_INT, out, 3, MPI_INT, comm);
  CALL(MPI_Alltoall, in, 2, MPI_INT, out, 2, MPI_INT, comm);
  CALL(MPI_Reduce, in, out, 4, MPI_INT, MPI_MAX, 2, comm);
  CALL(MPI_Allreduce, in, out, 6, MPI_INT, MPI_SUM, comm);
  CALL(MPI_Scan, in, out, 1, MPI_INT, MPI_SUM, comm);
  CALL(MPI_Exscan, in, out, 1, MPI_INT, MPI_SUM, comm);
  CALL(MPI_Reduce_scatter_block, in, out, 2, MPI_INT, MPI_SUM, comm);
  const auto even = EXPECT(op_kind::barrier, op_kind::broadcast, op_kind::gather, op_kind::scatter, op_kind::all_gather,
                           op_kind::all_to_all, op_kind::reduce, op_kind::all_reduce, op_kind::scan, op_kind::exscan,
                           op_kind::reduce_scatter);
  const auto n = static_cast<unsigned>(size);
  const unsigned counts[] = {0, 5, 2, 2, 3, 2 * n, 4, 6, 1, 1, 2 * n};
  for (std::size_t i = 0; i < even.size(); ++i) {
    REQUIRE(even[i].count == counts[i]);
    REQUIRE(even[i].seq == even[0].seq + i);
    REQUIRE(agreed(even[i].hard, comm));
    REQUIRE(i == 0 || even[i].type == static_cast<unsigned>(dtdebug::dtype::i32));
  }
  REQUIRE(even[1].root == 1 && even[6].root == 2 && even[7].root == dtdebug::no_rank);
  REQUIRE(even[6].reduce == static_cast<unsigned>(dtdebug::redop::max));

  CALL(MPI_Gatherv, in, 1, MPI_INT, out, ones, at, MPI_INT, 0, comm);
  CALL(MPI_Scatterv, in, ones, at, MPI_INT, out, 1, MPI_INT, 0, comm);
  CALL(MPI_Allgatherv, in, 1, MPI_INT, out, ones, at, MPI_INT, comm);
  CALL(MPI_Alltoallv, in, ones, at, MPI_INT, out, ones, at, MPI_INT, comm);
  CALL(MPI_Alltoallw, in, ones, b.byte_offsets.data(), b.types.data(), out, ones, b.byte_offsets.data(), b.types.data(),
       comm);
  CALL(MPI_Reduce_scatter, in, out, ones, MPI_INT, MPI_SUM, comm);
  const auto uneven = EXPECT(op_kind::gather_v, op_kind::scatter_v, op_kind::all_gather_v, op_kind::all_to_all_v,
                             op_kind::all_to_all_v, op_kind::reduce_scatter_v);
  REQUIRE(uneven[3].extra != 0 && uneven[3].count == n);
  REQUIRE(uneven[4].element_size == 1 && uneven[4].count == 4 * n);
  REQUIRE(uneven[5].count == n);
  for (const blackbox::record &r : uneven) {
    REQUIRE(agreed(r.hard, comm));
  }

  CALL(MPI_Allreduce, MPI_IN_PLACE, in, 0, MPI_DOUBLE, MPI_SUM, comm);
  const auto empty = EXPECT(op_kind::all_reduce);
  REQUIRE((empty[0].flags & dtdebug::flag_no_position) == 0); // MPI matches it like any other
  REQUIRE((empty[0].flags & dtdebug::flag_in_place) != 0);
}

void datatypes() {
  MPI_Datatype row = MPI_DATATYPE_NULL;
  MPI_Datatype column = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(3, MPI_FLOAT, &row);
  MPI_Type_vector(2, 1, 3, MPI_FLOAT, &column);
  MPI_Type_commit(&row);
  MPI_Type_commit(&column);
  float data[12] = {};
  fresh();
  CALL(MPI_Bcast, data, 2, row, 0, MPI_COMM_WORLD);
  CALL(MPI_Bcast, data, 2, column, 0, MPI_COMM_WORLD);
  CALL(MPI_Bcast, data, 6, MPI_BYTE, 0, MPI_COMM_WORLD);
  const auto records = EXPECT(op_kind::broadcast, op_kind::broadcast, op_kind::broadcast);
  REQUIRE(records[0].type == static_cast<unsigned>(dtdebug::dtype::f32) && records[0].count == 6);
  REQUIRE(records[1].type == static_cast<unsigned>(dtdebug::dtype::user) && records[1].element_size == 8);
  REQUIRE(records[2].type == static_cast<unsigned>(dtdebug::dtype::u8) && records[2].count == 6);
  MPI_Type_free(&row);
  MPI_Type_free(&column);
}

void nonblocking_collectives(MPI_Comm comm) {
  buffers b;
  std::vector<std::vector<int>> outs(17, std::vector<int>(64, 0)); // one per call: all are under way at once
  int *const in = b.in.data();
  std::vector<int> shared = b.in; // an MPI_Ibcast must not overlap the others' input
  const int *const ones = b.ones.data();
  const int *const at = b.offsets.data();
  const int *const bytes_at = b.byte_offsets.data();
  const MPI_Datatype *const types = b.types.data();
  std::vector<MPI_Request> r(17, MPI_REQUEST_NULL);
  fresh();
  CALL(MPI_Ibarrier, comm, &r[0]);
  CALL(MPI_Ibcast, shared.data(), 5, MPI_INT, 1, comm, &r[1]);
  CALL(MPI_Igather, in, 2, MPI_INT, outs[2].data(), 2, MPI_INT, 1, comm, &r[2]);
  CALL(MPI_Igatherv, in, 1, MPI_INT, outs[3].data(), ones, at, MPI_INT, 0, comm, &r[3]);
  CALL(MPI_Iscatter, in, 2, MPI_INT, outs[4].data(), 2, MPI_INT, 0, comm, &r[4]);
  CALL(MPI_Iscatterv, in, ones, at, MPI_INT, outs[5].data(), 1, MPI_INT, 0, comm, &r[5]);
  CALL(MPI_Iallgather, in, 3, MPI_INT, outs[6].data(), 3, MPI_INT, comm, &r[6]);
  CALL(MPI_Iallgatherv, in, 1, MPI_INT, outs[7].data(), ones, at, MPI_INT, comm, &r[7]);
  CALL(MPI_Ialltoall, in, 2, MPI_INT, outs[8].data(), 2, MPI_INT, comm, &r[8]);
  CALL(MPI_Ialltoallv, in, ones, at, MPI_INT, outs[9].data(), ones, at, MPI_INT, comm, &r[9]);
  CALL(MPI_Ialltoallw, in, ones, bytes_at, types, outs[10].data(), ones, bytes_at, types, comm, &r[10]);
  CALL(MPI_Ireduce, in, outs[11].data(), 4, MPI_INT, MPI_MAX, 2, comm, &r[11]);
  CALL(MPI_Iallreduce, in, outs[12].data(), 6, MPI_INT, MPI_SUM, comm, &r[12]);
  CALL(MPI_Iscan, in, outs[13].data(), 1, MPI_INT, MPI_SUM, comm, &r[13]);
  CALL(MPI_Iexscan, in, outs[14].data(), 1, MPI_INT, MPI_SUM, comm, &r[14]);
  CALL(MPI_Ireduce_scatter_block, in, outs[15].data(), 2, MPI_INT, MPI_SUM, comm, &r[15]);
  CALL(MPI_Ireduce_scatter, in, outs[16].data(), ones, MPI_INT, MPI_SUM, comm, &r[16]);
  CALL(MPI_Waitall, 17, r.data(), MPI_STATUSES_IGNORE);
  const auto records =
      EXPECT(op_kind::barrier, op_kind::broadcast, op_kind::gather, op_kind::gather_v, op_kind::scatter,
             op_kind::scatter_v, op_kind::all_gather, op_kind::all_gather_v, op_kind::all_to_all, op_kind::all_to_all_v,
             op_kind::all_to_all_v, op_kind::reduce, op_kind::all_reduce, op_kind::scan, op_kind::exscan,
             op_kind::reduce_scatter, op_kind::reduce_scatter_v, op_kind::wait);
  REQUIRE(records[17].count == 17);
  REQUIRE((records[0].flags & dtdebug::flag_nonblocking) != 0 && records[0].left >= records[17].entered);
}

void messages() {
  const int right = (rank + 1) % size;
  const int left = (rank + size - 1) % size;
  int in[4] = {rank, rank, rank, rank};
  int out[4] = {};
  MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status s[2];
  int flag = 0;
  int index = 0;
  int indices[2] = {};
  std::vector<char> space(4096);
  MPI_Buffer_attach(space.data(), static_cast<int>(space.size()));
  const MPI_Comm comm = MPI_COMM_WORLD;

  fresh();
  CALL(MPI_Irecv, out, 2, MPI_INT, left, 7, comm, &r[0]);
  CALL(MPI_Send, in, 2, MPI_INT, right, 7, comm);
  CALL(MPI_Wait, &r[0], MPI_STATUS_IGNORE);
  auto records = EXPECT(op_kind::recv, op_kind::send, op_kind::wait);
  REQUIRE(records[0].root == left && records[1].root == right && records[0].tag == 7 && records[0].count == 2);

  // A wildcard learns its sender and tag, also when the program wants no status.
  CALL(MPI_Irecv, out, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &r[0]);
  CALL(MPI_Issend, in, 1, MPI_INT, right, 8, comm, &r[1]);
  CALL(MPI_Waitall, 2, r, MPI_STATUSES_IGNORE);
  records = EXPECT(op_kind::recv, op_kind::send, op_kind::wait);
  REQUIRE(records[0].root == left && records[0].tag == 8);
  REQUIRE((records[1].flags & dtdebug::flag_synchronous) != 0);

  CALL(MPI_Bsend, in, 1, MPI_INT, right, 9, comm);
  CALL(MPI_Recv, out, 1, MPI_INT, MPI_ANY_SOURCE, 9, comm, MPI_STATUS_IGNORE);
  records = EXPECT(op_kind::send, op_kind::recv);
  REQUIRE(records[1].root == left);
  PMPI_Barrier(comm);

  CALL(MPI_Irecv, out, 1, MPI_INT, left, 10, comm, &r[0]);
  PMPI_Barrier(comm); // a ready send needs its receive
  CALL(MPI_Rsend, in, 1, MPI_INT, right, 10, comm);
  do {
    CALL(MPI_Test, &r[0], &flag, MPI_STATUS_IGNORE);
  } while (flag == 0);
  EXPECT(op_kind::recv, op_kind::send);

  CALL(MPI_Irecv, out, 1, MPI_INT, left, 11, comm, &r[0]);
  PMPI_Barrier(comm);
  CALL(MPI_Irsend, in, 1, MPI_INT, right, 11, comm, &r[1]);
  int left_over = 2;
  while (left_over > 0) {
    CALL(MPI_Waitany, 2, r, &index, &s[0]);
    left_over -= index == MPI_UNDEFINED ? 2 : 1;
  }
  EXPECT(op_kind::recv, op_kind::send, op_kind::wait, op_kind::wait);

  CALL(MPI_Ibsend, in, 1, MPI_INT, right, 12, comm, &r[0]);
  CALL(MPI_Irecv, out, 1, MPI_INT, left, 12, comm, &r[1]);
  for (left_over = 2; left_over > 0;) {
    int done = 0;
    CALL(MPI_Testsome, 2, r, &done, indices, MPI_STATUSES_IGNORE);
    left_over -= done == MPI_UNDEFINED ? 2 : done;
  }
  EXPECT(op_kind::send, op_kind::recv);

  CALL(MPI_Isend, in, 1, MPI_INT, right, 13, comm, &r[0]);
  CALL(MPI_Irecv, out, 1, MPI_INT, left, 13, comm, &r[1]);
  for (left_over = 2; left_over > 0;) {
    int done = 0;
    CALL(MPI_Waitsome, 2, r, &done, indices, s);
    left_over -= done == MPI_UNDEFINED ? 2 : done;
  }
  records = fresh();
  REQUIRE(records.size() >= 3 && records[0].state == static_cast<unsigned>(call_state::done) &&
          records[1].state == static_cast<unsigned>(call_state::done));

  CALL(MPI_Isend, in, 1, MPI_INT, right, 14, comm, &r[0]);
  CALL(MPI_Irecv, out, 1, MPI_INT, left, 14, comm, &r[1]);
  do {
    CALL(MPI_Testall, 2, r, &flag, MPI_STATUSES_IGNORE);
  } while (flag == 0);
  EXPECT(op_kind::send, op_kind::recv);

  CALL(MPI_Irecv, out, 1, MPI_INT, left, 15, comm, &r[0]);
  CALL(MPI_Ssend, in, 1, MPI_INT, right, 15, comm);
  r[1] = MPI_REQUEST_NULL;
  do {
    CALL(MPI_Testany, 2, r, &index, &flag, MPI_STATUS_IGNORE);
  } while (flag == 0);
  EXPECT(op_kind::recv, op_kind::send);

  CALL(MPI_Sendrecv, in, 2, MPI_INT, right, 16, out, 2, MPI_INT, MPI_ANY_SOURCE, 16, comm, MPI_STATUS_IGNORE);
  CALL(MPI_Sendrecv_replace, in, 1, MPI_INT, right, 17, left, 17, comm, &s[0]);
  CALL(MPI_Sendrecv, in, 1, MPI_INT, MPI_PROC_NULL, 18, out, 1, MPI_INT, MPI_PROC_NULL, 18, comm, MPI_STATUS_IGNORE);
  records = EXPECT(op_kind::send, op_kind::recv, op_kind::send, op_kind::recv);
  REQUIRE(records[1].root == left);

  CALL(MPI_Isend, in, 3, MPI_INT, right, 19, comm, &r[0]);
  CALL(MPI_Probe, left, 19, comm, &s[0]);
  do {
    CALL(MPI_Iprobe, MPI_ANY_SOURCE, 19, comm, &flag, MPI_STATUS_IGNORE);
  } while (flag == 0);
  MPI_Message handle = MPI_MESSAGE_NULL;
  CALL(MPI_Mprobe, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &handle, MPI_STATUS_IGNORE);
  CALL(MPI_Mrecv, out, 3, MPI_INT, &handle, MPI_STATUS_IGNORE);
  CALL(MPI_Wait, &r[0], &s[0]);
  records = EXPECT(op_kind::send, op_kind::probe, op_kind::probe, op_kind::recv, op_kind::wait);
  REQUIRE(records[3].root == left && records[3].tag == 19 && records[3].count == 3);

  CALL(MPI_Isend, in, 1, MPI_INT, right, 20, comm, &r[0]);
  do {
    CALL(MPI_Improbe, left, 20, comm, &flag, &handle, &s[0]);
  } while (flag == 0);
  CALL(MPI_Imrecv, out, 1, MPI_INT, &handle, &r[1]);
  CALL(MPI_Waitall, 2, r, s);
  EXPECT(op_kind::send, op_kind::recv, op_kind::wait);

  // A receive that nobody answers, withdrawn: it takes no message's turn.
  CALL(MPI_Irecv, out, 1, MPI_INT, MPI_ANY_SOURCE, 21, comm, &r[0]);
  CALL(MPI_Cancel, &r[0]);
  CALL(MPI_Wait, &r[0], MPI_STATUS_IGNORE);
  records = fresh();
  REQUIRE(records.size() == 2 && records[0].state == static_cast<unsigned>(call_state::aborted) &&
          records[0].root == dtdebug::any_rank);

  CALL(MPI_Isend, in, 1, MPI_INT, right, 22, comm, &r[0]);
  CALL(MPI_Request_free, &r[0]);
  CALL(MPI_Recv, out, 1, MPI_INT, left, 22, comm, &s[0]);
  EXPECT(op_kind::send, op_kind::recv);

  int bytes = 0;
  void *detached = nullptr;
  PMPI_Barrier(comm);
  MPI_Buffer_detach(&detached, &bytes);
}

void persistent() {
  const int right = (rank + 1) % size;
  const int left = (rank + size - 1) % size;
  const MPI_Comm comm = MPI_COMM_WORLD;
  int in = rank;
  int out = 0;
  std::vector<char> space(4096);
  MPI_Buffer_attach(space.data(), static_cast<int>(space.size()));
  MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  fresh();
  CALL(MPI_Recv_init, &out, 1, MPI_INT, MPI_ANY_SOURCE, 30, comm, &r[0]);
  CALL(MPI_Send_init, &in, 1, MPI_INT, right, 30, comm, &r[1]);
  REQUIRE(fresh().empty()); // nothing is issued yet
  for (unsigned i = 0; i < 3; ++i) {
    CALL(MPI_Startall, 2, r);
    CALL(MPI_Waitall, 2, r, MPI_STATUSES_IGNORE);
    const auto records = EXPECT(op_kind::recv, op_kind::send, op_kind::wait);
    REQUIRE(records[0].root == left && records[0].seq == i && records[1].seq == i);
    REQUIRE((records[1].flags & dtdebug::flag_persistent) != 0);
  }
  CALL(MPI_Waitall, 2, r, MPI_STATUSES_IGNORE); // inactive: returns at once
  REQUIRE(fresh().empty());
  CALL(MPI_Request_free, &r[0]);
  CALL(MPI_Request_free, &r[1]);

  const auto one = [&](int tag) {
    PMPI_Irecv(&out, 1, MPI_INT, left, tag, comm, &r[1]);
    PMPI_Barrier(comm);
    CALL(MPI_Start, &r[0]);
    CALL(MPI_Wait, &r[0], MPI_STATUS_IGNORE);
    PMPI_Wait(&r[1], MPI_STATUS_IGNORE);
    CALL(MPI_Request_free, &r[0]);
    EXPECT(op_kind::send, op_kind::wait);
  };
  CALL(MPI_Ssend_init, &in, 1, MPI_INT, right, 31, comm, &r[0]);
  one(31);
  CALL(MPI_Bsend_init, &in, 1, MPI_INT, right, 32, comm, &r[0]);
  one(32);
  CALL(MPI_Rsend_init, &in, 1, MPI_INT, right, 33, comm, &r[0]);
  one(33);
  int bytes = 0;
  void *detached = nullptr;
  PMPI_Barrier(comm);
  MPI_Buffer_detach(&detached, &bytes);

#if DT_DETAIL_MPI_PERSISTENT_COLLECTIVES()
  CALL(MPI_Allreduce_init, &in, &out, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &r[0]);
  REQUIRE(fresh().empty());
  for (int i = 0; i < 2; ++i) {
    CALL(MPI_Start, &r[0]);
    CALL(MPI_Wait, &r[0], MPI_STATUS_IGNORE);
    EXPECT(op_kind::all_reduce, op_kind::wait);
  }
  CALL(MPI_Request_free, &r[0]);
#endif
}

/// One collective on the communicator lands in a group of the right size that all its members know by one id.
void use(MPI_Comm comm, int line) {
  if (comm == MPI_COMM_NULL) {
    return;
  }
  fresh();
  CALL(MPI_Barrier, comm);
  const auto records = expect({op_kind::barrier}, line);
  int members = 0;
  PMPI_Comm_size(comm, &members);
  require(record::box().groups[records[0].group].size == static_cast<unsigned>(members), "size of the group", line);
  require(records[0].group != dtdebug::world::world_group, "not the world", line);
  require(agreed(id_of(records[0]), comm), "id of the group", line);
  require(((records[0].flags & dtdebug::flag_no_position) != 0) == (members == 1), "takes a position", line);
}
#define USE(comm) use(comm, __LINE__)

void free_comm(MPI_Comm &comm) {
  if (comm == MPI_COMM_NULL) {
    return;
  }
  fresh();
  CALL(MPI_Comm_free, &comm);
  const auto records = EXPECT(op_kind::group_free);
  REQUIRE(record::box().groups[records[0].group].state == static_cast<unsigned>(dtdebug::world::slot_state::freed));
}

void communicators() {
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm other = MPI_COMM_NULL;
  fresh();
  CALL(MPI_Comm_dup, world, &made);
  auto records = EXPECT(op_kind::group_create);
  REQUIRE(agreed(id_of(records[0]), world));
  CALL(MPI_Comm_dup_with_info, world, MPI_INFO_NULL, &other);
  USE(made);
  USE(other);
  free_comm(other);
  CALL(MPI_Comm_dup, world, &other);
  USE(other);
  // Equal members, yet two groups.
  CALL(MPI_Barrier, made);
  CALL(MPI_Barrier, other);
  records = EXPECT(op_kind::barrier, op_kind::barrier);
  REQUIRE(id_of(records[0]) != id_of(records[1]) && records[0].seq == 1 && records[1].seq == 1);
  free_comm(made);
  free_comm(other);

  MPI_Request request = MPI_REQUEST_NULL;
  fresh();
  CALL(MPI_Comm_idup, world, &made, &request);
  CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
  EXPECT(op_kind::group_create, op_kind::wait);
  CALL(MPI_Comm_set_name, made, "twin");
  CALL(MPI_Barrier, made);
  records = EXPECT(op_kind::barrier);
  REQUIRE(std::strcmp(record::box().groups[records[0].group].name, "twin") == 0);
  free_comm(made);

  CALL(MPI_Comm_split, world, rank % 2, -rank, &made);
  records = EXPECT(op_kind::group_create);
  REQUIRE(agreed(id_of(records[0]), world));
  USE(made);
  free_comm(made);

  CALL(MPI_Comm_split, world, rank == 0 ? MPI_UNDEFINED : 1, 0, &made);
  EXPECT(op_kind::group_create);
  USE(made);
  free_comm(made);

  CALL(MPI_Comm_split_type, world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
  USE(made);
  free_comm(made);

  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group two = MPI_GROUP_NULL;
  const int first[2] = {1, 0};
  MPI_Comm_group(world, &all);
  MPI_Group_incl(all, 2, first, &two);
  CALL(MPI_Comm_create, world, two, &made);
  USE(made);
  free_comm(made);
  if (rank < 2) {
    CALL(MPI_Comm_create_group, world, two, 5, &made);
    USE(made);
    free_comm(made);
  }
  MPI_Group_free(&two);
  MPI_Group_free(&all);

  const int axes[1] = {size};
  const int periods[1] = {1};
  const int remains[1] = {1};
  CALL(MPI_Cart_create, world, 1, axes, periods, 0, &made);
  CALL(MPI_Cart_sub, made, remains, &other);
  USE(made);
  USE(other);
  free_comm(other);

  buffers b; // neighbourhood collectives on the ring: two neighbours each
  std::vector<std::vector<int>> outs(5, std::vector<int>(64, 0));
  int *const in = b.in.data();
  const int *const ones = b.ones.data();
  const int *const at = b.offsets.data();
  const MPI_Aint *const wide = b.wide_offsets.data();
  const MPI_Datatype *const types = b.types.data();
  fresh();
  CALL(MPI_Neighbor_allgather, in, 1, MPI_INT, outs[0].data(), 1, MPI_INT, made);
  CALL(MPI_Neighbor_allgatherv, in, 1, MPI_INT, outs[0].data(), ones, at, MPI_INT, made);
  CALL(MPI_Neighbor_alltoall, in, 1, MPI_INT, outs[0].data(), 1, MPI_INT, made);
  CALL(MPI_Neighbor_alltoallv, in, ones, at, MPI_INT, outs[0].data(), ones, at, MPI_INT, made);
  CALL(MPI_Neighbor_alltoallw, in, ones, wide, types, outs[0].data(), ones, wide, types, made);
  MPI_Request r[5];
  CALL(MPI_Ineighbor_allgather, in, 1, MPI_INT, outs[0].data(), 1, MPI_INT, made, &r[0]);
  CALL(MPI_Ineighbor_allgatherv, in, 1, MPI_INT, outs[1].data(), ones, at, MPI_INT, made, &r[1]);
  CALL(MPI_Ineighbor_alltoall, in, 1, MPI_INT, outs[2].data(), 1, MPI_INT, made, &r[2]);
  CALL(MPI_Ineighbor_alltoallv, in, ones, at, MPI_INT, outs[3].data(), ones, at, MPI_INT, made, &r[3]);
  CALL(MPI_Ineighbor_alltoallw, in, ones, wide, types, outs[4].data(), ones, wide, types, made, &r[4]);
  CALL(MPI_Waitall, 5, r, MPI_STATUSES_IGNORE);
  const auto exchange = op_kind::neighbor_exchange;
  EXPECT(exchange, exchange, exchange, exchange, exchange, exchange, exchange, exchange, exchange, exchange,
         op_kind::wait);
  free_comm(made);

  std::vector<int> index;
  std::vector<int> edges;
  for (int i = 0; i < size; ++i) {
    edges.push_back((i + size - 1) % size);
    edges.push_back((i + 1) % size);
    index.push_back(2 * (i + 1));
  }
  const int neighbours[2] = {(rank + size - 1) % size, (rank + 1) % size};
  const int degree = 2;
  CALL(MPI_Graph_create, world, size, index.data(), edges.data(), 0, &made);
  USE(made);
  free_comm(made);
  CALL(MPI_Dist_graph_create, world, 1, &rank, &degree, neighbours, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
  USE(made);
  free_comm(made);
  CALL(MPI_Dist_graph_create_adjacent, world, 2, neighbours, MPI_UNWEIGHTED, 2, neighbours, MPI_UNWEIGHTED,
       MPI_INFO_NULL, 0, &made);
  USE(made);
  free_comm(made);

  // Two sides: rank 0 against the others. Peers are counted in the other side, records in both together.
  MPI_Comm side = MPI_COMM_NULL;
  MPI_Comm inter = MPI_COMM_NULL;
  CALL(MPI_Comm_split, world, rank == 0 ? 0 : 1, rank, &side);
  CALL(MPI_Intercomm_create, side, 0, world, rank == 0 ? 1 : 0, 6, &inter);
  fresh();
  int word = rank;
  if (rank == 0) {
    CALL(MPI_Send, &word, 1, MPI_INT, 0, 3, inter);
    records = EXPECT(op_kind::send);
    REQUIRE(records[0].root == 1);
  } else if (rank == 1) {
    CALL(MPI_Recv, &word, 1, MPI_INT, MPI_ANY_SOURCE, 3, inter, MPI_STATUS_IGNORE);
    records = EXPECT(op_kind::recv);
    REQUIRE(records[0].root == 0);
  }
  CALL(MPI_Barrier, inter);
  records = EXPECT(op_kind::barrier);
  REQUIRE((records[0].flags & dtdebug::flag_no_position) != 0);
  REQUIRE(agreed(id_of(records[0]), world) &&
          record::box().groups[records[0].group].size == static_cast<unsigned>(size));
  CALL(MPI_Intercomm_merge, inter, rank == 0 ? 1 : 0, &made);
  USE(made);
  free_comm(made);
  fresh();
  CALL(MPI_Comm_disconnect, &inter);
  EXPECT(op_kind::group_free);
  free_comm(side);

  fresh();
  CALL(MPI_Allreduce, MPI_IN_PLACE, &word, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
  records = EXPECT(op_kind::all_reduce);
  REQUIRE((records[0].flags & dtdebug::flag_no_position) != 0);
}

/// More requests than the table holds at first, ended in another order than begun.
void many_requests() {
  constexpr int number = 1000;
  const int right = (rank + 1) % size;
  const int left = (rank + size - 1) % size;
  std::vector<MPI_Request> r(2 * number);
  std::vector<int> in(number, rank);
  std::vector<int> out(number, -1);
  fresh();
  for (int i = 0; i < number; ++i) {
    const auto at = static_cast<std::size_t>(i);
    CALL(MPI_Irecv, &out[at], 1, MPI_INT, left, 40 + i % 3, MPI_COMM_WORLD, &r[2 * at]);
    CALL(MPI_Isend, &in[at], 1, MPI_INT, right, 40 + i % 3, MPI_COMM_WORLD, &r[2 * at + 1]);
  }
  for (std::size_t i = 0; i < number; ++i) {
    CALL(MPI_Wait, &r[i * 7 % number], MPI_STATUS_IGNORE); // 7 and the number have no common factor
  }
  CALL(MPI_Waitall, number, r.data() + number, MPI_STATUSES_IGNORE);
  const auto records = fresh();
  // An eager send may come back as a request that is complete already and shared by many: those waits are not recorded.
  bool done = records.size() > 2 * number;
  for (const blackbox::record &each : records) {
    done = done && each.state == static_cast<unsigned>(call_state::done);
  }
  REQUIRE(done);
}

} // namespace

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
#if defined(EVERY_CALL_MACROS)
  DT_START();
#endif
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (!record::recording() || size != 3) {
    std::printf("needs a session and three ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  blocking_collectives(MPI_COMM_WORLD);
  datatypes();
  nonblocking_collectives(MPI_COMM_WORLD);
  messages();
  persistent();
  communicators();
  many_requests();
  // Nothing that the ranks agree on may look different to them.
  REQUIRE(agreed(record::box().groups[dtdebug::world::world_group].next_seq, MPI_COMM_WORLD));
  REQUIRE(agreed(record::box().groups[dtdebug::world::world_group].rolling, MPI_COMM_WORLD));
  REQUIRE(record::box().live->groups_unrecorded == 0);
  fresh();
  int sum = 0;
  PMPI_Allreduce(&failures, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  failures = 0;
  MPI_Finalize();
#if defined(EVERY_CALL_MACROS)
  // A plain call here, yet it is seen that it has begun.
  const auto last = fresh();
  REQUIRE(last.size() == 1 && last[0].op == static_cast<unsigned>(op_kind::finalize) &&
          last[0].state == static_cast<unsigned>(call_state::entered));
#endif
  sum += failures;
  if (rank == 0) {
    std::printf("%d differences\n", sum);
  }
  return sum == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
