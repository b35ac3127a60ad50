/* test_cache.c: the hash against the published vectors of SipHash-2-4-128, and the disk cache: hits,
   misses, damage, eviction, and many processes at once. */
#include "runtime/device/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

static char root[] = "/tmp/cuttle-test-XXXXXX";

/* {====== Hash ====== */

/* Of the inputs "", 00, 00 01, ... under key 00 01 .. 0f: the first of the authors' test vectors. */
static const unsigned char vectors[][16] = {
    {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02,
     0x93},
    {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc,
     0x45},
};

static void store_word(unsigned char *out, uint64_t w) {
  for (int i = 0; i < 8; i++) {
    out[i] = (unsigned char)(w >> 8 * i);
  }
}

static CtHashKey hash(const void *data, size_t bytes) {
  CtHash h;
  ct_hash_init(&h);
  ct_hash_add(&h, data, bytes);
  return ct_hash_end(&h);
}

static bool same(CtHashKey a, CtHashKey b) { return a.lo == b.lo && a.hi == b.hi; }

static void test_vectors(void) {
  unsigned char input[64], got[16];
  for (size_t i = 0; i < sizeof input; i++) {
    input[i] = (unsigned char)i;
  }
  for (size_t n = 0; n < CT_ARRAY_LEN(vectors); n++) {
    CtHashKey key = hash(input, n);
    store_word(got, key.lo);
    store_word(got + 8, key.hi);
    OK(memcmp(got, vectors[n], 16) == 0, "hash of %zu bytes", n);
  }
}

static void test_pieces(void) {
  char text[100];
  bool good = true;
  for (size_t i = 0; i < sizeof text; i++) {
    text[i] = (char)(i * 37);
  }
  CtHashKey whole = hash(text, sizeof text);
  for (size_t cut = 0; cut <= sizeof text; cut++) {
    CtHash h;
    ct_hash_init(&h);
    ct_hash_add(&h, text, cut);
    ct_hash_add(&h, text + cut, sizeof text - cut);
    good = good && same(ct_hash_end(&h), whole);
  }
  OK(good, "pieces hash as the whole, wherever it is cut");
}

static void test_fields(void) {
  CtHash a, b;
  ct_hash_init(&a);
  ct_hash_init(&b);
  ct_hash_field(&a, "ab", 2);
  ct_hash_field(&a, "c", 1);
  ct_hash_field(&b, "a", 1);
  ct_hash_field(&b, "bc", 2);
  OK(!same(ct_hash_end(&a), ct_hash_end(&b)), "fields keep their borders");
  OK(same(ct_hash_end(&a), ct_hash_end(&a)), "ending does not change the hash");
}

/* {====== Entries ====== */

static CtCache cache_in(const char *name, uint64_t cap) {
  CtCache c = {.cap_bytes = cap};
  snprintf(c.dir, sizeof c.dir, "%s/%s", root, name);
  return c;
}

/* "miss", or "image|info". */
static const char *get(const CtCache *c, CtHashKey key) {
  static char out[256];
  CtText image, info;
  ct_text_init(&image, ct_alloc_std);
  ct_text_init(&info, ct_alloc_std);
  bool hit = ct_cache_get(c, key, &image, &info);
  snprintf(out, sizeof out, "%s|%s", ct_text_str(&image), ct_text_str(&info));
  if (!hit) {
    bool untouched = image.len == 0 && info.len == 0;
    snprintf(out, sizeof out, "%s", untouched ? "miss" : "miss with remains");
  }
  ct_text_clear(&image);
  ct_text_clear(&info);
  return out;
}

static bool put(const CtCache *c, CtHashKey key, const char *image, const char *info) {
  return ct_cache_put(c, key, image, strlen(image), info, strlen(info));
}

static void test_entries(void) {
  CtCache c = cache_in("a/b/c", 1 << 20);
  CtHashKey k1 = {1, 2}, k2 = {1, 3};
  struct stat st;
  IS_STR(get(&c, k1), "miss", "no folder, no hit");
  OK(put(&c, k1, "image", "info"), "stores; the folder is made");
  IS_STR(get(&c, k1), "image|info", "and finds");
  IS_STR(get(&c, k2), "miss", "another key is a miss");
  OK(put(&c, k2, "", "only info") && tap_same_str(get(&c, k2), "|only info"), "an empty image");
  OK(put(&c, k1, "other", "x"), "stores again");
  IS_STR(get(&c, k1), "other|x", "the last one counts");
  OK(stat(c.dir, &st) == 0 && (st.st_mode & 0777) == 0700, "the folder is the user's alone");
}

static void entry_file(const CtCache *c, CtHashKey key, char *path, size_t cap) {
  snprintf(path, cap, "%s/%016llx%016llx.ct", c->dir, (unsigned long long)key.hi,
           (unsigned long long)key.lo);
}

/* Every entry that was cut short, and every one with a byte changed, is a miss. */
static void test_damage(void) {
  CtCache c = cache_in("damage", 1 << 20);
  CtHashKey key = {11, 22};
  char path[1200];
  struct stat st = {0};
  int n_wrong = 0;
  entry_file(&c, key, path, sizeof path);
  OK(put(&c, key, "0123456789", "abc") && stat(path, &st) == 0, "an entry");
  for (off_t n = 0; n < st.st_size; n++) {
    bool cut = put(&c, key, "0123456789", "abc") && truncate(path, n) == 0;
    n_wrong += !cut || strcmp(get(&c, key), "miss") != 0;
  }
  IS_INT(n_wrong, 0, "cut at any of %ld bytes", (long)st.st_size);
  n_wrong = 0;
  for (off_t at = 0; at < st.st_size; at++) {
    char byte = 0;
    bool stored = put(&c, key, "0123456789", "abc");
    int fd = open(path, O_RDWR);
    bool changed = stored && pread(fd, &byte, 1, at) == 1 && (byte ^= 0x10, true) &&
                   pwrite(fd, &byte, 1, at) == 1;
    close(fd);
    n_wrong += !changed || strcmp(get(&c, key), "miss") != 0;
  }
  IS_INT(n_wrong, 0, "a bit changed in any byte");
  OK(stat(path, &st) != 0, "a damaged entry is removed");
  OK(put(&c, key, "0123456789", "abc"), "and stored anew");
  IS_STR(get(&c, key), "0123456789|abc", "as good as before");
}

/* What stands where an entry would: a pipe, which must not be waited for, a link, a file of another user. */
static void test_strangers(void) {
  CtCache c = cache_in("strangers", 1 << 20);
  CtHashKey key = {33, 44};
  char path[1200], other[1300];
  entry_file(&c, key, path, sizeof path);
  snprintf(other, sizeof other, "%s.other", path);
  OK(put(&c, key, "0123456789", "abc") && rename(path, other) == 0 && mkfifo(path, 0600) == 0,
     "a pipe in an entry's place");
  alarm(300); /* at most, if it is waited for */
  IS_STR(get(&c, key), "miss", "is not waited for");
  alarm(0);
  OK(put(&c, key, "0123456789", "abc"), "and makes room for the entry");
  IS_STR(get(&c, key), "0123456789|abc", "which is found");
  OK(unlink(path) == 0 && symlink(other, path) == 0, "a link in its place");
  IS_STR(get(&c, key), "miss", "is not followed");
  if (geteuid() != 0) {
    SKIP(2, "only root gives files away");
    return;
  }
  OK(put(&c, key, "0123456789", "abc") && chown(path, 65534, 65534) == 0, "another user's entry");
  IS_STR(get(&c, key), "miss", "is not believed");
}

static int count_files(const char *dir) {
  int n = 0;
  DIR *d = opendir(dir);
  if (d == NULL) {
    return -1;
  }
  for (const struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
    n += e->d_name[0] != '.';
  }
  closedir(d);
  return n;
}

static void set_age(const CtCache *c, CtHashKey key, long seconds) {
  char path[1200];
  struct stat st;
  entry_file(c, key, path, sizeof path);
  if (stat(path, &st) == 0) {
    struct timespec times[2] = {st.st_atim, st.st_mtim};
    times[1].tv_sec -= seconds;
    (void)utimensat(AT_FDCWD, path, times, 0);
  }
}

static void test_eviction(void) {
  CtCache c = cache_in("evict", 3500);
  char image[1001];
  CtHashKey keys[4] = {{1, 1}, {2, 2}, {3, 3}, {4, 4}};
  memset(image, 'x', sizeof image - 1);
  image[sizeof image - 1] = '\0';
  for (int i = 0; i < 3; i++) {
    OK(put(&c, keys[i], image, ""), "entry %d", i);
    set_age(&c, keys[i], 100 - i);
  }
  OK(strcmp(get(&c, keys[0]), "miss") != 0, "the oldest is used, so it is new");
  OK(put(&c, keys[3], image, ""), "one too many");
  IS_INT(count_files(c.dir), 3, "one goes");
  IS_STR(get(&c, keys[1]), "miss", "the one used longest ago");
  OK(strcmp(get(&c, keys[0]), "miss") != 0 && strcmp(get(&c, keys[3]), "miss") != 0,
     "the others stay");
  c.cap_bytes = 500;
  OK(!put(&c, keys[1], image, ""), "what is larger than the cache is not stored");
}

static void test_leftovers(void) {
  CtCache c = cache_in("left", 1 << 20);
  char stale[1200], fresh[1200], foreign[1200];
  CtHashKey key = {5, 5};
  struct stat st;
  OK(put(&c, key, "i", ""), "a cache");
  snprintf(stale, sizeof stale, "%s/tmp-stale1", c.dir);
  snprintf(fresh, sizeof fresh, "%s/tmp-fresh1", c.dir);
  snprintf(foreign, sizeof foreign, "%s/notes", c.dir);
  close(open(stale, O_CREAT | O_WRONLY, 0600));
  close(open(fresh, O_CREAT | O_WRONLY, 0600));
  close(open(foreign, O_CREAT | O_WRONLY, 0600));
  struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
  (void)utimensat(AT_FDCWD, stale, old, 0);
  (void)utimensat(AT_FDCWD, foreign, old, 0);
  c.cap_bytes = 200;
  OK(put(&c, key, "i", ""), "stores");
  OK(stat(stale, &st) != 0, "what a dead process left is removed");
  OK(stat(fresh, &st) == 0, "what another is writing is not");
  OK(stat(foreign, &st) == 0, "nor is what is not ours");
}

static void test_off(void) {
  CtCache c = {.cap_bytes = 1 << 20};
  CtHashKey key = {6, 6};
  OK(!put(&c, key, "i", "") && tap_same_str(get(&c, key), "miss"), "an off cache keeps nothing");
  snprintf(c.dir, sizeof c.dir, "/proc/nowhere/cuttle");
  OK(!put(&c, key, "i", "") && tap_same_str(get(&c, key), "miss"),
     "one that cannot be written is as good as off");
}

/* {====== Many at once ====== */

static char letter_of(CtHashKey key, int generation) {
  return (char)('a' + (int)(key.lo + (uint64_t)generation) % 26);
}

/* Writes and reads the same few keys as its siblings: a hit must be whole. */
static int hammer(const CtCache *c, int seed) {
  int n_bad = 0;
  for (int i = 0; i < 300; i++) {
    CtHashKey key = {(uint64_t)((i * 7 + seed) % 5), 9};
    char image[2001];
    memset(image, letter_of(key, i), sizeof image - 1);
    image[sizeof image - 1] = '\0';
    (void)put(c, key, image, "");
    CtText got, info;
    ct_text_init(&got, ct_alloc_std);
    ct_text_init(&info, ct_alloc_std);
    if (ct_cache_get(c, key, &got, &info)) {
      const char *s = ct_text_str(&got);
      n_bad += got.len != 2000 || strspn(s, (char[]){s[0], '\0'}) != 2000;
    }
    ct_text_clear(&got);
    ct_text_clear(&info);
  }
  return n_bad == 0 ? 0 : 1;
}

static void test_concurrency(void) {
  enum { N = 6 };
  CtCache c = cache_in("many", 7000); /* room for three: eviction runs all the time */
  pid_t pids[N];
  int n_good = 0;
  fflush(stdout);
  for (int i = 0; i < N; i++) {
    pids[i] = fork();
    if (pids[i] == 0) {
      _exit(hammer(&c, i));
    }
  }
  for (int i = 0; i < N; i++) {
    int status = -1;
    n_good += waitpid(pids[i], &status, 0) == pids[i] && status == 0;
  }
  IS_INT(n_good, N, "%d processes on five keys see whole entries only", (int)N);
  OK(count_files(c.dir) <= 3, "and leave no temporary files and no more than fits");
}

static void test_caps(void) {
  static const char *const bad[] = {
      "x", "-1", "1.5", "12 MiB", "nan", "inf", "0x10", "1e300", "99999999999999999999"};
  setenv("CUTTLE_CACHE", "/else/where", 1);
  for (size_t i = 0; i < CT_ARRAY_LEN(bad); i++) {
    CtCache c;
    CtErr err;
    setenv("CUTTLE_CACHE_MIB", bad[i], 1);
    IS_INT(ct_cache_init(&c, &err), CT_EINVAL, "a cap of %s", bad[i]);
    IS_STR(c.dir, "", "leaves the cache off");
  }
  unsetenv("CUTTLE_CACHE_MIB");
}

/* {====== The environment ====== */

typedef struct Place {
  const char *cuttle, *xdg, *home, *mib;
  const char *dir;
  int want_mib;
} Place;

static const Place places[] = {
    {NULL, NULL, "/home/me", NULL, "/home/me/.cache/cuttle", 256},
    {NULL, "/xdg", "/home/me", NULL, "/xdg/cuttle", 256},
    {NULL, "relative", "/home/me", NULL, "/home/me/.cache/cuttle", 256},
    {"/else/where", "/xdg", "/home/me", "12", "/else/where", 12},
    {"off", "/xdg", "/home/me", NULL, "", 256},
    {"", NULL, "/home/me", "", "/home/me/.cache/cuttle", 256},
    {NULL, NULL, NULL, NULL, "", 256},
};

static void set_or_clear(const char *name, const char *value) {
  if (value == NULL) {
    unsetenv(name);
  } else {
    setenv(name, value, 1);
  }
}

static void test_places(void) {
  for (size_t i = 0; i < CT_ARRAY_LEN(places); i++) {
    const Place *p = &places[i];
    CtCache c;
    set_or_clear("CUTTLE_CACHE", p->cuttle);
    set_or_clear("XDG_CACHE_HOME", p->xdg);
    set_or_clear("HOME", p->home);
    set_or_clear("CUTTLE_CACHE_MIB", p->mib);
    CtErr err;
    IS_INT(ct_cache_init(&c, &err), CT_OK, "the environment of place %zu", i);
    IS_STR(c.dir, p->dir, "place %zu", i);
    IS_INT(c.cap_bytes >> 20, p->want_mib, "cap %zu", i);
  }
}

int main(void) {
  char command[64];
  test_caps();
  test_vectors();
  test_pieces();
  test_fields();
  if (!OK(mkdtemp(root) != NULL, "a folder")) {
    return done_testing();
  }
  test_entries();
  test_damage();
  test_strangers();
  test_eviction();
  test_leftovers();
  test_off();
  test_concurrency();
  test_places();
  snprintf(command, sizeof command, "rm -r %s", root);
  IS_INT(system(command), 0, "cleaned up"); // NOLINT(cert-env33-c): a fixed command
  return done_testing();
}
