#include "checkpoint.hpp"

#include "macros.hpp"
#include "mpi_check.hpp"

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace trainer {

void write_checkpoint(const std::string &directory, int step, model &model, const mesh &mesh) {
  DT_PHASE("checkpoint");
  if (mesh.dp_index == 0) {
    std::filesystem::create_directories(directory);
    const std::string name = "step" + std::to_string(step) + ".shard" + std::to_string(mesh.tp_index);
    const std::filesystem::path path = std::filesystem::path(directory) / name;
    const std::filesystem::path unfinished = path.string() + ".part";
    std::ofstream file(unfinished, std::ios::binary);
    for (const parameter &each : model.parameters()) {
      file << each.name << ' ' << each.rows << ' ' << each.columns << '\n';
      const auto bytes = static_cast<std::streamsize>(each.value.size() * sizeof(float));
      file.write(reinterpret_cast<const char *>(each.value.data()), bytes);
    }
    file.close();
    if (!file)
      throw std::runtime_error("cannot write " + unfinished.string());
    std::filesystem::rename(unfinished, path);
  }
  MPI_CHECK(DT_COLLECTIVE(MPI_Barrier, mesh.world));
}

} // namespace trainer
