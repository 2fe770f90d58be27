// A file mapped into memory, shared with the other processes of the host.
#pragma once

#include <dtdebug/core/config.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace os {

/// A mapping. Plain data: whoever holds it unmaps it. `error` is an errno value when `base` is null.
struct mapping {
  unsigned char *base = nullptr;
  std::size_t bytes = 0;
  int descriptor = -1; ///< kept open by `create_mapped`, so that more of the file can be reserved later
  int error = 0;
  dev_t device = 0; ///< device and inode tell whether `descriptor` still is this file
  ino_t inode = 0;
};

/// Creates the file (it must not exist), readable and writable by the owner alone, and maps it. The first
/// `reserved` bytes are backed by storage and touched, so that no later store to them faults or finds the disk full;
/// the rest is a hole. Links are not followed.
inline mapping create_mapped(const char *path, std::size_t bytes, std::size_t reserved) noexcept {
  mapping result;
  rlimit largest{};
  if (::getrlimit(RLIMIT_FSIZE, &largest) == 0 && largest.rlim_cur != RLIM_INFINITY && largest.rlim_cur < bytes) {
    result.error = EFBIG; // to try would be a SIGXFSZ
    return result;
  }
  const int fd = ::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) {
    result.error = errno;
    return result;
  }
  int error = ::ftruncate(fd, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  if (error == 0) {
    error = ::posix_fallocate(fd, 0, static_cast<off_t>(reserved));
  }
  void *base = MAP_FAILED;
  if (error == 0) {
    base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    error = base == MAP_FAILED ? errno : 0;
  }
  if (error != 0) {
    ::close(fd);
    ::unlink(path);
    result.error = error;
    return result;
  }
  result.base = static_cast<unsigned char *>(base);
  result.bytes = bytes;
  result.descriptor = fd;
  struct stat info {};
  if (::fstat(fd, &info) == 0) {
    result.device = info.st_dev;
    result.inode = info.st_ino;
  }
  for (std::size_t at = 0; at < reserved; at += 4096) {
    *const_cast<volatile unsigned char *>(result.base + at) = 0;
  }
  return result;
}

/// Backs [offset, offset + bytes) by storage and touches it: an untouched hole of a full disk kills whoever reads it
/// through a mapping. Returns an errno value, 0 on success. Programs that close every descriptor they do not know get
/// the number again for a file of their own: that file is left alone (EBADF).
inline int reserve(const mapping &file, std::size_t offset, std::size_t bytes) noexcept {
  struct stat info {};
  if (::fstat(file.descriptor, &info) != 0 || info.st_dev != file.device || info.st_ino != file.inode) {
    return EBADF;
  }
  if (const int error = ::posix_fallocate(file.descriptor, static_cast<off_t>(offset), static_cast<off_t>(bytes))) {
    return error;
  }
  for (std::size_t at = offset; at < offset + bytes; at += 4096) {
    *const_cast<volatile unsigned char *>(file.base + at) = 0;
  }
  return 0;
}

/// Maps an existing regular file of this user for reading. Links are not followed; a file of another user is refused
/// (EPERM), for its bytes may have been chosen by somebody else.
inline mapping open_mapped(const char *path) noexcept {
  mapping result;
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) {
    result.error = errno;
    return result;
  }
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    result.error = errno;
  } else if (!S_ISREG(info.st_mode)) {
    result.error = EINVAL;
  } else if (info.st_uid != ::geteuid() && ::geteuid() != 0) {
    result.error = EPERM;
  } else if (info.st_size == 0) {
    result.error = ENODATA;
  } else {
    result.bytes = static_cast<std::size_t>(info.st_size);
    void *base = ::mmap(nullptr, result.bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) {
      result.error = errno;
    } else {
      result.base = static_cast<unsigned char *>(base);
    }
  }
  ::close(fd);
  return result;
}

inline void unmap(mapping &file) noexcept {
  if (file.base != nullptr) {
    ::munmap(file.base, file.bytes);
  }
  if (file.descriptor >= 0) {
    ::close(file.descriptor);
  }
  file = mapping{};
}

} // namespace os
} // namespace DTDEBUG_ABI
} // namespace dtdebug
