/* test_graph.c: graphs on the driver of fake_cuda.h: what is recorded and in which order, that nothing that a
   capture forbids is called while one is in progress, and what a user reads. */

#include <lauxlib.h>

#include "fake_device.h"
#include "interp/cuttle.h"

static void nothing_left(const char *what) {
  IS_INT(fake->live_buffers + fake->live_streams + fake->live_events + fake->live_modules +
             fake->live_pools + fake->live_host + fake->live_graphs + fake->live_execs +
             fake->retained,
         0, "%s: nothing is left in the driver", what);
  IS_INT(fake->n_forbidden, 0, "%s: nothing was called that a capture forbids", what);
  IS_INT(fake->n_dead_streams, 0, "%s: no stream was used after its end", what);
}

static CtFunction *load(CtDevice *d, CtModule **m) {
  CtFunction *f = NULL;
  OK(ct_module_new(d, "empty 0;", m, &err) == CT_OK &&
         ct_module_function(*m, "empty", "empty", "k.lua", 3, 0, &f, &err) == CT_OK,
     "loads a kernel");
  return f;
}

static bool launch(CtFunction *f, CtStream s) {
  const CtLaunch l = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .stream = s};
  return ct_function_launch(f, &l, NULL, 0, &err) == CT_OK;
}

/* {====== Our own recordings ====== */

static void test_recording(void) {
  CtDevice *d = open_with((CtDeviceOptions){.ordinal = 0});
  CtStream main = ct_device_stream(d);
  CtModule *m;
  CtGraph *g = NULL;
  CtBuffer a, b;
  OK(ct_buffer_new(d, 64, main, &a, &err) == CT_OK, "memory");
  int before = fake->n_launches;
  OK(ct_graph_begin(d, &err) == CT_OK, "begins");
  CtFunction *f = load(d, &m);
  OK(launch(f, main), "records a launch");
  OK(ct_buffer_new(d, 64, main, &b, &err) == CT_OK && fake->live_buffers == 2, "memory at once");
  OK(ct_device_copy(d, b.ptr, a.ptr, 64, main, &err) == CT_OK, "records a copy");
  OK(ct_device_set(d, a.ptr, 1, 64, main, &err) == CT_OK, "records a fill");
  ct_buffer_free(d, &b, main);
  IS_INT(fake->live_buffers, 2, "what is freed stays until the end");
  OK(ct_graph_end(d, &g, &err) == CT_OK && g != NULL, "ends");
  IS_INT(fake->live_buffers, 1, "now it is freed");
  IS_STR(fake->nodes, "RLCS", "what was recorded, in order");
  IS_INT(fake->n_launches, before, "nothing was launched");
  OK(ct_graph_launch(g, &err) == CT_OK && ct_graph_launch(g, &err) == CT_OK, "launches it");
  IS_INT(fake->n_graph_launches, 2, "twice");
  OK(launch(f, main) && fake->n_launches == before + 1, "launches are launches again");

  OK(ct_graph_begin(d, &err) == CT_OK && launch(f, main) && ct_graph_end(d, &g, &err) == CT_OK,
     "records it anew");
  OK(fake->n_updated == 1 && fake->n_instantiated == 1, "by an update");
  fake->refuse_update = 1;
  OK(ct_graph_begin(d, &err) == CT_OK && launch(f, main) && ct_graph_end(d, &g, &err) == CT_OK,
     "in another form");
  OK(fake->n_instantiated == 2 && fake->live_execs == 1, "as another one in its place");
  int n_devices = fake->n_devices;
  fake->n_devices = 2;
  snprintf(fake->fail_name, sizeof fake->fail_name, "cuGraphUpload");
  fake->fail_result = 2;
  OK(ct_graph_begin(d, &err) == CT_OK && launch(f, main), "beside another device");
  IS_INT(ct_graph_end(d, &g, &err), CT_ENOMEM, "it cannot be made ready");
  OK(fake->live_execs == 1 && fake->live_graphs == 0, "which leaves nothing but the old one");
  fake->n_devices = n_devices;
  fake->refuse_update = 0;
  fake->fault = 700;
  IS_INT(ct_graph_launch(g, &err), CT_OK, "a launch");
  IS_INT(ct_device_synchronize(d, &err), CT_EDEVICE, "a fault in the graph");
  OK(strstr(err.msg, "'empty' (k.lua:3)") != NULL, "names its kernels: %s", err.msg);
  fake->fault = 0;
  ct_graph_free(g);
  ct_graph_free(NULL);
  ct_module_free(m);
  ct_device_close(d);
  fake->live_execs = fake->live_modules = fake->live_buffers = fake->live_streams = 0; /* lost */
  fake->live_events = fake->live_pools = 0;
}

static void test_streams(void) {
  CtDevice *d = open_with((CtDeviceOptions){.ordinal = 0});
  CtModule *m;
  CtFunction *f = load(d, &m);
  CtGraph *g = NULL;
  CtStream s = NULL;
  CtEvent e = NULL, old = NULL;
  OK(ct_stream_new(d, &s, &err) == CT_OK && ct_event_new(d, &e, &err) == CT_OK &&
         ct_event_new(d, &old, &err) == CT_OK && ct_event_record(d, old, s, &err) == CT_OK,
     "a stream and events");
  OK(ct_graph_begin(d, &err) == CT_OK, "begins");
  OK(launch(f, ct_device_stream(d)) && launch(f, s), "launches in two streams");
  OK(ct_event_record(d, e, ct_device_stream(d), &err) == CT_OK &&
         ct_stream_wait(d, s, e, &err) == CT_OK,
     "one waits for the other");
  OK(launch(f, s), "and goes on");
  IS_INT(ct_stream_wait(d, s, old, &err), CT_EDEVICE, "an event from before the graph: status");
  IS_STR(
      err.msg,
      "cuStreamWaitEvent: CUDA_ERROR_STREAM_CAPTURE_ISOLATION (905): the event was recorded "
      "before the graph, which begins after all that was launched before it; leave the wait out, "
      "or record the event in the graph",
      "message");
  OK(ct_graph_end(d, &g, &err) == CT_OK, "ends");
  IS_STR(fake->nodes, "RLWLRWLRW", "the stream begins with the graph, which ends with the stream");
  ct_graph_free(g);
  ct_event_free(d, e);
  ct_event_free(d, old);
  ct_stream_free(d, s);
  ct_module_free(m);
  ct_device_close(d);
  nothing_left("streams");
}

static void refused(CtStatus status, const char *what) {
  char msg[300];
  snprintf(
      msg, sizeof msg,
      "graph: %s cannot be recorded, as nothing runs before the graph is launched; do it before "
      "the recording or after a launch of the graph",
      what);
  IS_INT(status, CT_EINVAL, "%s is refused", what);
  IS_STR(err.msg, msg, "message");
}

static void refuse_all(CtDevice *d, const CtBuffer *b, CtEvent e) {
  CtStream main = ct_device_stream(d);
  CtPrintArgs args;
  const CtPrintSite site = {"x", NULL, 0};
  char bytes[8];
  refused(ct_device_synchronize(d, &err), "a wait");
  refused(ct_stream_synchronize(d, main, &err), "a wait");
  if (e != NULL) {
    refused(ct_event_synchronize(d, e, &err), "a wait");
  }
  refused(ct_device_write(d, b->ptr, "12345678", 8, main, &err), "a copy from the host");
  refused(ct_device_read(d, bytes, b->ptr, 8, main, &err), "a copy to the host");
  IS_INT(ct_print_begin(d, main, &site, 1, CT_PRINT_BY_THREAD, &args, &err), CT_EINVAL,
         "printf is refused");
}

static void test_refused(void) {
  CtDevice *d = open_with((CtDeviceOptions){.ordinal = 0});
  CtGraph *g = NULL;
  CtBuffer b;
  CtEvent e = NULL;
  OK(ct_buffer_new(d, 8, ct_device_stream(d), &b, &err) == CT_OK &&
         ct_event_new(d, &e, &err) == CT_OK && ct_graph_begin(d, &err) == CT_OK,
     "begins");
  refuse_all(d, &b, e);
  IS_INT(ct_graph_begin(d, &err), CT_EINVAL, "a graph in a graph: status");
  IS_STR(err.msg, "graph: a graph is already being recorded; record both parts in one function",
         "message");
  ct_graph_drop(d);
  ct_graph_drop(d);
  OK(ct_device_synchronize(d, &err) == CT_OK, "after that all is as before");
  snprintf(fake->fail_name, sizeof fake->fail_name, "cuStreamEndCapture");
  fake->fail_result = 901;
  OK(ct_graph_begin(d, &err) == CT_OK, "begins");
  IS_INT(ct_graph_end(d, &g, &err), CT_EDEVICE, "a capture that was invalidated");
  OK(g == NULL && ct_device_synchronize(d, &err) == CT_OK, "leaves no graph");
  ct_event_free(d, e);
  ct_buffer_free(d, &b, ct_device_stream(d));
  ct_device_close(d);
  nothing_left("refused");
}

/* What the parts of a graph need beside: words of sync_grid, tables of lists. */
static void test_data(void) {
  CtDevice *d = open_with((CtDeviceOptions){.ordinal = 0});
  CtDevPtr word, again, data;
  CtGraph *g = NULL;
  OK(ct_grid_word(d, ct_device_stream(d), &word, &err) == CT_OK, "the stream's word");
  OK(ct_graph_begin(d, &err) == CT_OK &&
         ct_grid_word(d, ct_device_stream(d), &again, &err) == CT_OK && again != word &&
         ct_grid_clear(d, ct_device_stream(d), again, &err) == CT_OK,
     "a launch in a graph has a word of its own");
  OK(ct_graph_data(d, "abc", 4, &data, &err) == CT_OK &&
         strcmp((const char *)(uintptr_t)data, "abc") == 0,
     "data is there at once");
  OK(ct_graph_end(d, &g, &err) == CT_OK, "ends");
  IS_STR(fake->nodes, "RS", "the word is cleared at each launch; the data is no part");
  IS_INT(fake->live_buffers, 3, "they live");
  ct_graph_free(g);
  IS_INT(fake->live_buffers, 1, "as long as the graph");
  ct_device_close(d);
  nothing_left("data");
}

/* {====== A host that captures its stream ====== */

static void test_host(void) {
  char stream_of_host; /* its address is the handle */
  CtStream s = (CtStream)(void *)&stream_of_host;
  CtModule *m;
  CtBuffer b, c, old;
  CtDevPtr word, other;
  CtDevice *d = open_with((CtDeviceOptions){.ordinal = 0, .use_stream = true, .stream = s});
  OK(ct_buffer_new(d, 8, s, &b, &err) == CT_OK && ct_buffer_new(d, 8, s, &old, &err) == CT_OK,
     "memory");
  OK(!ct_device_is_capturing(d, s), "no capture");
  fake->host_captured = s;
  OK(ct_device_is_capturing(d, s), "the host captures");
  CtFunction *f = load(d, &m);
  int before = fake->n_launches;
  OK(launch(f, s) && fake->n_launches == before, "a launch joins the host's graph");
  OK(ct_buffer_new(d, 8, s, &c, &err) == CT_OK, "memory is allocated beside it");
  OK(ct_device_write_new(d, c.ptr, "abcdefg", 8, s, &err) == CT_OK, "and filled at once");
  ct_buffer_free(d, &c, s);
  ct_buffer_free(d, &old, s);
  OK(ct_buffer_new(d, 8, s, &c, &err) == CT_OK, "more of it");
  OK(ct_grid_word(d, s, &word, &err) == CT_OK && ct_grid_word(d, s, &other, &err) == CT_OK &&
         word != other,
     "each launch has a word of its own");
  refuse_all(d, &b, NULL);
  refused(ct_graph_begin(d, &err), "a graph of its own");
  CtBuffer guest;
  char another; /* that only a call in progress enqueues on */
  fake->host_captured = (CtStream)(void *)&another;
  ct_device_set_guest(d, fake->host_captured);
  OK(ct_device_is_capturing(d, s) && ct_buffer_new(d, 8, s, &guest, &err) == CT_OK,
     "memory of a call belongs to the graph of the call's stream");
  ct_device_set_guest(d, NULL);
  OK(!ct_device_is_capturing(d, s), "until it is over");
  int live = fake->live_buffers;
  fake->host_captured = NULL;
  OK(launch(f, s) && fake->n_launches == before + 1, "after the capture launches are launches");
  ct_buffer_free(d, &b, s);
  OK(ct_buffer_new(d, 8, s, &b, &err) == CT_OK && fake->live_buffers == live - 1,
     "and what was freed meanwhile is freed, but not the memory of the host's graph");
  live = fake->live_buffers;
  ct_buffer_keep(d, &c, s);
  IS_INT(fake->live_buffers, live, "which stays, whenever its owner goes");
  ct_buffer_free(d, &b, s);
  ct_module_free(m);
  ct_device_close(d);
  fake->n_dead_streams = 0; /* the host's stream is none of the fake's */
  nothing_left("a host's capture");
}

/* {====== A host's call inside another one ====== */

typedef struct Nested {
  cuttle_State *S;
  CtStream outer, inner; /* NULL: that call names no stream */
} Nested;

static int call_inner(lua_State *L) {
  const Nested *n = lua_touserdata(L, 1);
  if (n->inner != NULL) {
    cuttle_push_stream(n->S, 0, n->inner);
  }
  return 0;
}

static int call_outer(lua_State *L) {
  Nested *n = lua_touserdata(L, 1);
  if (n->outer != NULL) {
    cuttle_push_stream(n->S, 0, n->outer);
  }
  OK(cuttle_call(n->S, call_inner, n) == CUTTLE_OK, "the inner call");
  return luaL_dostring(L, "zeros(f32, 64):close()") == LUA_OK ? 0 : lua_error(L);
}

/* Memory of a graph stays until the state closes. */
static bool is_kept(CtStream outer, CtStream inner) {
  cuttle_Options o = {.size = sizeof o, .device = "cuda"};
  Nested n = {.S = cuttle_open(&o), .outer = outer, .inner = inner};
  OK(cuttle_dostring(n.S, "ones(f32, 64):close()", "=warm") == CUTTLE_OK, "memory before");
  int live = fake->live_buffers;
  fake->host_captured = outer != NULL ? outer : inner;
  if (!IS_INT(cuttle_call(n.S, call_outer, &n), CUTTLE_OK, "the outer call")) {
    tap_diag("%s", cuttle_error(n.S));
  }
  fake->host_captured = NULL;
  OK(cuttle_dostring(n.S, "ones(f32, 64):close()", "=warm") == CUTTLE_OK, "memory afterwards");
  bool kept = fake->live_buffers > live;
  cuttle_close(n.S);
  return kept;
}

static void test_calls(void) {
  char streams[2];
  CtStream captured = (CtStream)(void *)&streams[0], other = (CtStream)(void *)&streams[1];
  OK(!is_kept(NULL, NULL), "no call names a stream: memory is freed");
  OK(is_kept(captured, NULL), "a call inside another one leaves the outer one's stream");
  OK(is_kept(captured, other), "and gives it back after one of its own");
  OK(!is_kept(NULL, other), "a stream of the inner call ends with it");
  fake->n_dead_streams = 0; /* the host's streams are none of the fake's */
  nothing_left("calls");
}

static void test_old_driver(void) {
  CtDevice *d = open_with((CtDeviceOptions){.ordinal = 0});
  snprintf(fake->fail_name, sizeof fake->fail_name, "cuStreamBeginCapture_v2");
  fake->fail_result = 1;
  IS_INT(ct_graph_begin(d, &err), CT_EDEVICE, "a capture that does not begin");
  OK(ct_device_synchronize(d, &err) == CT_OK, "leaves the device as it was");
  ct_device_close(d);
  nothing_left("no capture");
}

int main(void) {
  fake = load_fake(__FILE__, temp_dir);
  if (fake == NULL) {
    return skip_all("no C compiler to build a driver for the test");
  }
  test_recording();
  test_streams();
  test_refused();
  test_data();
  test_host();
  test_calls();
  test_old_driver();
  remove_fake(temp_dir);
  return done_testing();
}
