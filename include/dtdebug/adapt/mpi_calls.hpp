// Every MPI call that is recorded, as one list of tables: the adapters and the hooks are made from it.
#pragma once

#include <dtdebug/adapt/mpi_collectives.hpp>
#include <dtdebug/adapt/mpi_communicators.hpp>
#include <dtdebug/adapt/mpi_completion.hpp>
#include <dtdebug/adapt/mpi_finish.hpp>
#include <dtdebug/adapt/mpi_messages.hpp>

#define DT_DETAIL_MPI_SEND_PARAMETERS (const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
#define DT_DETAIL_MPI_SEND_ARGUMENTS (data, count, type, to, tag, comm)
#define DT_DETAIL_MPI_ISEND_PARAMETERS                                                                                 \
  (const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
#define DT_DETAIL_MPI_ISEND_ARGUMENTS (data, count, type, to, tag, comm, request)
#define DT_DETAIL_MPI_IRECV_PARAMETERS                                                                                 \
  (void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
#define DT_DETAIL_MPI_IRECV_ARGUMENTS (data, count, type, from, tag, comm, request)

// X(name, parameters, arguments): point-to-point calls.
#define DT_DETAIL_MPI_MESSAGES(X)                                                                                      \
  X(Send, DT_DETAIL_MPI_SEND_PARAMETERS, DT_DETAIL_MPI_SEND_ARGUMENTS)                                                 \
  X(Ssend, DT_DETAIL_MPI_SEND_PARAMETERS, DT_DETAIL_MPI_SEND_ARGUMENTS)                                                \
  X(Bsend, DT_DETAIL_MPI_SEND_PARAMETERS, DT_DETAIL_MPI_SEND_ARGUMENTS)                                                \
  X(Rsend, DT_DETAIL_MPI_SEND_PARAMETERS, DT_DETAIL_MPI_SEND_ARGUMENTS)                                                \
  X(Isend, DT_DETAIL_MPI_ISEND_PARAMETERS, DT_DETAIL_MPI_ISEND_ARGUMENTS)                                              \
  X(Issend, DT_DETAIL_MPI_ISEND_PARAMETERS, DT_DETAIL_MPI_ISEND_ARGUMENTS)                                             \
  X(Ibsend, DT_DETAIL_MPI_ISEND_PARAMETERS, DT_DETAIL_MPI_ISEND_ARGUMENTS)                                             \
  X(Irsend, DT_DETAIL_MPI_ISEND_PARAMETERS, DT_DETAIL_MPI_ISEND_ARGUMENTS)                                             \
  X(Send_init, DT_DETAIL_MPI_ISEND_PARAMETERS, DT_DETAIL_MPI_ISEND_ARGUMENTS)                                          \
  X(Ssend_init, DT_DETAIL_MPI_ISEND_PARAMETERS, DT_DETAIL_MPI_ISEND_ARGUMENTS)                                         \
  X(Bsend_init, DT_DETAIL_MPI_ISEND_PARAMETERS, DT_DETAIL_MPI_ISEND_ARGUMENTS)                                         \
  X(Rsend_init, DT_DETAIL_MPI_ISEND_PARAMETERS, DT_DETAIL_MPI_ISEND_ARGUMENTS)                                         \
  X(Recv, (void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status),            \
    (data, count, type, from, tag, comm, status))                                                                      \
  X(Irecv, DT_DETAIL_MPI_IRECV_PARAMETERS, DT_DETAIL_MPI_IRECV_ARGUMENTS)                                              \
  X(Recv_init, DT_DETAIL_MPI_IRECV_PARAMETERS, DT_DETAIL_MPI_IRECV_ARGUMENTS)                                          \
  X(Sendrecv,                                                                                                          \
    (const void *send, int send_count, MPI_Datatype send_type, int to, int send_tag, void *recv, int recv_count,       \
     MPI_Datatype recv_type, int from, int recv_tag, MPI_Comm comm, MPI_Status *status),                               \
    (send, send_count, send_type, to, send_tag, recv, recv_count, recv_type, from, recv_tag, comm, status))            \
  X(Sendrecv_replace,                                                                                                  \
    (void *data, int count, MPI_Datatype type, int to, int send_tag, int from, int recv_tag, MPI_Comm comm,            \
     MPI_Status *status),                                                                                              \
    (data, count, type, to, send_tag, from, recv_tag, comm, status))                                                   \
  X(Probe, (int from, int tag, MPI_Comm comm, MPI_Status *status), (from, tag, comm, status))                          \
  X(Iprobe, (int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status), (from, tag, comm, flag, status))        \
  X(Mprobe, (int from, int tag, MPI_Comm comm, MPI_Message *handle, MPI_Status *status),                               \
    (from, tag, comm, handle, status))                                                                                 \
  X(Improbe, (int from, int tag, MPI_Comm comm, int *flag, MPI_Message *handle, MPI_Status *status),                   \
    (from, tag, comm, flag, handle, status))                                                                           \
  X(Mrecv, (void *data, int count, MPI_Datatype type, MPI_Message *handle, MPI_Status *status),                        \
    (data, count, type, handle, status))                                                                               \
  X(Imrecv, (void *data, int count, MPI_Datatype type, MPI_Message *handle, MPI_Request *request),                     \
    (data, count, type, handle, request))

// X(name, parameters, arguments): requests.
#define DT_DETAIL_MPI_COMPLETIONS(X)                                                                                   \
  X(Wait, (MPI_Request * request, MPI_Status * status), (request, status))                                             \
  X(Waitall, (int count, MPI_Request *handles, MPI_Status *statuses), (count, handles, statuses))                      \
  X(Waitany, (int count, MPI_Request *handles, int *index, MPI_Status *status), (count, handles, index, status))       \
  X(Waitsome, (int count, MPI_Request *handles, int *done, int *indices, MPI_Status *statuses),                        \
    (count, handles, done, indices, statuses))                                                                         \
  X(Test, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status))                             \
  X(Testall, (int count, MPI_Request *handles, int *flag, MPI_Status *statuses), (count, handles, flag, statuses))     \
  X(Testany, (int count, MPI_Request *handles, int *index, int *flag, MPI_Status *status),                             \
    (count, handles, index, flag, status))                                                                             \
  X(Testsome, (int count, MPI_Request *handles, int *done, int *indices, MPI_Status *statuses),                        \
    (count, handles, done, indices, statuses))                                                                         \
  X(Start, (MPI_Request * request), (request))                                                                         \
  X(Startall, (int count, MPI_Request *handles), (count, handles))                                                     \
  X(Cancel, (MPI_Request * request), (request))                                                                        \
  X(Request_free, (MPI_Request * request), (request))

// X(name, parameters, arguments): communicators whose creation does not fit the table of the others, and the end.
#define DT_DETAIL_MPI_OTHERS(X)                                                                                        \
  X(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *created), (comm, group, tag, created))      \
  X(Comm_idup, (MPI_Comm comm, MPI_Comm * created, MPI_Request * request), (comm, created, request))                   \
  X(Comm_free, (MPI_Comm * comm), (comm))                                                                              \
  X(Comm_disconnect, (MPI_Comm * comm), (comm))                                                                        \
  X(Comm_set_name, (MPI_Comm comm, const char *name), (comm, name))                                                    \
  X(Abort, (MPI_Comm comm, int code), (comm, code))

// The tables of other shapes, reduced to X(name, parameters, arguments) by DT_DETAIL_MPI_ONE of the user.
#define DT_DETAIL_MPI_COLLECTIVE_CALLS(name, small, parameters, arguments)                                             \
  DT_DETAIL_MPI_ONE(name, parameters, arguments)                                                                       \
  DT_DETAIL_MPI_ONE(I##small, (DT_DETAIL_MPI_LIST parameters, MPI_Request * request),                                  \
                    (DT_DETAIL_MPI_LIST arguments, request))
#define DT_DETAIL_MPI_PERSISTENT_CALLS(name, small, parameters, arguments)                                             \
  DT_DETAIL_MPI_ONE(name##_init, (DT_DETAIL_MPI_LIST parameters, MPI_Info info, MPI_Request * request),                \
                    (DT_DETAIL_MPI_LIST arguments, info, request))
#define DT_DETAIL_MPI_CREATION_CALLS(name, parent, created, parameters, arguments)                                     \
  DT_DETAIL_MPI_ONE(name, parameters, arguments)

#if DT_DETAIL_MPI_PERSISTENT_COLLECTIVES()
#define DT_DETAIL_MPI_ALL_PERSISTENT_CALLS DT_DETAIL_MPI_COLLECTIVES(DT_DETAIL_MPI_PERSISTENT_CALLS)
#else
#define DT_DETAIL_MPI_ALL_PERSISTENT_CALLS
#endif

// Expands DT_DETAIL_MPI_ONE(name, parameters, arguments) for every call but MPI_Init, MPI_Init_thread and MPI_Finalize.
#define DT_DETAIL_MPI_ALL_CALLS                                                                                        \
  DT_DETAIL_MPI_COLLECTIVES(DT_DETAIL_MPI_COLLECTIVE_CALLS)                                                            \
  DT_DETAIL_MPI_ALL_PERSISTENT_CALLS                                                                                   \
  DT_DETAIL_MPI_MESSAGES(DT_DETAIL_MPI_ONE)                                                                            \
  DT_DETAIL_MPI_COMPLETIONS(DT_DETAIL_MPI_ONE)                                                                         \
  DT_DETAIL_MPI_CREATIONS(DT_DETAIL_MPI_CREATION_CALLS)                                                                \
  DT_DETAIL_MPI_OTHERS(DT_DETAIL_MPI_ONE)
