/* test_device_print.c: the host's half of printf on a device: logs written by hand as the threads of a
   kernel write them, what the print function gets, and when. */
#include <unistd.h>

#include "fake_device.h"
#include "runtime/base/dtype.h"
#include "runtime/base/text.h"

static CtText heard;
static CtPrintOrder asked = CT_PRINT_BY_THREAD;

static void hear(void *ud, const char *text, size_t len) { ct_text_add(ud, text, len); }

static void said(const char *want, const char *what) {
  IS_STR(ct_text_str(&heard), want, "%s", what);
  ct_text_clear(&heard);
  ct_text_init(&heard, ct_alloc_std);
}

static const uint8_t ints[] = {CT_i32, CT_i32};
static const uint8_t all[] = {CT_i32, CT_u32, CT_i64, CT_u64, CT_f64, CT_bool};
static const CtPrintSite sites[] = {
    {"%d.%d;", ints, 2}, {"%d %u %lld %llu %g %s 100%%\n", all, 6}, {"a;", NULL, 0}};
static const CtPrintSite others[] = {{"b%d;", ints, 1}};

static CtDevice *open_printing(size_t print_bytes) {
  return open_with(
      (CtDeviceOptions){.print = hear, .print_ud = &heard, .print_bytes = print_bytes});
}

static void close_fake(CtDevice *d, const char *what) {
  ct_device_close(d);
  IS_INT(fake->live_host + fake->live_streams + fake->live_pools + fake->retained, 0,
         "%s: nothing is left in the driver", what);
}

static CtPrintArgs begin(CtDevice *d, CtStream s, const CtPrintSite *of, int n) {
  CtPrintArgs args = {0};
  OK(ct_print_begin(d, s, of, n, asked, &args, &err) == CT_OK, "a launch that prints");
  return args;
}

static uint64_t *words_of(CtPrintArgs args) { return (uint64_t *)(uintptr_t)args.log; }

/* What a thread does, PRINT_RECORD in emit_prelude.def. */
static void print_as(CtPrintArgs args, uint32_t site, uint64_t block, uint32_t thread, int n,
                     const uint64_t *values) {
  uint64_t *log = words_of(args);
  uint64_t at = log[0];
  log[0] += 2 + (uint64_t)n;
  if (log[0] > log[1]) {
    log[2]++;
    return;
  }
  for (int i = 0; i < n; i++) {
    log[3 + at + 2 + (uint64_t)i] = values[i];
  }
  log[3 + at + 1] = block;
  log[3 + at] = (uint64_t)(args.first + site) << 32 | thread;
}

static void print_ints(CtPrintArgs args, uint64_t block, uint32_t thread) {
  const uint64_t values[] = {block, thread};
  print_as(args, 0, block, thread, 2, values);
}

static void test_order(void) {
  CtDevice *d = open_printing(0);
  CtStream s = ct_device_stream(d);
  CtPrintArgs one = begin(d, s, sites, 3), two = begin(d, s, others, 1),
              three = begin(d, s, sites, 3);
  const uint64_t seven = 7;
  OK(one.log == two.log && one.first == 1 && two.first == 4 && three.first == 5,
     "launches of a stream share its log and have numbers of their own");
  IS_INT(words_of(one)[1], (1 << 20) / 8, "which is 1 MiB long");
  print_ints(three, 0, 0);
  print_ints(one, 1, 0);
  print_ints(one, 0, 33);
  print_as(two, 0, 0, 0, 1, &seven);
  print_ints(one, (uint64_t)1 << 40, 0);
  print_ints(one, 0, 2);
  print_ints(one, 1, 0);
  print_as(one, 2, 1, 0, 0, NULL);
  OK(ct_stream_synchronize(d, s, &err) == CT_OK, "waits");
  said("0.2;0.33;1.0;1.0;a;0.0;b7;0.0;",
       "by launch, block, thread, and in the thread as it printed");
  OK(words_of(one)[0] == 0 && words_of(one)[3] == 0, "the log is empty again");
  OK(ct_device_synchronize(d, &err) == CT_OK, "waits again");
  said("", "all is said once");
  two = begin(d, s, others, 1);
  IS_INT(two.first, 1, "numbers begin anew");
  print_as(two, 0, 5, 5, 1, &seven);
  OK(ct_device_synchronize(d, &err) == CT_OK, "waits for all");
  said("b7;", "a log is used again");
  close_fake(d, "order");
}

static void test_run_order(void) {
  CtDevice *d = open_printing(0);
  CtStream s = ct_device_stream(d);
  const uint64_t seven = 7;
  asked = CT_PRINT_AS_RUN;
  CtPrintArgs one = begin(d, s, sites, 3);
  asked = CT_PRINT_BY_THREAD;
  CtPrintArgs two = begin(d, s, others, 1);
  print_ints(one, 1, 0);
  print_ints(one, 0, 33);
  print_as(two, 0, 0, 5, 1, &seven);
  print_as(two, 0, 0, 4, 1, (const uint64_t[]){8});
  print_ints(one, 0, 2);
  print_as(one, 2, 0, 33, 0, NULL);
  OK(ct_stream_synchronize(d, s, &err) == CT_OK, "waits");
  said("0.33;0.2;a;1.0;b8;b7;", "by launch and block, in a block as its records came");
  close_fake(d, "run order");
}

static void test_values(void) {
  CtDevice *d = open_printing(0);
  CtPrintArgs args = begin(d, ct_device_stream(d), sites, 3);
  const double f = 0.1;
  /* an i32 comes extended or not */
  uint64_t values[] = {UINT64_MAX, 0xfffffffe, UINT64_MAX - 2, UINT64_MAX - 3, 0, 1};
  memcpy(&values[4], &f, sizeof f);
  print_as(args, 1, 0, 0, 6, values);
  values[0] = 0xffffffff;
  values[1] = UINT64_MAX - 1;
  values[5] = 0;
  print_as(args, 1, 0, 1, 6, values);
  OK(ct_device_synchronize(d, &err) == CT_OK, "waits");
  said("-1 4294967294 -3 18446744073709551612 0.1 true 100%\n"
       "-1 4294967294 -3 18446744073709551612 0.1 false 100%\n",
       "values of each type");
  close_fake(d, "values");
}

static void test_full(void) {
  CtDevice *d = open_printing(11 * 8); /* two records of four words, one of three */
  CtPrintArgs args = begin(d, ct_device_stream(d), sites, 3);
  for (uint32_t i = 0; i < 5; i++) {
    print_ints(args, 0, 4 - i);
  }
  print_as(args, 2, 0, 0, 0, NULL); /* would fit, but comes late */
  OK(ct_device_synchronize(d, &err) == CT_OK, "waits");
  said("0.3;0.4;printf: no room for 4 more\n", "what is lost is counted");
  args = begin(d, ct_device_stream(d), sites, 3);
  for (int i = 0; i < 5; i++) {
    print_as(args, 2, 0, 0, 0, NULL);
  }
  OK(ct_device_synchronize(d, &err) == CT_OK, "waits");
  said("a;a;a;a;a;", "then there is room");
  close_fake(d, "full");
}

static void test_streams(void) {
  CtDevice *d = open_printing(0);
  CtStream other = NULL;
  CtEvent event = NULL;
  OK(ct_stream_new(d, &other, &err) == CT_OK && ct_event_new(d, &event, &err) == CT_OK, "a stream");
  CtPrintArgs here = begin(d, ct_device_stream(d), sites, 3), there = begin(d, other, others, 1);
  const uint64_t one = 1;
  OK(here.log != there.log, "each stream has its log");
  print_ints(here, 0, 0);
  print_as(there, 0, 0, 0, 1, &one);
  fake->busy = 2;
  OK(ct_event_synchronize(d, event, &err) == CT_OK, "an event comes");
  said("", "but both streams go on");
  fake->busy = 1;
  OK(ct_event_synchronize(d, event, &err) == CT_OK, "an event comes");
  said("b1;", "and one stream is idle");
  print_as(begin(d, other, others, 1), 0, 0, 0, 1, &one);
  ct_stream_free(d, other);
  said("b1;", "a stream's log is read before it goes");
  OK(ct_device_synchronize(d, &err) == CT_OK, "waits");
  said("0.0;", "and the rest is read at the end");
  ct_event_free(d, event);
  close_fake(d, "streams");
}

static void test_forget(void) {
  CtDevice *d = open_printing(0);
  CtStream s = ct_device_stream(d);
  CtPrintArgs args = begin(d, s, sites, 3);
  print_ints(args, 0, 0);
  ct_print_forget(d, others);
  said("", "formats that no launch has can go");
  ct_print_forget(d, sites);
  said("0.0;", "those of a launch are used first");
  print_ints(begin(d, s, sites, 3), 0, 0);
  fake->fail_result = 201;
  strcpy(fake->fail_name, "cuStreamSynchronize");
  ct_print_forget(d, sites);
  OK(ct_device_synchronize(d, &err) == CT_OK, "waits");
  said("", "where that is impossible, nothing is read that they were needed for");
  close_fake(d, "forget");
}

static void test_loss(void) {
  CtDevice *d = open_printing(0);
  CtStream s = ct_device_stream(d);
  CtPrintArgs args = begin(d, s, sites, 3);
  print_ints(args, 0, 0);
  print_ints(args, 0, 1);
  words_of(args)[3 + 4] = 0; /* as a fault leaves a record */
  print_ints(args, 0, 2);
  fake->fault = 700;
  OK(ct_stream_synchronize(d, s, &err) == CT_EDEVICE, "a kernel fails");
  said("0.0;", "what was printed before is shown, up to where it was cut");
  ct_device_close(d);
  fake->fault = 0;
  fake->live_buffers = fake->live_streams = fake->live_pools = fake->live_host = 0;
}

static void test_many(void) {
  CtDevice *d = open_printing(0);
  CtStream s = ct_device_stream(d);
  CtPrintArgs args = {0};
  int before = fake->n_synchronizes;
  CtStatus status = CT_OK;
  for (int i = 0; i < 10000 && status == CT_OK; i++) {
    status = ct_print_begin(d, s, sites, 3, asked, &args, &err);
    print_as(args, 2, 0, 0, 0, NULL);
  }
  IS_INT(fake->n_synchronizes - before, 2, "ten thousand launches wait twice on their way");
  IS_INT(heard.len, 2 * 4096 * 2, "and what they printed is not lost");
  OK(status == CT_OK && ct_device_synchronize(d, &err) == CT_OK, "waits");
  IS_INT(heard.len, 10000 * 2, "nor that of the last ones");
  ct_text_clear(&heard);
  ct_text_init(&heard, ct_alloc_std);
  close_fake(d, "many");
}

static void test_failures(void) {
  CtDevice *d = open_printing(0);
  CtPrintArgs args;
  fake->fail_result = 2;
  strcpy(fake->fail_name, "cuMemAllocHost_v2");
  OK(ct_print_begin(d, ct_device_stream(d), sites, 3, asked, &args, &err) == CT_ENOMEM,
     "no memory for a log is an error of the launch");
  args = begin(d, ct_device_stream(d), sites, 3);
  print_as(args, 77, 0, 0, 0, NULL); /* a kernel that wrote where it should not */
  OK(ct_device_synchronize(d, &err) == CT_OK, "waits");
  said("", "a record of no printf ends the log");
  close_fake(d, "failures");

  CtDeviceOptions deaf = {.alloc = ct_alloc_std};
  OK(ct_device_open(&deaf, &d, &err) == CT_OK, "opens without a print function");
  args = begin(d, ct_device_stream(d), sites, 3);
  print_ints(args, 0, 0);
  OK(ct_device_synchronize(d, &err) == CT_OK && words_of(args)[0] == 0, "which empties logs too");
  close_fake(d, "deaf");
}

int main(void) {
  fake = load_fake(__FILE__, temp_dir);
  if (fake == NULL) {
    return skip_all("no C compiler to build a driver for the test");
  }
  ct_text_init(&heard, ct_alloc_std);
  test_order();
  test_run_order();
  test_values();
  test_full();
  test_streams();
  test_forget();
  test_many();
  test_failures();
  test_loss();
  ct_text_clear(&heard);
  remove_fake(temp_dir);
  return done_testing();
}
