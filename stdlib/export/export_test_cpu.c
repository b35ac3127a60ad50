#ifdef UPPER_CPU
/* The CPU twin: its memory is the host's. */
static int host_alloc(uint64_t *p, size_t bytes) {
  void *made = aligned_alloc(256, (bytes + 255) / 256 * 256);
  *p = (uint64_t)(uintptr_t)made;
  return made == NULL;
}

static int host_release(uint64_t p) {
  free((void *)(uintptr_t)p);
  return 0;
}

static int host_write(uint64_t dst, const void *src, size_t bytes) {
  memcpy((void *)(uintptr_t)dst, src, bytes);
  return 0;
}

static int host_read(void *dst, uint64_t src, size_t bytes) {
  memcpy(dst, (const void *)(uintptr_t)src, bytes);
  return 0;
}

static int host_fill(uint64_t dst, unsigned char byte, size_t bytes) {
  memset((void *)(uintptr_t)dst, byte, bytes);
  return 0;
}

static int host_wait(void) { return 0; }

static int open_device(void) {
  cu.alloc = host_alloc;
  cu.release = host_release;
  cu.write = host_write;
  cu.read = host_read;
  cu.fill = host_fill;
  cu.wait = host_wait;
  return 1;
}
#else
