// The file that each rank writes: its sections and structures. This is the contract of docs/FORMAT.md.
//
// Every structure has a fixed size on every platform, little gaps, and no pointer. Numbers are in the byte order of the
// machine that wrote the file (`header::endian` tells). A reader finds each table through the section list, so that a
// later version can add sections and lengthen entries without breaking an older reader.
#pragma once

#include <dtdebug/core/call_desc.hpp>

#include <cstddef>
#include <cstdint>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace blackbox {

inline constexpr char file_magic[8] = {'D', 'T', 'B', 'B', 'O', 'X', '\r', '\n'};
inline constexpr std::uint32_t format_version = 1;
inline constexpr std::uint32_t endian_tag = 0x01020304;
inline constexpr std::size_t page_bytes = 4096;

enum class section_kind : std::uint32_t {
  none = 0,
  identity = 1, ///< one `identity`
  live = 2,     ///< one `live_state`
  groups = 3,   ///< `group_slot`; entry 0 is unused, entry 1 is the world
  members = 4,  ///< `member_run`, a pool that group slots point into
  sites = 5,    ///< `site_slot`, open addressing; id = index + 1
  labels = 6,   ///< `label_slot`, open addressing; id = index + 1
  strings = 7,  ///< bytes, zero-terminated strings, first byte 0
  notes = 8,    ///< `note_slot`, a ring
  messages = 9, ///< `message_slot`, open addressing: counters of point-to-point calls
  modules = 10, ///< `module_slot`
  stacks = 11,  ///< `stack_slot`: the threads at the last freeze
  rings = 12,   ///< `ring_header` + records + extra words, one per recording thread
};

struct section {
  std::uint32_t kind;        ///< section_kind
  std::uint32_t entry_bytes; ///< distance of two entries; at least the size of the structure of the same version
  std::uint64_t offset;      ///< from the start of the file, page aligned
  std::uint64_t entries;
};

inline constexpr std::uint32_t max_sections = 32;

struct header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t endian;
  std::uint32_t header_bytes; ///< size of this structure as written
  std::uint32_t section_count;
  std::uint64_t file_bytes; ///< size that the sections need; rings that were never used may lie in a hole
  std::uint64_t ready;      ///< 1 once everything but the rings is initialised
  section sections[max_sections];
};

struct identity {
  std::uint32_t rank;
  std::uint32_t world_size;
  std::uint32_t local_rank;
  std::uint32_t pid;
  std::uint64_t process_start; ///< clock ticks since boot, field 22 of /proc/<pid>/stat: tells a reused pid apart
  std::uint64_t start_wall_ns; ///< CLOCK_REALTIME at start
  std::uint64_t start_mono_ns; ///< CLOCK_MONOTONIC at start, read together with start_ticks
  std::uint64_t start_ticks;   ///< time stamp counter (or CLOCK_MONOTONIC ns where there is none)
  std::uint64_t boot_id_hash;
  std::uint32_t uid;
  std::uint32_t launcher; ///< launcher_kind
  char host[64];
  char job[64]; ///< job id: files of other jobs in one folder are not mixed
  char program[256];
  char command_line[512];
  char library_version[32];
};

/// How the process ended, as it could say itself.
enum class end_state : std::uint32_t {
  running = 0,
  clean = 1,
  exited = 2,
  crashed = 3,
  terminated = 4, ///< it was told to end (SIGTERM of a launcher, DTDEBUG_ON_HANG=abort): a consequence, not a cause
};

struct live_state {
  std::uint64_t heartbeat_ticks;   ///< last tick of the watchdog
  std::uint64_t heartbeat_mono_ns; ///< CLOCK_MONOTONIC at the same moment: second point of the tick calibration
  std::uint32_t end;               ///< end_state
  std::uint32_t exit_code;
  std::uint32_t signal;
  std::uint32_t disabled; ///< not 0: dtdebug switched itself off on this rank; an errno value or 1
  std::uint64_t end_ticks;
  std::uint64_t fault_address;
  std::uint64_t step; ///< step + 1; 0 before the first DT_STEP
  std::uint64_t step_ticks;
  std::uint32_t phase; ///< label id; 0 is none
  std::uint32_t level; ///< DTDEBUG_LEVEL in force
  std::uint64_t phase_ticks;
  std::uint64_t timeout_ns;
  std::uint64_t frozen_epoch; ///< last diagnosis for which this rank wrote its stacks
  std::uint64_t string_bytes; ///< used bytes of the string pool
  std::uint64_t member_runs;  ///< entries of the member pool that belong to a group slot
  std::uint64_t note_head;    ///< notes written so far
  std::uint64_t module_count;
  std::uint64_t stack_count;
  std::uint64_t ring_count;        ///< no ring from this index on was ever claimed
  std::uint64_t group_count;       ///< group slots in use, free ones included
  std::uint64_t group_ordinal;     ///< groups created so far
  std::uint64_t calls_unrecorded;  ///< calls that found no ring
  std::uint64_t groups_unrecorded; ///< groups that found no slot
  std::uint64_t labels_unrecorded;
  std::uint64_t sites_unrecorded;
  std::uint64_t strings_cut;
  std::uint64_t messages_untracked; ///< point-to-point calls whose counter found no slot
  std::uint64_t members_unrecorded; ///< groups whose member list found no room in the pool
};

/// `count` world ranks: first, first + stride, …
struct member_run {
  std::int32_t first;
  std::int32_t stride;
  std::uint32_t count;
};

/// Sum over the positions of one block of 64 of mix(hard fingerprint, position). A sum does not depend on the order in
/// which threads add to it. Only a block with `filled` == 64 says something.
struct hash_block {
  std::uint64_t block; ///< index of the block + 1; 0 is empty
  std::uint64_t sum;
  std::uint64_t filled;
};
inline constexpr std::uint32_t block_positions = 64;
inline constexpr std::uint32_t blocks_per_group = 256;

struct group_slot {
  std::uint64_t id; ///< content hash, equal on all members; 0: slot not in use
  std::uint64_t next_seq;
  std::uint64_t rolling;
  std::uint64_t created_ticks; ///< 0 while the slot is being written; records that were entered before are another's
  std::uint32_t state;         ///< model::group_state: 1 creating, 2 live, 3 freed
  std::uint32_t ordinal;
  std::uint32_t size;
  std::int32_t my_index;
  std::uint32_t first_run; ///< index into the member pool
  std::uint32_t
      run_count; ///< entries of the pool that belong to this slot; runs of 0 members are spare. No members: not known
  std::uint64_t timeout_ns; ///< 0: the session's
  char name[64];
  char mesh[32];
  char axis[32];
  hash_block blocks[blocks_per_group];
};

struct site_slot {
  std::uint64_t key; ///< hash of the content; 0 empty, 1 being written
  std::uint64_t pc;  ///< return address for a site without a line
  std::uint32_t line;
  std::uint32_t file; ///< offset into the string pool; 0 none
  std::uint32_t function;
  std::uint32_t text;
};

struct label_slot {
  std::uint64_t key; ///< hash_string of the text; 0 empty, 1 being written
  char text[56];     ///< zero-terminated, cut
};

struct note_slot {
  std::uint64_t ticket; ///< n + 1 of the n-th note; 0 empty or being written
  std::uint64_t ticks;
  std::uint64_t value;
  std::uint64_t value2;
  std::uint64_t ordinal; ///< k-th of this kind and name
  std::uint64_t order;   ///< calls that this rank had recorded before
  std::uint64_t step;    ///< step + 1
  std::uint32_t kind;    ///< model::note_kind
  std::uint32_t group;   ///< slot
  char name[64];
  char text[128];
};

struct message_slot {
  std::uint64_t key; ///< hash of (group, peer, direction, tag); its low 16 bits are the group slot; 0 empty
  std::uint64_t count;
};

struct module_slot {
  std::uint64_t base;  ///< load bias
  std::uint64_t begin; ///< first mapped address
  std::uint64_t end;
  std::uint32_t path; ///< offset into the string pool
  std::uint32_t build_id_bytes;
  unsigned char build_id[32];
};

inline constexpr std::uint32_t max_frames = 60;

struct stack_slot {
  std::uint32_t tid;
  std::uint32_t frame_count;
  std::uint32_t answered;
  char state; ///< from /proc: R S D T t Z
  char pad[3];
  char name[16];
  char wait[64];                    ///< wchan or system call, where readable
  std::uint64_t frames[max_frames]; ///< return addresses, innermost first
};

/// Values of `ring_header::used`.
enum class ring_use : std::uint32_t {
  never = 0,  ///< its records are a hole in the file
  owned = 1,  ///< by the thread `tid`
  left = 2,   ///< by a thread that ended; its records stay until another thread takes the ring and overwrites them
  taking = 3, ///< a thread is taking it
};

struct ring_header {
  std::uint64_t head; ///< records issued so far
  std::uint32_t tid;
  std::uint32_t used;        ///< ring_use
  std::uint32_t capacity;    ///< records, a power of two
  std::uint32_t extra_words; ///< size of the extra area, a power of two
  std::uint64_t extra_head;  ///< words written so far
  char thread_name[16];
  char pad[80];
};

/// One call. Two cache lines. `ticket` is the guard of a seqlock: odd while the record is being written, then 2 (n + 1)
/// for the n-th record of the ring.
struct record {
  std::uint64_t ticket;
  std::uint64_t hard;
  std::uint64_t entered; ///< ticks
  std::uint64_t left;    ///< ticks; 0 while pending
  std::uint64_t count;
  std::uint64_t seq;
  std::uint32_t dims[max_dims];
  std::uint32_t soft;  ///< soft fingerprint, folded to 32 bits
  std::uint32_t site;  ///< id; 0 unknown
  std::uint32_t label; ///< id; 0 none
  std::int32_t root;   ///< position in the group
  std::int32_t tag;
  std::uint32_t step;  ///< step + 1
  std::uint32_t extra; ///< splits: word offset + 1 in the extra area; 0 none
  std::uint32_t element_size;
  std::uint16_t group; ///< slot
  std::uint16_t stream;
  std::uint16_t batch;
  std::uint8_t op;
  std::uint8_t type;
  std::uint8_t reduce;
  std::uint8_t state;
  std::uint8_t flags;
  std::uint8_t shape;   ///< number of dims; bit 7: dims were given by the program
  std::uint16_t phase;  ///< label id
  std::uint16_t result; ///< library's return code, cut to 16 bits; 0 success or not known
};

/// Splits of a `_v` call in the extra area: owner word, n sent | n received << 32, then the counts.
inline constexpr std::uint32_t extra_header_words = 2;

/// First word of the splits of the record with this ticket. No count of elements is as large as this, so that counts
/// which overwrote an owner word are never taken for one.
constexpr std::uint64_t extra_owner(std::uint64_t ticket) noexcept { return ~ticket; }

static_assert(sizeof(section) == 24 && sizeof(header) == 40 + 24 * max_sections, "header is part of the file format");
static_assert(sizeof(identity) == 64 + 64 + 64 + 256 + 512 + 32, "identity is part of the file format");
static_assert(sizeof(live_state) == 216, "live_state is part of the file format");
static_assert(sizeof(member_run) == 12 && sizeof(hash_block) == 24, "group tables are part of the file format");
static_assert(sizeof(group_slot) == 192 + 24 * blocks_per_group, "group_slot is part of the file format");
static_assert(sizeof(site_slot) == 32 && sizeof(label_slot) == 64, "names are part of the file format");
static_assert(sizeof(note_slot) == 256 && sizeof(message_slot) == 16, "notes are part of the file format");
static_assert(sizeof(module_slot) == 64 && sizeof(stack_slot) == 96 + 8 * max_frames,
              "stacks are part of the file format");
static_assert(sizeof(ring_header) == 128 && sizeof(record) == 128, "rings are part of the file format");
static_assert(offsetof(record, dims) == 48 && offsetof(record, soft) == 80 && offsetof(record, group) == 112 &&
                  offsetof(record, state) == 121 && offsetof(record, result) == 126,
              "record is part of the file format");

/// Capacities of the tables of a new file.
struct capacities {
  std::uint32_t ring_records = 4096; ///< a power of two, 64 … 2^20
  std::uint32_t ring_extra_words = 4096;
  std::uint32_t rings = 64;
  std::uint32_t groups = 128;
  std::uint32_t member_runs = 4096;
  std::uint32_t sites = 4096;
  std::uint32_t labels = 2048;
  std::uint32_t string_bytes = 256 * 1024;
  std::uint32_t notes = 512;
  std::uint32_t messages = 4096;
  std::uint32_t modules = 512;
  std::uint32_t stacks = 128;
};

} // namespace blackbox
} // namespace DTDEBUG_ABI
} // namespace dtdebug
