/* inflate.h: text of the bytes that stdlib/base/deflate.lua made of it: DEFLATE (RFC 1951), one block with
   fixed Huffman codes. The binary carries most of its modules so. */
#ifndef CT_INFLATE_H
#define CT_INFLATE_H

#include <stddef.h>
#include <stdint.h>

#define CT_INFLATE_BAD SIZE_MAX

/* The text's length in bytes; the first `max` of them are written to `text`, which may be NULL if max is 0.
   CT_INFLATE_BAD: the bytes are no such block. */
size_t ct_inflate(const unsigned char *bytes, size_t n, char *text, size_t max);

#endif
