/* ir_marks.h: what a kernel with marks leaves in its array of words of 64 bits, for the host to read.

   The host clears it and writes words 0 to 2, the block to be recorded, and 1 into word 3. Then each warp has a
   head of CT_MARK_WARP words: its first thread's clock and the global timer at its begin, the same two at its
   end, and from word 8 on how many marks each of its 32 threads recorded. Then each warp has room for records,
   CT_MARK_ROOM of its first thread and CT_MARK_LANE_ROOM of each other: the clock's low half << 32, and
   kind << CT_MARK_SHIFT beside what: an operation's number, or the line. No record is 0.

   Of the threads of a warp that come to a mark together, the first one records, in its own room: where threads
   have parted, each part records. A thread that ended early leaves no count. Records that find no room are
   counted and dropped. */
#ifndef CT_IR_MARKS_H
#define CT_IR_MARKS_H

#include <stdbool.h>

enum { CT_MARK_HEAD = 8, CT_MARK_WARP = 40, CT_MARK_ROOM = 8192, CT_MARK_LANE_ROOM = 256 };
enum { CT_MARK_SHIFT = 28, CT_MARK_LINES = 64 };

typedef enum CtMarkKind {
  CT_MARK_HERE,   /* mark(name) */
  CT_MARK_BEFORE, /* a wait, */
  CT_MARK_AFTER,  /* and after it */
  CT_MARK_LINE    /* at a line of the script */
} CtMarkKind;

typedef struct CtMarks {
  bool waits; /* before and after each wait, too */
  int n_lines;
  int lines[CT_MARK_LINES];
} CtMarks;

#endif
