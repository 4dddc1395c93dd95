// Kernels of ExecutorTest, in the ABI of the schema; loaded from memory.
#include <stdint.h>

// buffers: x, y (24 floats); scalars: a, b. y = a x + b.
void affine(void *const *buffers, const int64_t *scalars) {
  const float *x = buffers[0];
  float *y = buffers[1];
  for (int i = 0; i < 24; ++i)
    y[i] = (float)scalars[0] * x[i] + (float)scalars[1];
}

// buffers: counter; adds one.
void count(void *const *buffers, const int64_t *scalars) {
  (void)scalars;
  *(int32_t *)buffers[0] += 1;
}
