/* test_npy.c: .npy headers and files. */
#include "runtime/base/npy.h"

#include <unistd.h>

#include "tap.h"

/* A file of format 1.0, 2.0 or 3.0 with this header text. */
typedef struct File {
  unsigned char bytes[4096];
  size_t n;
} File;

static File make_file(int major, const char *header) {
  static const unsigned char head[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
  File f = {.n = sizeof head};
  size_t len = strlen(header), n_len = major == 1 ? 2 : 4;
  memcpy(f.bytes, head, sizeof head);
  f.bytes[f.n++] = (unsigned char)major;
  f.bytes[f.n++] = 0;
  for (size_t i = 0; i < n_len; i++) {
    f.bytes[f.n++] = (unsigned char)(len >> (8 * i) & 0xff);
  }
  memcpy(f.bytes + f.n, header, len);
  f.n += len;
  return f;
}

/* A header as one line: "f32 C (3,4) 48@50", or the message. */
static const char *describe(const void *bytes, size_t n) {
  static char out[2048];
  CtNpy h;
  CtErr err;
  if (ct_npy_parse(bytes, n, &h, &err) != CT_OK) {
    snprintf(out, sizeof out, "%s", err.msg);
    return out;
  }
  int at = snprintf(out, sizeof out, "%s %s (", ct_dtypes[h.dtype].name,
                    h.fortran_order ? "Fortran" : "C");
  for (int i = 0; i < h.rank; i++) {
    at += snprintf(out + at, sizeof out - (size_t)at, i == 0 ? "%lld" : ",%lld",
                   (long long)h.shape[i]);
  }
  snprintf(out + at, sizeof out - (size_t)at, ") %zu", h.data_bytes);
  return out;
}

static const char *parse(const char *header) {
  File f = make_file(1, header);
  return describe(f.bytes, f.n);
}

static void test_headers(void) {
  static const struct {
    const char *header, *want;
  } rows[] = {
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   \n", "f32 C (3,4) 48"},
      {"{'descr': '<f8', 'fortran_order': True, 'shape': (3, 4), }\n", "f64 Fortran (3,4) 96"},
      {"{'descr': '<i4', 'fortran_order': False, 'shape': (5,), }\n", "i32 C (5) 20"},
      {"{'descr': '<i8', 'fortran_order': False, 'shape': (), }\n", "i64 C () 8"},
      {"{'descr': '|b1', 'fortran_order': False, 'shape': (2, 0, 3), }\n", "bool C (2,0,3) 0"},
      {"{'descr': '=f4', 'fortran_order': False, 'shape': (1,)}", "f32 C (1) 4"},
      {"{\"shape\": (7L, 2L), \"fortran_order\": True, \"descr\": \"<f4\"}",
       "f32 Fortran (7,2) 56"},
      {"{ 'shape' :\t( 7 ,2 ) ,'fortran_order':False,'descr':'<f4'\n}", "f32 C (7,2) 56"},
      {"{'descr': '>f4', 'fortran_order': False, 'shape': (3,), }",
       "has elements of type '>f4' (big-endian); only little-endian elements can be read"},
      {"{'descr': '>b1', 'fortran_order': False, 'shape': (3,), }", "bool C (3) 3"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
       "has elements of type '|O' (Python objects), which need Python to be read"},
      {"{'descr': '<c8', 'fortran_order': False, 'shape': (3,), }",
       "has elements of type '<c8', which is not an element type here"},
      {"{'descr': '|f4', 'fortran_order': False, 'shape': (3,), }",
       "has elements of type '|f4', which is not an element type here"},
      {"{'descr': '', 'fortran_order': False, 'shape': (3,), }",
       "has elements of type '', which is not an element type here"},
      {"{'descr': '\x01", "has a malformed header: expected a string that ends at byte 10 of it"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }",
       "has records as elements; an array of plain numbers was expected"},
      {"{'descr': '<f4', 'fortran_order': 1, 'shape': (3,), }",
       "has a malformed header: expected True or False at byte 34 of it"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }",
       "has a malformed header: expected an extent >= 0 at byte 51 of it"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3 4), }",
       "has a malformed header: expected ',' or ')' at byte 53 of it"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': 3, }",
       "has a malformed header: expected '(' at byte 50 of it"},
      {"{'descr': '<f4', 'fortran_order': False, }", "has no key 'shape' in its header"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
       "has an unknown or repeated key 'descr' in its header"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'x': 1}",
       "has an unknown or repeated key 'x' in its header"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } x",
       "has a malformed header: expected nothing more at byte 58 of it"},
      {"{'descr': '<f4' 'fortran_order': False, 'shape': (3,), }",
       "has a malformed header: expected ',' or '}' at byte 16 of it"},
      {"", "has a malformed header: expected '{' at byte 0 of it"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
       "has an extent that does not fit 64 bits"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
       "has more than 2^63 elements"},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904,), }",
       "has more than 2^63 bytes of elements"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296), }",
       "has more than 2^63 elements"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
       "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1), }",
       "has more than 32 dimensions"},
  };
  for (size_t i = 0; i < CT_ARRAY_LEN(rows); i++) {
    IS_STR(parse(rows[i].header), rows[i].want, "header %zu", i);
  }
}

static void test_prefix(void) {
  const char *good = "{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }\n";
  for (int major = 1; major <= 3; major++) {
    File f = make_file(major, good);
    IS_STR(describe(f.bytes, f.n), "f32 Fortran (2) 8", "format %d.0", major);
  }
  File f = make_file(4, good);
  IS_STR(describe(f.bytes, f.n), "has format version 4.0; versions 1.0, 2.0 and 3.0 can be read",
         "format 4.0");
  f = make_file(2, good);
  f.bytes[10] = 0xff;
  f.bytes[11] = 0xff;
  IS_STR(describe(f.bytes, f.n), "has a header of 4294901817 bytes; at most 65536 are read",
         "a huge header");
  f = make_file(1, good);
  f.bytes[0] = 'x';
  IS_STR(describe(f.bytes, f.n), "is not a .npy file", "another magic string");
  f = make_file(1, good);
  bool all = true;
  for (size_t n = 0; n < f.n; n++) {
    unsigned char *exact = malloc(n + 1); /* so that reading past n is seen by a sanitizer */
    memcpy(exact, f.bytes, n);
    all = all &&
          strcmp(describe(exact, n), n < 6 ? "is not a .npy file" : "ends within its header") == 0;
    free(exact);
  }
  OK(all, "each shorter file is refused");
}

/* In a folder of this process. */
static const char *const path = "test.npy";

static const char *save(CtDtype dtype, bool fortran, int rank, const int64_t *shape,
                        const void *data) {
  static CtErr err;
  CtNpy h = {.dtype = dtype, .fortran_order = fortran, .rank = rank};
  for (int i = 0; i < rank; i++) {
    h.shape[i] = shape[i];
  }
  return ct_npy_save(ct_alloc_std, path, &h, data, &err) == CT_OK ? "" : err.msg;
}

static const char *load(const char *from, void *dst, size_t cap) {
  static CtErr err;
  CtNpy h;
  FILE *f;
  if (ct_npy_open(ct_alloc_std, from, &f, &h, &err) != CT_OK) {
    return err.msg;
  }
  CtStatus status = h.data_bytes <= cap ? ct_npy_read(from, f, &h, dst, &err) : CT_EINVAL;
  fclose(f);
  return status == CT_OK ? "" : err.msg;
}

static void write_bytes(const void *bytes, size_t n) {
  FILE *f = fopen(path, "wb");
  if (f == NULL || fwrite(bytes, 1, n, f) != n || fclose(f) != 0) {
    printf("Bail out! cannot write %s\n", path);
    exit(1);
  }
}

static void test_files(void) {
  const float data[6] = {1, 2, 3, 4, 5, 6};
  float back[6] = {0};
  IS_STR(save(CT_f32, true, 2, (const int64_t[]){2, 3}, data), "", "save");
  IS_STR(load(path, back, sizeof back), "", "load");
  OK(memcmp(data, back, sizeof data) == 0, "the same elements");
  FILE *f = fopen(path, "rb");
  char head[128];
  OK(f != NULL && fread(head, 1, sizeof head, f) == sizeof head, "a header of 128 bytes");
  fclose(f);
  IS_STR(describe(head, sizeof head), "f32 Fortran (2,3) 24", "its contents");
  OK(head[127] == '\n' && head[126] == ' ', "padded with spaces");
  OK(truncate(path, 128 + 10) == 0, "truncate");
  IS_STR(load(path, back, sizeof back), "load_npy: 'test.npy' ends after 10 of 24 data bytes",
         "a truncated file");
  OK(truncate(path, 50) == 0, "truncate");
  IS_STR(load(path, back, sizeof back), "load_npy: 'test.npy' ends within its header",
         "a truncated header");
  File huge = make_file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,), }");
  write_bytes(huge.bytes, huge.n);
  IS_STR(load(path, back, sizeof back),
         sizeof(void *) < 8 ? "load_npy: 'test.npy' has 4398046511104 bytes of elements; "
                              "pointers of 32 bits reach 2147483647"
                            : "load_npy: 'test.npy' ends after 0 of 4398046511104 data bytes",
         "a file that claims 4 TiB is refused before memory is asked for");
  write_bytes("", 0);
  IS_STR(load(path, back, sizeof back), "load_npy: 'test.npy' is not a .npy file", "an empty file");
  remove(path);
  IS_STR(load(path, back, sizeof back), "load_npy: 'test.npy': No such file or directory",
         "no file");
  IS_STR(load("/tmp", back, sizeof back), "load_npy: '/tmp': Is a directory", "a directory");
}

static void test_round_trips(void) {
  static const int64_t shape[CT_NPY_MAX_RANK] = {3, 1, 2, 5, 1, 1, 1, 1, 1, 1, 1, 1};
  for (int rank = 0; rank <= 12; rank++) {
    for (int t = CT_VOID + 1; t < CT_DTYPE_COUNT; t++) {
      if (ct_dtypes[t].npy == NULL) {
        continue;
      }
      CtNpy h = {.dtype = (CtDtype)t, .fortran_order = rank % 2 == 1, .rank = rank}, back;
      CtText text;
      CtErr err = {0};
      memcpy(h.shape, shape, sizeof shape);
      ct_text_init(&text, ct_alloc_std);
      bool ok = ct_npy_format(&h, &text, &err) == CT_OK &&
                ct_npy_parse(text.s, text.len, &back, &err) == CT_OK && back.dtype == h.dtype &&
                back.rank == rank && back.fortran_order == h.fortran_order &&
                back.data_at == text.len && text.len % 64 == 0 &&
                memcmp(back.shape, shape, (size_t)rank * sizeof shape[0]) == 0;
      OK(ok, "%s of rank %d: %s", ct_dtypes[t].name, rank, err.msg);
      ct_text_clear(&text);
    }
  }
}

int main(void) {
  char folder[] = "/tmp/cuttle-test-XXXXXX";
  OK(mkdtemp(folder) != NULL && chdir(folder) == 0, "a folder");
  test_headers();
  test_prefix();
  test_files();
  test_round_trips();
  rmdir(folder);
  return done_testing();
}
