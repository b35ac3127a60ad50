/* test_device_reuse.c: memory that comes and goes on a device's own stream, on the driver that fake_cuda.h
   describes. */
#include "fake_device.h"
#include "runtime/device/storage.h"

static CtDevice *open_counted(void) {
  CtDevice *d = open_fake();
  fake->n_pool_allocs = 0;
  return d;
}

static CtBuffer take(CtDevice *d, size_t bytes) {
  CtBuffer b = {0};
  OK(ct_buffer_take(d, bytes, &b, &err) == CT_OK && (b.ptr != 0) == (bytes != 0), "takes %zu bytes",
     bytes);
  return b;
}

static void close_device(CtDevice *d) {
  ct_device_close(d);
  IS_INT(fake->live_buffers, 0, "nothing is left");
}

static void test_sizes(void) {
  CtDevice *d = open_counted();
  CtBuffer a = take(d, 100), b = take(d, 200), none = take(d, 0);
  CtDevPtr first = a.ptr, second = b.ptr;
  ct_buffer_keep(d, &none, ct_device_stream(d));
  ct_buffer_keep(d, &a, ct_device_stream(d));
  ct_buffer_keep(d, &b, ct_device_stream(d));
  OK(a.ptr == 0 && fake->live_buffers == 2, "keeps what is given back");
  b = take(d, 200);
  a = take(d, 100);
  OK(a.ptr == first && b.ptr == second, "for the next of the same size");
  IS_INT(fake->n_pool_allocs, 2, "so the driver is not asked");
  CtBuffer c = take(d, 100);
  OK(c.ptr != first, "each once");
  ct_buffer_keep(d, &c, ct_device_stream(d));
  c = take(d, 99);
  IS_INT(fake->n_pool_allocs, 4, "another size is new");
  CtBuffer *all[] = {&a, &b, &c};
  for (int i = 0; i < 3; i++) {
    ct_buffer_keep(d, all[i], ct_device_stream(d));
  }
  close_device(d);
}

/* What another stream used last may still be in use when ours comes to it. */
static void test_streams(void) {
  CtDevice *d = open_counted();
  CtStream other = NULL;
  OK(ct_stream_new(d, &other, &err) == CT_OK, "a stream");
  CtBuffer a = take(d, 100);
  ct_buffer_keep(d, &a, other);
  IS_INT(fake->live_buffers, 0, "what another stream used is the driver's again");
  close_device(d);
}

/* While a graph is recorded its memory is its own. */
static void test_capture(void) {
  CtDevice *d = open_counted();
  CtGraph *g = NULL;
  CtBuffer a = take(d, 100);
  ct_buffer_keep(d, &a, ct_device_stream(d));
  OK(ct_graph_begin(d, &err) == CT_OK, "a graph");
  a = take(d, 100);
  IS_INT(fake->n_pool_allocs, 2, "takes new memory");
  OK(ct_graph_end(d, &g, &err) == CT_OK, "ends");
  ct_buffer_keep(d, &a, ct_device_stream(d));
  ct_graph_free(g);
  close_device(d);
}

static void test_limits(void) {
  CtDevice *d = open_counted();
  CtBuffer many[100];
  for (int i = 0; i < 100; i++) {
    OK(ct_buffer_take(d, (size_t)i + 1, &many[i], &err) == CT_OK, "block %d", i);
  }
  for (int i = 0; i < 100; i++) {
    ct_buffer_keep(d, &many[i], ct_device_stream(d));
  }
  IS_INT(fake->live_buffers, 64, "the youngest 64 are kept");
  fake->n_pool_allocs = 0;
  many[0] = take(d, 37);
  IS_INT(fake->n_pool_allocs, 0, "the oldest of them is there");
  ct_buffer_keep(d, &many[0], ct_device_stream(d));
  many[0] = take(d, 36);
  IS_INT(fake->n_pool_allocs, 1, "one before it is not");
  ct_buffer_free(d, &many[0], ct_device_stream(d));
  close_device(d);
}

/* Out of memory: what is kept goes back first. */
static void test_pressure(void) {
  CtDevice *d = open_counted();
  CtBuffer a = take(d, 100), b = {0};
  ct_buffer_keep(d, &a, ct_device_stream(d));
  snprintf(fake->fail_name, sizeof fake->fail_name, "cuMemAllocFromPoolAsync");
  fake->fail_result = 2;
  OK(ct_buffer_take(d, 300, &b, &err) == CT_OK && b.ptr != 0, "the second try has memory");
  IS_INT(fake->live_buffers, 1, "of what was kept nothing is left");
  ct_buffer_keep(d, &b, ct_device_stream(d));
  close_device(d);
}

int main(void) {
  fake = load_fake(__FILE__, temp_dir);
  if (fake == NULL) {
    return skip_all("no C compiler to build a driver for the test");
  }
  test_sizes();
  test_streams();
  test_capture();
  test_limits();
  test_pressure();
  remove_fake(temp_dir);
  return done_testing();
}
