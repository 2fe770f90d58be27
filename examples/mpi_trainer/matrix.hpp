// The three matrix products that a network needs, on row-major float matrices.
#pragma once

#include <cstddef>

namespace trainer {

/// c[n, m] += a[n, k] b[k, m]
inline void multiply_add(const float *a, const float *b, float *c, std::size_t n, std::size_t k, std::size_t m) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t p = 0; p < k; ++p) {
      const float factor = a[i * k + p];
      if (factor == 0.0F)
        continue;
      for (std::size_t j = 0; j < m; ++j)
        c[i * m + j] += factor * b[p * m + j];
    }
  }
}

/// c[k, m] += transpose(a[n, k]) b[n, m]
inline void multiply_add_left_transposed(const float *a, const float *b, float *c, std::size_t n, std::size_t k,
                                         std::size_t m) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t p = 0; p < k; ++p) {
      const float factor = a[i * k + p];
      if (factor == 0.0F)
        continue;
      for (std::size_t j = 0; j < m; ++j)
        c[p * m + j] += factor * b[i * m + j];
    }
  }
}

/// c[n, k] += a[n, m] transpose(b[k, m])
inline void multiply_add_right_transposed(const float *a, const float *b, float *c, std::size_t n, std::size_t m,
                                          std::size_t k) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t p = 0; p < k; ++p) {
      float sum = 0;
      for (std::size_t j = 0; j < m; ++j)
        sum += a[i * m + j] * b[p * m + j];
      c[i * k + p] += sum;
    }
  }
}

} // namespace trainer
