// Function names from the symbol table of an ELF file. Needs no tool and no debug info; trusts no byte of the file.
#pragma once

#include <dtdebug/core/config.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace stacks {

/// A C++ name as people write it; other names as they are.
inline std::string demangled(const char *name) {
  int status = -1;
  char *text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 && text != nullptr ? text : name;
  std::free(text);
  return result;
}

/// The functions of one module. Layout: System V ABI, ELF-64 object file format.
class elf_symbols {
public:
  /// Reads .symtab, or .dynsym where the file was stripped. An unreadable or damaged file has no symbols. Reads with
  /// pread: a file that is replaced or cut off at this moment is a short read, where a mapping would be a SIGBUS.
  explicit elf_symbols(const std::string &path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ >= 0) {
      read();
      ::close(fd_);
    }
  }
  elf_symbols(elf_symbols &&) = default;

  /// Whether the file itself says which line an address belongs to.
  bool has_lines() const { return has_lines_; }

  /// Name of the function that holds `offset` (address less the module's load address); "" when none does.
  std::string function_at(std::uint64_t offset) const {
    auto after = std::upper_bound(functions_.begin(), functions_.end(), offset,
                                  [](std::uint64_t value, const function &f) { return value < f.begin; });
    if (after == functions_.begin()) {
      return "";
    }
    --after;
    return offset - after->begin < after->size ? demangled(after->name.c_str()) : "";
  }

private:
  struct function {
    std::uint64_t begin;
    std::uint64_t size;
    std::string name;
  };

  static constexpr std::uint64_t most_bytes = 512ULL << 20; ///< of one section; the largest frameworks stay below

  int fd_;
  bool has_lines_ = false;
  std::vector<function> functions_;

  bool read_bytes(std::uint64_t offset, void *to, std::size_t size) const {
    std::size_t done = 0;
    while (done < size) {
      const ssize_t n = ::pread(fd_, static_cast<char *>(to) + done, size - done, static_cast<off_t>(offset + done));
      if (n <= 0) {
        return false;
      }
      done += static_cast<std::size_t>(n);
    }
    return true;
  }

  /// A section as a string that ends with a zero byte of its own; empty when it cannot be read.
  std::string content_of(const Elf64_Shdr &section) const {
    struct stat about {};
    if (section.sh_type == SHT_NOBITS || section.sh_size > most_bytes || ::fstat(fd_, &about) != 0 ||
        section.sh_size > static_cast<std::uint64_t>(about.st_size)) {
      return "";
    }
    std::string bytes(section.sh_size, '\0');
    return read_bytes(section.sh_offset, &bytes[0], bytes.size()) ? bytes : "";
  }

  static const char *text_at(const std::string &table, std::uint64_t offset) {
    return offset < table.size() ? table.c_str() + offset : "";
  }

  void read() {
    Elf64_Ehdr header;
    if (!read_bytes(0, &header, sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum == 0) {
      return;
    }
    std::vector<Elf64_Shdr> sections(header.e_shnum);
    if (header.e_shstrndx >= sections.size() ||
        !read_bytes(header.e_shoff, sections.data(), sections.size() * sizeof sections[0])) {
      return;
    }
    const std::string names = content_of(sections[header.e_shstrndx]);
    const Elf64_Shdr *symbols = nullptr;
    for (const Elf64_Shdr &section : sections) {
      has_lines_ = has_lines_ || std::strcmp(text_at(names, section.sh_name), ".debug_line") == 0;
      if (section.sh_type == SHT_SYMTAB || (section.sh_type == SHT_DYNSYM && symbols == nullptr)) {
        symbols = &section;
      }
    }
    if (symbols != nullptr && symbols->sh_link < sections.size()) {
      read_symbols(content_of(*symbols), content_of(sections[symbols->sh_link]));
    }
  }

  void read_symbols(const std::string &table, const std::string &names) {
    for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= table.size(); at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, table.data() + at, sizeof symbol);
      const unsigned type = ELF64_ST_TYPE(symbol.st_info);
      if ((type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF) {
        functions_.push_back(
            {symbol.st_value, std::max<std::uint64_t>(symbol.st_size, 1), text_at(names, symbol.st_name)});
      }
    }
    std::sort(functions_.begin(), functions_.end(),
              [](const function &a, const function &b) { return a.begin < b.begin; });
  }
};

} // namespace stacks
} // namespace DTDEBUG_ABI
} // namespace dtdebug
