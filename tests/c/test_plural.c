/* test_plural.c: nouns and verbs of messages after the number 1. */
#include "runtime/base/plural.h"

#include "tap.h"

static const char *const cases[][2] = {
    {"f: 1 arguments; expected 2", "f: 1 argument; expected 2"},
    {"11 arguments", "11 arguments"},
    {"1 boxes, 1 launches, 1 processes and 1 phases", "1 box, 1 launch, 1 process and 1 phase"},
    {"1 of 4 blocks", "1 of 4 blocks"},
    {"rank 1 launches", "rank 1 launches"},
    {"1 axes", "1 axes"},
    {"1 values are returned here", "1 value is returned here"},
    {"; 1 blocks have not begun", "; 1 block has not begun"},
    {"1 blocks wait in sync_grid", "1 block waits in sync_grid"},
    {"1 arrivals and 1 bytes are missing", "1 arrival and 1 byte are missing"},
    {"5 arrivals are missing", "5 arrivals are missing"},
    {"there are 1 devices", "there is 1 device"},
    {"there are 2 devices", "there are 2 devices"},
    {"2 arguments; 1 were expected", "2 arguments; 1 was expected"},
    {"0 to 1 were expected", "0 to 1 were expected"},
    {"holds for 1 more blocks", "holds for 1 more block"},
    {"1 ", "1 "},
    {"", ""},
};

int main(void) {
  for (size_t i = 0; i < CT_ARRAY_LEN(cases); i++) {
    char text[64];
    snprintf(text, sizeof text, "%s", cases[i][0]);
    ct_agree(text);
    IS_STR(text, cases[i][1], "%s", cases[i][0]);
  }
  return done_testing();
}
