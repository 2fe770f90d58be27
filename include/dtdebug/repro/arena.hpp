// Memory that all ranks of a local job share: one lock, a wake-up word for each rank, calls in flight, and a heap.
#pragma once

#include <dtdebug/core/call_desc.hpp>
#include <dtdebug/repro/futex.hpp>
#include <dtdebug/repro/robust_mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include <sys/mman.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace repro {

/// Where a call in flight stands.
enum class flight : std::uint32_t {
  free = 0,
  started = 1, ///< at its meeting point
  done = 2,    ///< over; what it received is in the heap until its rank takes it
};

/// One call in flight. Lives in the arena, guarded by its lock. Offsets are into the heap; 0 is none.
struct call_in_flight {
  flight state;
  op_kind op;
  dtype type;
  redop reduce;
  std::int32_t rank;  ///< in the world
  std::int32_t index; ///< in the group
  std::int32_t root;  ///< index in the group of the root, or of the peer of a send or recv; any_rank
  std::int32_t tag;   ///< of a message; any_tag
  std::uint32_t members;
  std::uint64_t meeting; ///< of a message: 0 until the two ends have found each other
  std::uint64_t group;   ///< of a message
  std::uint64_t number;  ///< of a message: among those of its channel; of a wildcard receive: not used
  std::uint64_t order;   ///< of posting, over all ranks
  std::uint64_t count;
  std::uint32_t element_size;
  std::uint64_t input;  ///< bytes of the input, or 0: zeros
  std::uint64_t output; ///< result
  std::uint64_t output_bytes;
  std::uint64_t splits; ///< 2 × members numbers: what is sent to and expected from each
};

/// Made before the ranks are forked; the mapping is inherited. Pages are only used once they are touched.
class arena {
public:
  static constexpr std::uint32_t most_ranks = 4096;
  static constexpr std::uint32_t most_calls = 1U << 18U;
  static constexpr std::uint64_t heap_bytes = std::uint64_t{1} << 36U;

  arena() noexcept {
    void *at = ::mmap(nullptr, total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED) {
      shared_ = new (at) header;
      if (!shared_->lock.create()) {
        ::munmap(at, total_bytes);
        shared_ = nullptr;
        return;
      }
      shared_->heap_end = block_bytes; // offset 0 is none
    }
  }
  ~arena() {
    if (shared_ != nullptr) {
      ::munmap(shared_, total_bytes);
    }
  }
  arena(const arena &) = delete;
  arena &operator=(const arena &) = delete;

  /// False when the system gave no memory: then nothing may be used.
  bool ready() const noexcept { return shared_ != nullptr; }

  robust_mutex &lock() const noexcept { return shared_->lock; }
  std::uint32_t *wake_word(std::int32_t rank) const noexcept { return &shared_->wake[rank]; }

  // All below: with the lock held.

  std::uint32_t calls_in_use() const noexcept { return shared_->calls_in_use; }
  call_in_flight &call(std::uint32_t index) const noexcept { return calls()[index]; }
  /// Another number for each call: 1, 2, …
  std::uint64_t next_order() noexcept { return ++shared_->orders; }

  /// A free place; most_calls when there is none.
  std::uint32_t take_call() noexcept {
    std::uint32_t at = 0;
    while (at < shared_->calls_in_use && calls()[at].state != flight::free) {
      ++at;
    }
    if (at < most_calls && at == shared_->calls_in_use) {
      ++shared_->calls_in_use;
    }
    return at;
  }

  void free_call(std::uint32_t index) noexcept {
    call_in_flight &c = calls()[index];
    const std::uint64_t blocks[] = {c.input, c.output, c.splits};
    c = call_in_flight{};
    in_order();
    for (const std::uint64_t block : blocks) {
      release(block);
    }
    while (shared_->calls_in_use > 0 && calls()[shared_->calls_in_use - 1].state == flight::free) {
      --shared_->calls_in_use;
    }
  }

  /// Memory of the heap; 0 when it is full. Freed blocks of the same size class are used again.
  std::uint64_t allocate(std::uint64_t bytes) noexcept {
    const unsigned size_class = class_of(bytes);
    std::uint64_t &list = shared_->free_blocks[size_class];
    if (list != 0) {
      const std::uint64_t at = list;
      std::memcpy(&list, data(at), sizeof list);
      return at;
    }
    const std::uint64_t size = block_bytes + (std::uint64_t{1} << size_class);
    if (shared_->heap_end + size > heap_bytes) {
      return 0;
    }
    const std::uint64_t at = shared_->heap_end + block_bytes;
    shared_->heap_end += size;
    const std::uint64_t remembered = size_class;
    std::memcpy(data(at) - sizeof remembered, &remembered, sizeof remembered);
    return at;
  }

  void release(std::uint64_t at) noexcept {
    if (at == 0) {
      return;
    }
    std::uint64_t size_class = 0;
    std::memcpy(&size_class, data(at) - sizeof size_class, sizeof size_class);
    std::uint64_t &list = shared_->free_blocks[size_class];
    std::memcpy(data(at), &list, sizeof list);
    in_order();
    list = at;
  }

  unsigned char *data(std::uint64_t at) const noexcept {
    return reinterpret_cast<unsigned char *>(shared_) + heap_begin + at;
  }

  /// What was written before is in memory before what is written after, for whoever finds it when this process was
  /// killed in between: others then lose a block or a place, never their way.
  static void in_order() noexcept { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

private:
  static constexpr std::uint64_t block_bytes = 64; ///< before each block, for its size class; keeps blocks aligned

  struct header {
    robust_mutex lock;
    std::uint32_t calls_in_use;
    std::uint64_t orders;
    std::uint64_t heap_end;
    std::uint64_t free_blocks[64];
    std::uint32_t wake[most_ranks];
  };
  static constexpr std::uint64_t calls_begin = (sizeof(header) + 4095) / 4096 * 4096;
  static constexpr std::uint64_t heap_begin =
      calls_begin + (std::uint64_t{most_calls} * sizeof(call_in_flight) + 4095) / 4096 * 4096;
  static constexpr std::uint64_t total_bytes = heap_begin + heap_bytes;

  header *shared_ = nullptr;

  call_in_flight *calls() const noexcept {
    return reinterpret_cast<call_in_flight *>(reinterpret_cast<unsigned char *>(shared_) + calls_begin);
  }

  /// log2 of the block size, at least 64 bytes.
  static unsigned class_of(std::uint64_t bytes) noexcept {
    unsigned size_class = 6;
    while ((std::uint64_t{1} << size_class) < bytes) {
      ++size_class;
    }
    return size_class;
  }
};

} // namespace repro
} // namespace DTDEBUG_ABI
} // namespace dtdebug
